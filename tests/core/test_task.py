"""The task anchor, the title of a task, and the patch files that it names."""

from __future__ import annotations

import pytest

from execledger.core.task import patch_files, task_anchor, task_title


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (
            "Preamble.\n\n<pr_description>\n  The sum\n  is off.\n\nSecond.\n</pr_description>\nRules.",
            "The sum is off. Second.",
        ),
        ("<issue>One</issue> <task>Two</task>", "One"),
        (
            "<pr_description>\nConsider the following PR description:\nThe sum is off.\n</pr_description>",
            "The sum is off.",
        ),
        ("\n\nFirst paragraph\ncontinues.\n\nSecond paragraph.", "First paragraph continues."),
        ("<issue>never closed\n\nmore", "<issue>never closed"),
        ("", ""),
        (" \n\n \n", ""),
    ],
)
def test_the_anchor_is_the_tagged_body_or_else_the_first_paragraph(task: str, expected: str) -> None:
    """On one line, without what a harness wraps around it."""
    assert task_anchor(task, 360) == expected


def test_the_anchor_is_bounded_in_bytes() -> None:
    """It is cut between characters and marked."""
    assert task_anchor("äöü" * 100, 20) == "äöüäöüäö..."


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (
            "<pr_description>\nConsider the following PR description:\nSums are off\n\nMore.</pr_description>",
            "Sums are off",
        ),
        ("Please solve this issue: Sums are off\n\nRules.", "Sums are off"),
        (
            "Fix this GitHub issue.\n\n## Setup\n```bash\ngit clone x\n```\n## Issue\nSums are off\nMore.",
            "Sums are off",
        ),
        ("We solve an issue in a repository.\nISSUE:\nSums are off\n\nMore.", "Sums are off"),
        ("# Sums are off\nMore.", "Sums are off"),
        ("\n  Mend it.  \nMore.", "Mend it."),
        ("```\ncode\n```", "code"),
        ("\x1b[31m red", "?[31m red"),
        ("Paginator lacks the __iter__ function", "Paginator lacks the __iter__ function"),
        ("__init__ is not documented", "__init__ is not documented"),
        ("Product(2**k, f(**args)) is wrong", "Product(2**k, f(**args)) is wrong"),
        ("**kwargs are lost", "**kwargs are lost"),
        ("**Sums are off**\nMore.", "Sums are off"),
        ("## **Sums are off**", "Sums are off"),
        ("Fix issue #123 in C# parser", "Fix issue #123 in C# parser"),
        ("#123 is not fixed", "#123 is not fixed"),
        ("How to resolve this problem: cycle", "How to resolve this problem: cycle"),
        ("Fix this issue with cycles", "Fix this issue with cycles"),
        ("Fix this issue's cause", "Fix this issue's cause"),
        ("Fix this issue (urgent): foo", "Fix this issue (urgent): foo"),
        ("Fix this issue-tracker bug", "Fix this issue-tracker bug"),
        ("Fix the following task:\n***\nSums are off", "Sums are off"),
        ("", ""),
        (" \n# \n", ""),
    ],
)
def test_the_title_is_the_first_line_of_the_task(task: str, expected: str) -> None:
    """Without what a harness puts before it, and without what controls a terminal."""
    assert task_title(task, 120) == expected
    assert task_title("äöü" * 100, 20) == "äöüäöüäö..."


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("run `git diff > out/final.diff`, then submit", ("out/final.diff",)),
        ("git diff -- src/a.py src/b.py > patch.txt\ncat patch.txt", ("patch.txt",)),
        ("Write a patch for a.py and test it.", ()),
    ],
)
def test_patch_files_are_taken_from_the_instructions(task: str, expected: tuple[str, ...]) -> None:
    """Each once, as it is spelled."""
    assert patch_files(task) == expected
