"""The characters that mean something."""

COMMA, QUOTE, NEWLINE = ",", '"', "\n"
SPECIAL = (COMMA, QUOTE, NEWLINE)
