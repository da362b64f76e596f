"""The installation, the environment, and the round trip on loopback."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from execledger.doctor import environment, installation, roundtrip
from execledger.doctor.findings import Finding

VARIABLES = (
    "http_proxy HTTP_PROXY https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY EXECLEDGER EXECLEDGER_JOURNAL "
    "OPENAI_BASE_URL OPENAI_API_BASE ANTHROPIC_BASE_URL"
).split()


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that says nothing, and a state folder of its own."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "execledger"


def statuses(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.check, finding.status) for finding in findings]


def test_the_installation_is_sound() -> None:
    """Under the Python and with the extras that the tests run with."""
    assert statuses(list(installation.package())) == [("python", "ok"), ("execledger", "ok")]
    found = next(iter(installation.extras())).found
    assert found.startswith("installed: ") and "codex" in found and "view" in found


def test_a_state_folder_that_is_not_there_yet_is_fine(state: Path) -> None:
    """The first run makes it; the doctor does not."""
    findings = list(installation.folders())
    assert statuses(findings) == [("state folder", "ok"), ("free space", "ok")]
    assert "made by the first run" in findings[0].found and not state.exists()


def test_a_private_state_folder_is_fine(state: Path) -> None:
    """Nothing is left in it."""
    (state / "journals").mkdir(parents=True, mode=0o700)
    found = list(installation.folders())
    assert statuses(found) == [("state folder", "ok"), ("privacy", "ok"), ("free space", "ok")]
    assert list((state / "journals").iterdir()) == []


def test_what_others_could_read_is_to_be_fixed(state: Path) -> None:
    """The folder, the edits, and each journal."""
    folder = state / "journals"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    (finding,) = [one for one in installation.folders() if one.status == "fix"]
    assert finding.fix == f"chmod 700 {folder}"
    folder.chmod(0o700)
    journal = folder / "a.ledger.jsonl"
    journal.touch()
    journal.chmod(0o644)
    (finding,) = [one for one in installation.folders() if one.status == "fix"]
    assert finding.fix == f"chmod 600 {folder}/*.ledger.jsonl"
    journal.chmod(0o600)
    edits = state / "edits.sqlite3"
    edits.touch()
    edits.chmod(0o604)
    (finding,) = [one for one in installation.folders() if one.status == "fix"]
    assert finding.fix == f"chmod 600 {edits}"


def test_a_state_folder_that_is_a_file_is_to_be_fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be written there, whoever asks."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(tmp_path / "file" / "below"))
    (finding,) = installation.folders()
    assert (finding.status, "file: can't be read: found a file" in finding.found) == ("fix", True)
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(tmp_path / "file"))
    assert next(iter(installation.folders())).status == "fix"


@pytest.mark.parametrize("name", ["", "journals"])
@pytest.mark.parametrize("kind", ["link", "file"])
def test_what_stands_where_the_state_folder_should_be_is_named(state: Path, name: str, kind: str) -> None:
    """No run could write there, although nothing seems to be there."""
    place = state / name
    place.parent.mkdir(exist_ok=True)
    if kind == "link":
        place.symlink_to("nowhere")
    else:
        place.touch()
    (finding,) = installation.folders()
    found = "a symbolic link that leads nowhere" if kind == "link" else "a file"
    assert finding == Finding(
        "state folder",
        "fix",
        f"{place}: can't be read: found {found}, expected a folder",
        "move it away, or set EXECLEDGER_JOURNAL",
    )


def test_the_state_folder_counts_where_journals_go_elsewhere(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The edits are in it."""
    monkeypatch.setenv("EXECLEDGER_JOURNAL", str(tmp_path / "journals"))
    state.touch()
    (finding,) = installation.folders()
    assert (finding.status, finding.fix) == ("fix", "move it away")
    assert finding.found.startswith(f"{state}: ")


def test_a_web_proxy_for_loopback_is_to_be_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its password is not repeated; and the round trip, which would go to it, is not tried."""
    assert statuses(list(environment.web_proxies())) == [("web proxy", "ok")]
    monkeypatch.setenv("http_proxy", "http://me:swordfish@proxy.example:3128")
    (finding,) = environment.web_proxies()
    assert finding.status == "fix" and "me:[redacted]@proxy.example" in finding.found and "NO_PROXY" in finding.fix
    assert statuses(list(roundtrip.proxy())) == [("proxy", "note")]
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    assert statuses(list(environment.web_proxies())) == [("web proxy", "ok")]


def test_an_address_where_nobody_listens_is_to_be_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that answers is noted, and so is one elsewhere, which is not asked."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        assert statuses(list(environment.addresses())) == [("OPENAI_BASE_URL", "fix")]
        taken.listen()
        (finding,) = environment.addresses()
        assert (finding.status, "since 0.119" in finding.found) == ("note", True)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://models.invalid/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "nonsense")
    monkeypatch.setenv("OPENAI_API_BASE", "http://[bad")
    assert statuses(list(environment.addresses())) == [
        ("OPENAI_BASE_URL", "note"),
        ("OPENAI_API_BASE", "fix"),
        ("ANTHROPIC_BASE_URL", "fix"),
    ]


def test_a_ledger_that_is_switched_off_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With how to have it back."""
    assert list(environment.switches()) == []
    monkeypatch.setenv("EXECLEDGER", "off")
    (finding,) = environment.switches()
    assert (finding.status, finding.fix) == ("note", "unset EXECLEDGER, to have Ledger back")
    monkeypatch.setenv("EXECLEDGER", "banana")
    (finding,) = environment.switches()
    assert (finding.status, finding.fix) == ("fix", "unset EXECLEDGER, or set it to one of these")


def test_a_streamed_request_comes_back_whole() -> None:
    """Through the real proxy and a small upstream; and the viewer's page is there."""
    (proxy,) = roundtrip.proxy()
    assert (proxy.status, proxy.found.startswith("a streamed request came back whole")) == ("ok", True), proxy
    assert statuses(list(roundtrip.viewer())) == [("viewer", "ok")]
    assert "XDG_STATE_HOME" in os.environ and not Path(os.environ["XDG_STATE_HOME"], "execledger").exists()
