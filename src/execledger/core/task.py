"""What is taken once from the first task message: the task anchor, and the patch file that it asks for."""

from __future__ import annotations

import re

from execledger.core.wording import clip, printable

TAG = re.compile(r"<(pr_description|issue|issue_description|task|problem_statement|bug_report)>")
"""The opening tag of the body of an issue or pull request."""
LEAD = re.compile(r"\A(?:consider the following (?:PR|issue)[^\n]*|#+ [^\n]*)\n+", re.IGNORECASE)
"""A first line that the harness puts before the text."""
TITLE_SEARCH = 20_000
"""Characters of a task in which its title is looked for."""
PATCH_FILE = re.compile(r"git diff(?:(?!git diff)[^\n`>])*+>\s*([\w./-]+)|\b(patch\.txt)\b")
"""A file that the instructions name for the final patch."""


HEADING = re.compile(r"^(?:#+ *)?(?:issue|problem statement|problem|task)[ :]*$", re.IGNORECASE | re.MULTILINE)
"""A line behind which the harness puts the text of the issue."""
BEFORE_TITLE = re.compile(
    r"(?:please )?(?:solve|fix|resolve|implement|address) (?:this|the following) (?:github )?(?:issue|task|problem)"
    r"(?:\W*\Z|(?:\s*[:.!?]+|\s+[\u2013\u2014-]+)\s+)|#(?:#+\s*|\s+|\Z)|```\w*|[*_]{2,}\Z",
    re.IGNORECASE,
)
"""What may stand before the title of a task, at the beginning of its line or alone on a line before it."""
BOLD = re.compile(r"\*\*([^*]+)\*\*")
"""A line that is wholly in bold letters."""


def task_title(task: str, budget: int) -> str:
    """Return the first line of the task's own text in at most ``budget`` bytes, for people: "" if there is none."""
    body, headed = _body(task), HEADING.search(task)
    text = LEAD.sub("", body) if body is not None else task[headed.end() :] if headed is not None else task
    lines = map(_title_line, text[:TITLE_SEARCH].splitlines())
    return clip(printable(next(filter(None, lines), "")), budget)


def _title_line(line: str) -> str:
    """Return a line without what stands before the title; a name such as ``__iter__`` or ``C#`` stays as it is."""
    line = line.strip()
    before = BEFORE_TITLE.match(line)
    line = line[before.end() :].strip() if before is not None else line
    bold = BOLD.fullmatch(line)
    return bold[1].strip() if bold is not None else line


def task_anchor(task: str, budget: int) -> str:
    """Return the task in at most ``budget`` bytes: the tagged body if there is one, else the first paragraph."""
    body = _body(task)
    text = (
        next((part for part in re.split(r"\n\s*\n", task) if part.strip()), "") if body is None else LEAD.sub("", body)
    )
    # It must neither control a terminal nor look like the tags of the state view.
    return clip(printable(text).replace("execution_state", "execution state"), budget)


def _body(task: str) -> str | None:
    """Return the first tagged body with a closing tag; a single pattern would be quadratic on long unclosed ones."""
    unclosed: set[str] = set()
    for tag in TAG.finditer(task):
        end = -1 if tag[1] in unclosed else task.find(f"</{tag[1]}>", tag.end())
        if end >= 0:
            return task[tag.end() : end].strip()
        unclosed.add(tag[1])
    return None


def patch_files(task: str) -> tuple[str, ...]:
    """Return the files that the task's instructions name for the patch, as they are spelled."""
    return tuple(dict.fromkeys(match[1] or match[2] for match in PATCH_FILE.finditer(task)))
