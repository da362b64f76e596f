"""Reading."""

from records.syntax import COMMA, NEWLINE, QUOTE


def read(text):
    """The rows of a text; each is a list of fields."""
    rows, row, field, quoted, at = [], [], "", False, 0
    while at < len(text):
        char = text[at]
        if quoted and char == QUOTE and text[at + 1 : at + 2] == QUOTE:
            field += QUOTE
            at += 1
        elif char == QUOTE:
            quoted = not quoted
        elif char == COMMA and not quoted:
            row.append(field)
            field = ""
        elif char == NEWLINE and not quoted:
            rows.append([*row, field])
            row, field = [], ""
        else:
            field += char
        at += 1
    return rows if not row and not field else [*rows, [*row, field]]
