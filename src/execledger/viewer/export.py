"""Runs and the page exported to one HTML file, which needs neither a server nor a network.

Each answer of the server's API is an element of its own, of a type that browsers do not run, parsed when the page
requests it. The content security policy allows the one script and the one style by their digests, and nothing else. The
texts of the runs are redacted, and the file is readable for its owner alone, as a journal is.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from io import TextIOWrapper
from itertools import permutations
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from execledger.agents.formats import find_recorded
from execledger.core.policy import Policy
from execledger.errors import LedgerError, UnreadableRun
from execledger.journal.clean import clean_texts
from execledger.journal.folder import open_private
from execledger.redact import redact
from execledger.runs.find import HINT
from execledger.session.adapter import Resolve
from execledger.viewer.assets import INDEX, LOCKED, bundled, page_files
from execledger.viewer.compare import compare
from execledger.viewer.counting import RunLine, totals
from execledger.viewer.encoding import encoded
from execledger.viewer.reading import Reading
from execledger.viewer.runs import Listing, choices, reading_of

OUTPUT_LENGTH = 20_000
"""Characters of an output that are exported; there is no server to request the rest from."""
MAX_COMPARED = 4
"""The largest number of runs of which every pair is compared."""
DOCTYPE = b"<!doctype html"
"""How an HTML page begins."""
HEAD = "<head>\n"
"""The tag after which the policy is inserted."""
STYLE = '<link rel="stylesheet" href="style.css">'
"""Placeholder for the inlined CSS."""
SCRIPT = '<script type="module" src="main.js"></script>'
"""Placeholder for the inlined script."""
END = "</body>"
"""The tag before which the answers are inserted."""


class ExportedPage(NamedTuple):
    """What was written."""

    runs: int
    """How many runs."""
    compared: bool
    """Each of them is compared with each other one; with more than a few, none is."""


def export(
    paths: tuple[str, ...], target: Path, policy: Policy | None, resolve: Resolve | None, tell: Callable[[str], None]
) -> ExportedPage:
    """Write the runs at ``paths`` to ``target``, and return how many; ``tell`` names what can't be read."""
    require_replaceable(target, paths)
    before, end, after = page(page_files()).rpartition(END)
    unfinished = target.with_name(f".{target.name}.part")
    try:
        with TextIOWrapper(open_private(unfinished), encoding="utf-8") as file:
            file.write(before)
            exported = _written(file, paths, policy, resolve, tell)
            file.write(end + after)
        os.replace(unfinished, target)
        return exported
    except OSError as error:
        raise LedgerError(f"{target}: can't be written: {error.strerror or error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def require_replaceable(target: Path, paths: tuple[str, ...]) -> None:
    """Raise ``LedgerError`` unless ``target`` is new, empty or an HTML page, and none of the runs that are read."""
    expected = "expected a new file, or a page to replace; nothing was written"
    try:
        state = target.stat()
        if any(os.path.exists(path) and os.path.samestat(state, os.stat(path)) for path in paths):
            raise LedgerError(f"{target}: found one of the runs that are to be read, {expected}")
        if not stat.S_ISREG(state.st_mode):
            raise LedgerError(f"{target}: found no plain file, {expected}")
        with target.open("rb") as file:
            head = file.read(len(DOCTYPE))
    except FileNotFoundError as error:
        if not os.access(target.parent, os.W_OK | os.X_OK):
            why = "its folder is closed to you" if target.parent.exists() else error.strerror
            raise LedgerError(f"{target}: can't be written: {why}") from None
        return
    except OSError as error:
        raise LedgerError(f"{target}: can't be written: {error.strerror or error}") from error
    if head and head.lower() != DOCTYPE:
        raise LedgerError(f"{target}: found a file that is no HTML page, {expected}")


def _written(
    file: IO[str], paths: tuple[str, ...], policy: Policy | None, resolve: Resolve | None, tell: Callable[[str], None]
) -> ExportedPage:
    """Write the API's answers for every run."""
    lines: list[RunLine] = []
    few: list[Reading] = []
    unreadable: list[dict[str, str]] = []
    for source in find_recorded(paths):
        try:
            reading = reading_of(source.name, source.read(), policy, resolve)
            reading.read()
        except UnreadableRun as error:
            tell(str(error))
            unreadable.append({"name": error.name, "reason": error.reason})
            continue
        for path, answer in _answers(reading):
            file.write(element(path, answer))
        lines.append(reading.line())
        # One more than can be compared shows that there are too many.
        few = [*few, reading][: MAX_COMPARED + 1]
    if not lines:
        raise LedgerError(f"no recorded run was read at {', '.join(paths)}", hint=HINT)
    comparable = len(few) <= MAX_COMPARED
    for one, other in permutations(few, 2) if comparable else ():
        path = f"/api/compare?a={one.line().id}&b={other.line().id}"
        file.write(element(path, compare(one, other)))
    listing = Listing(
        runs=lines,
        unreadable=unreadable,
        total=len(lines),
        pending=0,
        listed=True,
        choices=choices(lines),
        totals=totals(lines),
        comparable=comparable,
    )
    file.write(element("/api/runs", listing))
    return ExportedPage(len(lines), comparable)


def _answers(reading: Reading) -> Iterator[tuple[str, object]]:
    """Every path of the API for one run, with its answer."""
    run = f"/api/runs/{reading.line().id}"
    yield run, reading.answer()
    for index in range(len(reading.model)):
        yield f"{run}/steps/{index}", reading.step(index, OUTPUT_LENGTH)


def element(path: str, answer: object) -> str:
    """An answer as a data element of the page, redacted, and escaped so that no text can end the element."""
    data = encoded(clean_texts(msgspec.to_builtins(answer), redact)).decode().replace("<", r"\u003c")
    return f'<script type="application/json" data-path="{html.escape(path)}">{data}</script>\n'


def page(files: Mapping[str, bytes]) -> str:
    """The page with its style and script inlined."""
    style, script = files["style.css"].decode(), bundled(files)
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; {LOCKED}"
    )
    text = files[INDEX].decode()
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    for mark, content in (
        (HEAD, f"{HEAD}{meta}\n"),
        (STYLE, f"<style>{style}</style>"),
        (SCRIPT, f'<script type="module">{script}</script>'),
    ):
        assert text.count(mark) == 1, f"the page has {mark!r} {text.count(mark)} times, expected once"
        text = text.replace(mark, content)
    return text


def _digest(text: str) -> str:
    """The digest by which a content security policy allows an inline text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
