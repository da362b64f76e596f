"""One file that holds the page and the runs: it needs nothing else, and allows nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import stat
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from execledger.errors import LedgerError
from execledger.viewer.assets import BadModule, bundled, page_files
from execledger.viewer.counting import run_id
from execledger.viewer.export import MAX_COMPARED, export, page
from tests.viewer.stage import DEMO, api, journal_bytes, served, shown, told


class Elements(HTMLParser):
    """The elements of a page that matter: scripts, styles, and whatever has an address."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inner: list[tuple[str, dict[str, str | None], str]] = []
        self.addresses: list[str] = []
        self.policy = ""
        self._open: tuple[str, dict[str, str | None]] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        named = dict(attrs)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"] or ""
        if tag in ("script", "style"):
            self._open = (tag, named)
            self.inner.append((tag, named, ""))

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""
        self._open = None

    def handle_data(self, data: str) -> None:
        """Note what stands in an element."""
        if self._open is not None:
            tag, named, text = self.inner.pop()
            self.inner.append((tag, named, text + data))


def test_an_exported_page_is_redacted_and_private(tmp_path: Path) -> None:
    """A recorded run with a secret becomes a page without it, in a file that only its owner may read."""
    run, target, secret = tmp_path / "run.traj.json", tmp_path / "run.html", "correct-horse-1"
    text = DEMO.read_text(encoding="utf-8")
    assert text.count("def ") > 2
    run.write_text(text.replace("def ", f"DB_PASSWORD={secret} def "), encoding="utf-8")
    export((str(run),), target, None, None, print)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert "DB_PASSWORD=[redacted] def" in target.read_text() and secret not in target.read_text()


@pytest.fixture
def exported(tmp_path: Path) -> tuple[Path, Elements]:
    """The demo's run and a journal with evil words, in one file."""
    journal = tmp_path / "one.ledger.jsonl"
    journal.write_bytes(
        journal_bytes(told([shown("echo", "</script><script>alert(1)</script><!-- <script>"), shown("ls")]))
    )
    target = tmp_path / "runs.html"
    assert export((str(journal), str(DEMO)), target, None, None, lambda _: None) == (2, True)
    return journal, Elements(target.read_text(encoding="utf-8"))


def test_an_exported_page_asks_for_nothing(exported: tuple[Path, Elements]) -> None:
    """No address in it leads anywhere but into the page itself."""
    _, elements = exported
    assert [address for address in elements.addresses if not address.startswith(("#", "data:"))] == []
    styles = [text for tag, _, text in elements.inner if tag == "style"]
    assert not any(re.search(r"url\((?!['\"]?data:)|@import", style) for style in styles)


def test_only_its_own_script_and_style_are_allowed(exported: tuple[Path, Elements]) -> None:
    """By digests that are those of what stands there; data is no script."""
    _, elements = exported
    live = [(tag, text) for tag, named, text in elements.inner if named.get("type") != "application/json"]
    assert sorted(tag for tag, _ in live) == ["script", "style"]
    for tag, text in live:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in elements.policy
    assert elements.policy.startswith("default-src 'none'; ")
    assert elements.policy.endswith("require-trusted-types-for 'script'; trusted-types 'none'")
    assert "unsafe" not in elements.policy


def test_it_holds_what_the_server_would_answer(exported: tuple[Path, Elements]) -> None:
    """Every answer that the page can ask for, under its address."""
    journal, elements = exported
    held = {
        named["data-path"]: json.loads(text)
        for _, named, text in elements.inner
        if named.get("type") == "application/json"
    }
    one, other = run_id(str(journal)), run_id(str(DEMO))
    expected = {"/api/runs", f"/api/compare?a={one}&b={other}", f"/api/compare?a={other}&b={one}"}
    for path, steps in ((journal, 2), (DEMO, 14)):
        expected |= {api(path), *(f"{api(path)}/steps/{step}" for step in range(steps))}
    assert set(held) == expected
    with served(journal, DEMO) as asked:
        for address in sorted(expected - {"/api/runs", api(journal)}):
            assert held[address] == asked.get(address)
    assert [line["id"] for line in held["/api/runs"]["runs"]] == [one, other]


def test_what_can_not_be_read_is_told_and_held(tmp_path: Path) -> None:
    """The others are exported all the same; with none at all nothing is written."""
    (tmp_path / "bad.json").write_text("{}")
    target = tmp_path / "out" / "runs.html"
    target.parent.mkdir()
    told_reasons: list[str] = []
    export((str(tmp_path / "bad.json"), str(DEMO)), target, None, None, told_reasons.append)
    assert ["bad.json" in reason for reason in told_reasons] == [True]
    target.unlink()
    with pytest.raises(LedgerError, match="no recorded run was read"):
        export((str(tmp_path / "bad.json"),), target, None, None, told_reasons.append)
    assert list(target.parent.iterdir()) == []


def test_many_runs_are_not_compared_and_that_is_said(tmp_path: Path) -> None:
    """Each with each would be many; the file says that it holds no comparisons, and so does the caller's answer."""
    for number in range(MAX_COMPARED + 1):
        (tmp_path / f"{number}.jsonl").write_bytes(journal_bytes(told([shown("ls")])))
    target = tmp_path / "runs.html"
    assert export((str(tmp_path),), target, None, None, print) == (MAX_COMPARED + 1, False)
    held = [
        (named["data-path"] or "", json.loads(text))
        for _, named, text in Elements(target.read_text(encoding="utf-8")).inner
        if named.get("type") == "application/json"
    ]
    assert not any(path.startswith("/api/compare") for path, _ in held)
    assert [answer["comparable"] for path, answer in held if path == "/api/runs"] == [False]


def test_a_target_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    """Before anything is lost."""
    with pytest.raises(LedgerError, match=r"missing/runs\.html: can't be written: No such file"):
        export((str(DEMO),), tmp_path / "missing" / "runs.html", None, None, lambda _: None)


@pytest.mark.parametrize("content", [None, b"dear diary\n", b'{"event":"start"}\n'], ids=["input", "notes", "journal"])
def test_only_a_page_is_replaced(tmp_path: Path, content: bytes | None) -> None:
    """A run that is to be read, or any other file, stays as it is, and nothing is left beside it."""
    run, target = tmp_path / "one.ledger.jsonl", tmp_path / "other.html"
    run.write_bytes(journal_bytes(told([shown("ls")])))
    if content is None:
        target.symlink_to(run)
    else:
        target.write_bytes(content)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    words = "found one of the runs that are to be read" if content is None else "found a file that is no HTML page"
    with pytest.raises(LedgerError, match=f"^{re.escape(str(target))}: {words}"):
        export((str(run),), target, None, None, lambda _: None)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("content", [b"", b"<!DOCTYPE HTML><title>old</title>"], ids=["empty", "page"])
def test_a_page_and_an_empty_file_are_replaced(tmp_path: Path, content: bytes) -> None:
    """Nothing is lost with them."""
    target = tmp_path / "runs.html"
    target.write_bytes(content)
    assert export((str(DEMO),), target, None, None, lambda _: None).runs == 1
    assert target.read_bytes().startswith(b"<!doctype html>\n<html")


def test_a_device_is_not_replaced() -> None:
    """A new file would take its place."""
    with pytest.raises(LedgerError, match="/dev/null: found no plain file"):
        export((str(DEMO),), Path("/dev/null"), None, None, lambda _: None)
    assert Path("/dev/null").is_char_device()


MODULES = {
    "main.js": b"""import { one, two as second } from "./part.js";
import * as all from "./part.js";
import "./effect.js";
const hidden = "main";
console.log(one(), second, all.Three.name, hidden, all.four);
""",
    "part.js": b"""import { shared } from './shared.js';
const hidden = "part";
export function one() { return hidden + shared; }
export const two = 2;
export class Three {}
const inner = 4;
export { inner as four };
""",
    "shared.js": b"export const shared = '!';\n",
    "effect.js": b"import { shared } from './shared.js';\nconsole.log('effect' + shared);\n",
}


def test_modules_become_one_script() -> None:
    """Each once, behind what it needs, with names of its own."""
    script = bundled(MODULES)
    places = [script.index(f"const $${name} = ") for name in ("shared", "part", "effect", "main")]
    assert places == sorted(places)
    assert "import" not in script and "export" not in script


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_one_script_does_what_the_modules_did() -> None:
    """Run by node, where there is one."""
    done = subprocess.run(["node", "-"], input=bundled(MODULES), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["effect!", "part! 2 Three main 4"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (b'import x from "./part.js";\n', "found 'import x from"),
        (b'import { x } from "https://evil.example/x.js";\n', "found 'import"),
        (b"export default 3;\n", "found 'export default 3;'"),
        (b"export let counter = 0;\n", "found 'export let"),
        (b'const x = "</script>";\n', "found '</script'"),
        (b'import "./main.js";\n', "main.js imports main.js: a circle"),
        (b'import "./missing.js";\n', "main.js imports missing.js: no such module"),
    ],
)
def test_what_can_not_be_bundled_is_named(source: bytes, words: str) -> None:
    """A mistake in the page is found here, and not by whoever opens the file."""
    with pytest.raises(BadModule, match=re.escape(words)):
        bundled({**MODULES, "main.js": source})


def test_the_pages_own_modules_are_all_needed() -> None:
    """What lies in the page's folder is part of the exported page."""
    files = page_files()
    script = bundled(files)
    assert [name for name in files if name.endswith(".js") and f"const $${name[:-3]} = " not in script] == []
    assert "<style>" in page(files)
