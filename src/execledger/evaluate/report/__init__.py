"""The report of an evaluation: comparison of the arms, tables in two layouts, figures, and files in several formats.

``comparison`` computes the measures of two arms and their change; ``tables`` makes tables of them (``table`` is the
model of one, ``footnotes`` has the sentences below it) and ``figures`` draws; ``rendering`` turns a table into text;
``write`` puts everything into a folder.
"""
