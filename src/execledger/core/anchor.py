"""What is taken once from the first task message: the task anchor, and the patch file that it asks for."""

from __future__ import annotations

import re

from execledger.core.plain import clip, printable

BODY = re.compile(r"<(pr_description|issue|issue_description|task|problem_statement|bug_report)>\s*(.*?)\s*</\1>", re.S)
"""The tagged body of an issue or pull request."""
LEAD = re.compile(r"\A(?:consider the following (?:PR|issue)[^\n]*|#+ [^\n]*)\n+", re.IGNORECASE)
"""A harness's own first line, in front of the text."""
PATCH_FILE = re.compile(r"git diff[^\n`>]*>\s*([\w./-]+)|\b(patch\.txt)\b")
"""A file that the instructions name for the final patch."""


def task_anchor(task: str, budget: int) -> str:
    """The task in at most ``budget`` bytes: the tagged body if there is one, else the first paragraph."""
    body = BODY.search(task)
    text = LEAD.sub("", body[2]) if body else next((part for part in re.split(r"\n\s*\n", task) if part.strip()), "")
    # Nothing in it may steer a terminal, or look like the view's own marks.
    return clip(printable(text).replace("execution_state", "execution state"), budget)


def patch_files(task: str) -> tuple[str, ...]:
    """The files that the task's instructions name for the patch, as they are spelled."""
    return tuple(dict.fromkeys(match[1] or match[2] for match in PATCH_FILE.finditer(task)))
