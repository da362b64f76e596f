"""Renders a table for the terminal, in Markdown, in LaTeX (booktabs) and in JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from execledger.evaluate.report.table import Cell, Section, Table, text_cell

if TYPE_CHECKING:
    from rich.table import Table as RichTable

WIDTH = 80
"""Default width of the terminal, in columns."""
LONG_WORD = 24
"""Number of characters beyond which a word of a text is broken where columns do not fit beside each other."""


def to_terminal(table: Table, width: int = WIDTH) -> RichTable:
    """Render a table for a terminal of that width; texts are wrapped, and no figure or heading is ever broken.

    A table whose columns do not fit beside each other is turned, so that its headings are in the first column; if that
    does not fit either, its lines are longer than the terminal is wide. To print these, rich needs ``crop=False``.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    table = min(table, _turned(table), key=lambda one: max(_needed(_widths(one, width)), width))
    widths = _widths(table, width)
    shown = RichTable(
        title=table.title, title_justify="left", caption_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    if _needed(widths) > width:
        shown.width = _needed(widths)
    shown.caption = Text("\n".join(table.notes)) if table.notes else None
    for number, (title, wide) in enumerate(zip(table.headings, widths, strict=True)):
        justify: Literal["left", "right"] = "left" if table.aligned_left(number) else "right"
        shown.add_column(Text(title), justify=justify, width=wide, overflow="fold")
    for number, section in enumerate(table.sections):
        if number:
            shown.add_row()
        if section.title:
            shown.add_row(Text(section.title, style="italic"))
        for row in section.rows:
            shown.add_row(*(Text(cell.text, style="bold" if cell.best else "") for cell in row))
    return shown


def _turned(table: Table) -> Table:
    """Return the table with a column for each row, if all its sections have the same; else, or if wide, as it is."""
    names = {tuple(row[0].text for row in section.rows) for section in table.sections}
    if len(names) != 1 or table.left != 1 or table.wide:
        return table
    sections = []
    for section in table.sections:
        _, *columns = zip(*section.rows, strict=True)
        rows = ((text_cell(title), *cells) for title, cells in zip(table.headings[1:], columns, strict=True))
        sections.append(Section(section.title, tuple(rows)))
    return replace(table, columns=(table.columns[0], *names.pop()), groups=(), sections=tuple(sections))


def _needed(widths: list[int]) -> int:
    """Return the width of a line: two characters separate columns, and one precedes the first."""
    return sum(widths) + 2 * len(widths) + 1


def _widths(table: Table, width: int) -> list[int]:
    """Return the width of each column: the widest shrinks first, down to its longest word.

    Words of texts, unlike figures and headings, are broken beyond ``LONG_WORD`` characters.
    """
    columns = [[title, *(row[number].text for row in table.rows)] for number, title in enumerate(table.headings)]
    columns[0] += [section.title for section in table.sections]
    widths = [max(map(len, texts)) for texts in columns]
    words = [max(len(word) for text in texts for word in text.split()) for texts in columns]
    least = [
        max([min(number, LONG_WORD), *map(len, texts[0].split())]) if table.aligned_left(at) else number
        for at, (number, texts) in enumerate(zip(words, columns, strict=True))
    ]
    while _needed(widths) > width:
        wider = [number for number in range(len(widths)) if widths[number] > least[number]]
        if not wider:
            break
        widths[max(wider, key=lambda number: (widths[number] > words[number], widths[number]))] -= 1
    return widths


def to_markdown(table: Table) -> str:
    """Render a table in Markdown: a heading of the second level, the table, and its footnotes as a list."""
    lines = [f"## {table.title}", "", _markdown_row(table.headings)]
    lines.append(
        "|" + "|".join(" --- " if table.aligned_left(i) else " ---: " for i in range(len(table.columns))) + "|"
    )
    for section in table.sections:
        if section.title:
            lines.append(_markdown_row([f"*{section.title}*", *[""] * (len(table.columns) - 1)]))
        lines += [_markdown_row(f"**{cell.text}**" if cell.best else cell.text for cell in row) for row in section.rows]
    if table.notes:
        lines += ["", *(f"- {note}" for note in table.notes)]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Iterable[str]) -> str:
    """Render one row; Markdown syntax in cells is escaped, and leading spaces become ``&nbsp;``."""
    escaped = (re.sub(r"[|\\`<]", r"\\\g<0>", " ".join(cell.split("\n"))) for cell in cells)
    return "| " + " | ".join(re.sub(r"^ +", lambda m: "&nbsp;" * len(m[0]), cell) for cell in escaped) + " |"


def to_json(tables: Iterable[Table], notes: Iterable[str] = ()) -> str:
    """Render tables as JSON; every cell has its text and the number behind it."""
    whole = {"notes": list(notes), "tables": list(tables)}
    return msgspec.json.format(msgspec.json.encode(whole)).decode() + "\n"


_SMALL = r"\footnotesize\setlength{\tabcolsep}{4pt}"
_LATEX = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"$\sim$",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "→": r"$\rightarrow$",
    "Δ": r"$\Delta$",
    "±": r"$\pm$",
}


def latex_escape(text: str) -> str:
    """Escape text for LaTeX; characters that its default fonts lack become a question mark."""
    signs = "".join(_LATEX.get(char, char if char < "\u0180" else "?") for char in " ".join(text.split("\n")))
    signs = re.sub(r"^ +", lambda m: r"\quad " * (len(m[0]) // 2), signs)
    # A hyphen before a figure is a minus sign, and names may be broken after a double underscore.
    return re.sub(r"(?<![\w}-])-(?=[\d.]|\\\$\d)", "$-$", signs).replace(r"\_\_", r"\_\_\allowbreak{}")


def to_latex(table: Table) -> str:
    """Render a table in LaTeX: a float with booktabs rules, or a longtable if the last column holds long text."""
    columns = "".join("l" if table.aligned_left(i) else "r" for i in range(len(table.columns)))
    caption = latex_escape(". ".join(part.rstrip(".") for part in (table.title, *table.notes))) + "."
    head = [r"\toprule", *_latex_groups(table), _latex_row(map(latex_escape, table.columns)), r"\midrule"]
    if table.wide:
        spec = columns[:-1] + r"p{0.55\linewidth}"
        opening = [rf"\begin{{longtable}}{{{spec}}}", rf"\caption{{{caption}}}\label{{tab:{table.name}}}\\"]
        body = [*opening, *head, r"\endhead", *_latex_body(table), r"\bottomrule", r"\end{longtable}"]
        return "\n".join(["{" + _SMALL, *body, "}"]) + "\n"
    opening = [r"\begin{table}[htbp]", r"\centering", _SMALL, rf"\begin{{tabular}}{{{columns}}}"]
    closing = [r"\bottomrule", r"\end{tabular}", rf"\caption{{{caption}}}", rf"\label{{tab:{table.name}}}"]
    return "\n".join([*opening, *head, *_latex_body(table), *closing, r"\end{table}"]) + "\n"


def _latex_body(table: Table) -> Iterator[str]:
    for number, section in enumerate(table.sections):
        if number:
            yield r"\midrule"
        if section.title:
            yield rf"\multicolumn{{{len(table.columns)}}}{{l}}{{\emph{{{latex_escape(section.title)}}}}} \\"
        for row in section.rows:
            yield _latex_row(_latex_cell(cell) for cell in row)


def _latex_groups(table: Table) -> Iterator[str]:
    """Render the headings of column groups, each with a rule below it."""
    if not table.groups:
        return
    yield _latex_row(rf"\multicolumn{{{span}}}{{c}}{{{latex_escape(title)}}}" for title, span in table.groups)
    rules, at = [], 1
    for title, span in table.groups:
        rules += [rf"\cmidrule(lr){{{at}-{at + span - 1}}}"] if title else []
        at += span
    yield " ".join(rules)


def _latex_cell(cell: Cell) -> str:
    return rf"\textbf{{{latex_escape(cell.text)}}}" if cell.best else latex_escape(cell.text)


def _latex_row(cells: Iterable[str]) -> str:
    # Without braces, a cell that begins with a bracket would be read as an argument of the preceding line break.
    return " & ".join(re.sub(r"^(?=[\[*])", "{}", cell) for cell in cells) + r" \\"


def latex_document(parts: Iterable[str], notes: Iterable[str] = ()) -> str:
    """Return a complete LaTeX document with these parts and the packages that tables need."""
    packages = r"\usepackage[T1]{fontenc}", r"\usepackage{booktabs,longtable,graphicx}", r"\usepackage{geometry}"
    head = [r"\documentclass{article}", *packages, r"\geometry{margin=2cm}", r"\begin{document}", ""]
    return "\n".join([*head, *(f"{latex_escape(note)}.\n" for note in notes), *parts, r"\end{document}"]) + "\n"
