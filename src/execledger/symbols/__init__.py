"""The functions and classes that an edit touches, found in the edit's own text, without reading any file.

``edits`` answers for whole texts, replaced snippets and patches; ``definitions`` finds definitions in a piece of text,
``fragments`` parses it even if it starts or ends in the middle of something, and ``languages`` has the grammars. Python
is read without a grammar. The grammars of other languages are optional and imported when first needed: without one the
answer is None, unknown.
"""
