"""What the doctor says of engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from execledger.doctor.engines import harbor
from execledger.doctor.findings import Finding

WORKS = "`harbor run -a execledger.harbor:LedgerCodex ...`"


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("0.25.0", Finding("Harbor", "ok", f"0.25.0: {WORKS} works; tested 0.25.0")),
        (
            "0.26.1",
            Finding("Harbor", "note", f"0.26.1: newer than what was tested 0.25.0; {WORKS} works as far as is known"),
        ),
        (
            "0.9.0",
            Finding("Harbor", "note", f"0.9.0: {WORKS} needs 0.23 or newer; tested 0.25.0", "pip install -U harbor"),
        ),
        (
            "0.24.0",
            Finding("Harbor", "note", f"0.24.0: older than what was tested 0.25.0; {WORKS} works as far as is known"),
        ),
    ],
)
def test_harbor_in_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, found: Finding) -> None:
    """Its version, and whether it is one that was tested."""
    about = tmp_path / f"harbor-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: harbor\nVersion: {version}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert list(harbor()) == [found]


def test_without_harbor() -> None:
    """It need not be there."""
    assert list(harbor()) == [Finding("Harbor", "none", f"not in this Python, where {WORKS} would find Ledger")]
