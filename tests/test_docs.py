"""The documents' examples run, and what they quote is what the program says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from execledger.cli.demo import command as demo
from execledger.core.govern import RULES
from execledger.core.policy import Policy
from execledger.shell.tree import REASONS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs(example: str) -> None:
    """Every Python example in a document runs as it stands."""
    exec(compile(example, "example", "exec"), {"__name__": "example"})


def test_the_first_example_reuses_a_read(capsys: pytest.CaptureFixture[str]) -> None:
    """The README's example shows what it is there to show."""
    example = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    exec(compile(example, "example", "exec"), {"__name__": "example"})
    out = capsys.readouterr().out
    assert "- a.py: whole, 40 lines (current)" in out
    assert "Reuse covered-read [Ledger: not run" in out


def test_the_readme_quotes_the_demo() -> None:
    """The reference and the state view in the README are those that the demo prints."""
    shown = CliRunner().invoke(demo, ["--recorded"]).output
    for quoted in re.findall(
        r"```\n(\[Ledger: .*?|<execution_state>.*?)\n```", (ROOT / "README.md").read_text(), re.DOTALL
    ):
        assert quoted in shown


def test_the_policy_example_is_the_default() -> None:
    """The policy file in the documents is valid, and says what holds anyway."""
    (example,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "policy.md").read_text(), re.DOTALL)
    assert Policy.from_toml(example) == Policy()


def test_every_rule_and_reason_is_documented() -> None:
    """No rule of govern and no reason for being opaque is missing from its page."""
    rules = (ROOT / "docs" / "decisions-explained.md").read_text()
    named = {"seen_content": "covered-read", "setup": "setup"}
    for rule in RULES:
        assert f"`{named.get(rule.__name__, rule.__name__.replace('_', '-'))}`" in rules
    reasons = (ROOT / "docs" / "shell.md").read_text()
    assert [reason for reason in REASONS if f"`{reason}`" not in reasons] == []


def test_sizes_in_the_rules_are_those_of_the_default_policy() -> None:
    """A bound in bytes names the key that sets it, and has its value."""
    page = (ROOT / "docs" / "decisions-explained.md").read_text()
    bounds = re.findall(r"at least ([\d,]+) bytes(?: \(`(\w+)`\))?", page)
    assert bounds == [(str(Policy().min_omitted), "min_omitted")]


def test_every_claim_of_the_paper_has_an_example() -> None:
    """Each row of the page names a test that exists, and each example of a claim has a row."""
    page = (ROOT / "docs" / "paper.md").read_text()
    rows = re.findall(r"^\| ([A-Z]\d+) \|.*?`(tests/[\w/]+\.py)::(\w+)`", page, re.MULTILINE)
    numbers = re.findall(r"^\| ([A-Z]\d+) \|", page, re.MULTILINE)
    assert [number for number, _, _ in rows] == numbers
    missing = [(number, name) for number, file, name in rows if f"def {name}(" not in (ROOT / file).read_text()]
    examples = re.findall(
        r"^def (test_([a-z]\d+)_\w+)\(", (ROOT / "tests/core/test_paper.py").read_text(), re.MULTILINE
    )
    named = {(number.lower(), name) for number, _, name in rows}
    assert (missing, [name for name, number in examples if (number, name) not in named]) == ([], [])


def test_links_between_documents_lead_somewhere() -> None:
    """A relative link in a document names a file that is there."""
    missing = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert missing == []


def test_every_key_of_the_policy_is_documented() -> None:
    """With its default."""
    page = (ROOT / "docs" / "policy.md").read_text()
    for name in Policy.__struct_fields__:
        value = getattr(Policy(), name)
        spelled = str(value).lower() if isinstance(value, bool) else str(getattr(value, "value", value))
        assert f"| `{name}` | `{spelled}` |" in page, name
