"""The page of ``execledger replay --html``: what was read twice in recorded runs and what it cost, by kind and by file.

One HTML file without scripts, links or fonts from elsewhere. It quotes no output and no command: names of files, counts
and costs are all that it has of the runs.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from execledger.evaluate.counterfactual import Amount, Counterfactual, RedundancyClass
from execledger.redact import redact
from execledger.runs.account import Net, dollars

CLASSES = {"uncached": "uncached", "written": "written to the cache", "cached": "cached", "output": "output"}
"""The classes of tokens that a provider charges for, with their titles."""
MAX_FILES = 40
"""Files that the page lists, those with the highest cost."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --bar: #3d6fb4; --spent: #b45f06; --muted: #6b7280; --line: #d1d5db; }
@media (prefers-color-scheme: dark) { :root { --muted: #9ca3af; --line: #3a4049; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
p.lead { font-size: 1.15rem; } p, caption { max-width: 48rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th, td { text-align: right; padding: 0.3rem 0.6rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; }
td.bar { width: 22%; } td.bar span { display: block; height: 0.8rem; background: var(--bar); border-radius: 2px; }
td.bar .parts { display: flex; background: none; overflow: hidden; } td.bar i { height: 100%; }
.uncached { background: #c2571a; } .written { background: #a3569b; } .cached { background: #4a80c4; }
.output { background: #3a8f5c; } i.key { display: inline-block; width: 0.7rem; height: 0.7rem; margin-right: 0.3rem; }
.hint { color: var(--muted); font-size: 0.9rem; }
"""


def redundancy_page(found: Counterfactual, worth: Net, calls: int) -> str:
    """Return the page for replayed runs with so many tool calls in all."""
    parts = (_lead(found, calls), _kinds(found), _files(found), _worth(worth), _classes(found, worth), _method(found))
    body = "\n".join(line for part in parts for line in part)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width">\n<title>What was read twice</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _lead(found: Counterfactual, calls: int) -> Iterator[str]:
    redundant = sum(one.calls for one in found.classes.values())
    cost = sum(one.there.dollars for one in found.classes.values())
    share = f", {cost / found.own.dollars:.1%} of the {dollars(found.own.dollars)}" if found.own.dollars else ""
    yield "<h1>What was read twice</h1>"
    yield (
        f'<p class="lead"><b>{redundant:,} of {calls:,}</b> tool calls in {found.runs:,} recorded'
        f" session{'s' if found.runs != 1 else ''} showed the model again what it had in view, repeated a test without"
        f" a change, or failed at an edit of a file that had changed."
        f" Sending that text cost <b>{dollars(cost)}</b>{share} that the sessions cost.</p>"
    )


def _kinds(found: Counterfactual) -> Iterator[str]:
    rows = [(kind.value, one) for kind, one in found.classes.items() if one.calls]
    yield "<h2>By kind</h2>"
    yield from _table("kind", rows)


def _files(found: Counterfactual) -> Iterator[str]:
    ranked = sorted(found.files.items(), key=lambda item: (-item[1].there.dollars, item[0]))
    yield "<h2>By file</h2>"
    if not ranked:
        yield "<p>No file was read twice.</p>"
        return
    yield from _table("file", [(redact(name), one) for name, one in ranked[:MAX_FILES]])
    if len(ranked) > MAX_FILES:
        rest = sum(one.there.dollars for _, one in ranked[MAX_FILES:])
        yield f'<p class="hint">and {len(ranked) - MAX_FILES:,} further files, {dollars(rest)} together</p>'


def _table(title: str, rows: Iterable[tuple[str, RedundancyClass]]) -> Iterator[str]:
    """Yield a table with a bar for the cost of each row."""
    listed = list(rows)
    most = max((one.there.dollars for _, one in listed), default=0.0)
    yield f"<table><thead><tr><th>{title}</th><th>calls</th><th>new tokens</th><th>cached tokens</th>"
    yield "<th>cost</th><th></th></tr></thead><tbody>"
    for name, one in listed:
        width = 100 * one.there.dollars / most if most else 0.0
        cells = (f"{one.calls:,}", *_tokens(one.there), dollars(one.there.dollars))
        numbers = "".join(f"<td>{cell}</td>" for cell in cells)
        bar = f'<td class="bar"><span style="width:{width:.1f}%"></span></td>'
        yield f"<tr><td>{html.escape(name)}</td>{numbers}{bar}</tr>"
    yield "</tbody></table>"


def _tokens(amount: Amount) -> tuple[str, str]:
    """Return the tokens that are new to a call, and those that a cache served."""
    tokens = amount.tokens
    return f"{(tokens.uncached or 0) + (tokens.written or 0):,}", f"{tokens.cached or 0:,}"


def _worth(worth: Net) -> Iterator[str]:
    yield "<h2>What Ledger would have made of it</h2>"
    yield f"<p>{html.escape(worth.sentence(would=True))}</p>"


def _classes(found: Counterfactual, worth: Net) -> Iterator[str]:
    """Yield where the tokens went: those of the sessions, and what Ledger would have saved and taken, by class."""
    rows = {
        "the sessions as they were": found.own.tokens,
        "would have been saved": worth.saved_tokens,
        "views would have taken": replace(worth.spent_tokens, cached=0),
    }
    counts = {title: {name: max(getattr(tokens, name) or 0, 0) for name in CLASSES} for title, tokens in rows.items()}
    most = max(1, *(sum(one.values()) for one in counts.values()))
    heads = "".join(f'<th><i class="key {name}"></i>{title}</th>' for name, title in CLASSES.items())
    yield "<h2>Where the tokens went</h2>"
    yield f"<table><thead><tr><th>tokens</th>{heads}<th></th></tr></thead><tbody>"
    for title, one in counts.items():
        bar = "".join(f'<i class="{name}" style="width:{100 * count / most:.2f}%"></i>' for name, count in one.items())
        numbers = "".join(f"<td>{count:,}</td>" for count in one.values())
        yield f'<tr><td>{title}</td>{numbers}<td class="bar"><span class="parts">{bar}</span></td></tr>'
    yield "</tbody></table>"
    yield (
        '<p class="hint">The first row includes what would have been saved, and not what views would have taken.'
        " Bars show numbers and no cost: a cached token costs a fraction of an uncached one.</p>"
    )


def _method(found: Counterfactual) -> Iterator[str]:
    counted = f"{found.runs - found.estimated:,} of {found.runs:,}"
    yield (
        '<p class="hint">A replay: the sessions are taken as they were recorded, and what a model would have done'
        " otherwise is not known. A text counts as new with the first model call that reads it and then, as far as the"
        " provider's cache reached, as cached with each later one. Files of one name in the folders of several projects"
        " are one row. The tokens of"
        f" {counted} sessions were counted by the provider; others are estimated from bytes. Made by execledger.</p>"
    )
