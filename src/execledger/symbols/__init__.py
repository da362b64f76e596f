"""Which functions and classes an edit touches, from the edit's own text, without reading any file.

``outline`` and ``edited`` (in ``outline``) answer for whole texts and for replaced snippets, ``patched`` (in
``patched``) for patches; ``patches`` knows the syntax of patches. Python is read without a grammar. The grammars of
other languages are optional and imported when first needed: without one the answer is None, unknown.
"""
