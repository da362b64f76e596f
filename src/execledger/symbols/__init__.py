"""Which functions and classes an edit touches, from the edit's own text, without reading any file.

``outline`` and ``edited`` (in ``outline``) answer for whole texts and for replaced snippets, ``patched`` (in
``patched``) for patches; ``patches`` knows the syntax of patches and needs no grammar. Grammars are optional and
imported when first needed: where one is missing, the answer is None, unknown.
"""
