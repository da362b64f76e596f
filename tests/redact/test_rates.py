"""How many planted secrets are found, and how many harmless lines damaged: ``pytest tests/redact/test_rates.py -s``.

The tables ``secrets`` and ``harmless``, the second and the third ones, were looked at while the rules were written. Of
the held-out tables only the rates are looked at: they say what the rules do with texts that they were not made for. The
third tables and the second held-out ones are the halves of one collection, which was split at random.
"""

from __future__ import annotations

import json

import msgspec
import pytest

from execledger.redact import redact, suspicious
from tests.redact.tables import remains, table

TABLES = {
    "looked at": "{}",
    "looked at, second": "{}_2",
    "looked at, third": "{}_3",
    "held out": "held_out_{}",
    "held out, second": "held_out_{}_2",
}
"""Pairs of tables, by what they are."""


@pytest.mark.parametrize("kind", TABLES)
def test_secrets_are_found_and_harmless_lines_are_kept(kind: str) -> None:
    """Nearly every planted secret is replaced, and nearly every harmless line stays as it is."""
    secrets, harmless = (table(TABLES[kind].format(name)) for name in ("secrets", "harmless"))
    assert len(secrets) >= 150 and len(harmless) >= 150
    left = [line.text for line in secrets if remains(line, redact(line.text))]
    damaged = [line.text for line in harmless if redact(line.text) != line.text]
    found, lost = 1 - len(left) / len(secrets), len(damaged) / len(harmless)
    print(f"\n{kind}: {found:.1%} of {len(secrets)} secrets redacted,", end=" ")
    print(f"{lost:.1%} of {len(harmless)} harmless lines damaged")
    assert found >= 0.95 and lost <= 0.05, f"{len(left)} of the secrets left, {len(damaged)} of the lines damaged"


@pytest.mark.parametrize("name", [form.format(name) for form in TABLES.values() for name in ("secrets", "harmless")])
def test_every_line_of_a_table_keeps_its_lines_and_is_stable(name: str) -> None:
    """What is redacted has as many lines as before, and a second redaction changes nothing."""
    for line in table(name):
        once = redact(line.text)
        assert once.count("\n") == line.text.count("\n"), line.text
        assert redact(once) == once, line.text


@pytest.mark.parametrize("name", [form.format("secrets") for form in TABLES.values()])
def test_a_line_of_json_is_suspicious_if_a_text_in_it_is(name: str) -> None:
    """A journal looks for markers in whole lines of JSON, and cleans only the texts of those that have one."""
    assert [line.text for line in table(name) if redact(line.text) != line.text and not _suspicious(line.text)] == []


def _suspicious(text: str) -> bool:
    return suspicious(json.dumps(text)) and suspicious(msgspec.json.encode([text]).decode())


def test_a_secret_is_found_among_other_lines() -> None:
    """A text with all secrets of the table is redacted like each of them alone, wherever it is cut into steps."""
    lines = [line for line in table("secrets") if not remains(line, redact(line.text))]
    filler = "def work(self, value):\n    return value + 1\n\n"
    text = "".join(f"{line.text}\n{filler * (number % 7)}\n\n" for number, line in enumerate(lines * 3))
    redacted = redact(text)
    assert [line.text for line in lines if any(secret in redacted for secret in line.secrets if len(secret) > 8)] == []
