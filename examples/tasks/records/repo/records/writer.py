"""Writing."""

from records.syntax import COMMA, NEWLINE, QUOTE, SPECIAL


def write(rows):
    """The text of rows; a field is in quotation marks only where it has to be."""
    return "".join(COMMA.join(map(_field, row)) + NEWLINE for row in rows)


def _field(text):
    if any(char in text for char in SPECIAL):
        return f"{QUOTE}{text}{QUOTE}"
    return text
