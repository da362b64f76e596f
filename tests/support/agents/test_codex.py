"""How the real codex is installed, with an npm that only pretends."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.agents.codex import codex
from tests.support.agents.npm import NotInstalled, cache_folder

# Notes that it was called, then makes what the package would hold for every machine.
NPM = """#!/bin/sh
echo "$@" >> "$CALLS"
test -z "$BROKEN" || { echo "no such package" >&2; exit 7; }
for machine in aarch64-apple-darwin x86_64-apple-darwin aarch64-unknown-linux-musl x86_64-unknown-linux-musl; do
    folder="$3/node_modules/@openai/codex/vendor/$machine/bin"
    mkdir -p "$folder" && echo program > "$folder/codex"
done
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache and an npm; the file notes how that was called."""
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(NPM)
    npm.chmod(0o755)
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(npm.parent), prepend=":")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    codex.cache_clear()
    return tmp_path / "calls"


def test_those_who_ask_at_once_share_one_installation(calls: Path) -> None:
    """Of several that ask at once, one installs, and all get the same program, complete."""
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(codex, ["1.2.3"] * 4))
    assert [path.read_text() for path in found] == ["program\n"]
    assert [line.split()[-1] for line in calls.read_text().splitlines()] == ["@openai/codex@1.2.3"]
    assert {path.name for path in (cache_folder() / "openai-codex").iterdir()} == {"1.2.3", "1.2.3.lock"}


def test_a_failed_installation_leaves_nothing_behind(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where npm fails, the error says what and why, and the next one to ask tries again."""
    monkeypatch.setenv("BROKEN", "1")
    with pytest.raises(NotInstalled, match=r"npm could not install @openai/codex@1\.2\.3: status 7: no such package"):
        codex("1.2.3")
    assert [path.name for path in (cache_folder() / "openai-codex").iterdir()] == ["1.2.3.lock"]
    monkeypatch.delenv("BROKEN")
    assert codex("1.2.3").read_text() == "program\n"
