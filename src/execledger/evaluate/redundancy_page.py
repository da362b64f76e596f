"""The page of ``execledger replay --html``: what was read twice in recorded runs and what it cost, by kind and by file.

One HTML file without scripts, links or fonts from elsewhere. It quotes no output and no command: names of files, counts
and costs are all that it has of the runs.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator

from execledger.core.wording import quantity
from execledger.evaluate.counterfactual import Counterfactual, RedundancyClass
from execledger.redact import redact
from execledger.runs.account import Net, dollars, input_classes, share
from execledger.runs.usage import Tokens

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
    parts = (
        _lead(found, worth, calls),
        _kinds(found),
        _files(found),
        _worth(worth),
        _classes(found, worth),
        _method(found),
    )
    body = "\n".join(line for part in parts for line in part)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width">\n<title>What was read twice</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _lead(found: Counterfactual, worth: Net, calls: int) -> Iterator[str]:
    redundant = sum(one.calls for one in found.classes.values())
    cost = sum(one.there.dollars for one in found.classes.values())
    of = f", {share(cost / worth.own)} of the {worth.cost_of('session')}" if worth.own else ""
    yield "<h1>What was read twice</h1>"
    yield (
        f'<p class="lead"><b>{redundant:,} of {calls:,}</b> tool calls in'
        f" {quantity(found.runs, 'recorded session')} showed the model again what it had in view, repeated a test"
        f" without a change, or failed at an edit of a file that had changed."
        f" Sending that text cost <b>{dollars(cost)}</b>{of}.</p>"
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
    calls, of = (sum(one.calls for one in group.values()) for group in (found.files, found.classes))
    which = "Other calls, such as searches and tests, belong to no one file." if calls < of else ""
    yield f'<p class="hint">{calls:,} of these {of:,} calls read one file. {which}</p>'
    yield from _table("file", [(redact(name), one) for name, one in ranked[:MAX_FILES]])
    if len(ranked) > MAX_FILES:
        rest = sum(one.there.dollars for _, one in ranked[MAX_FILES:])
        further = len(ranked) - MAX_FILES
        yield f'<p class="hint">and {quantity(further, "further file")}, {dollars(rest)} together</p>'


def _table(title: str, rows: Iterable[tuple[str, RedundancyClass]]) -> Iterator[str]:
    """Yield a table with a bar for the cost of each row."""
    listed = list(rows)
    most = max((one.there.dollars for _, one in listed), default=0.0)
    classes = input_classes(one.there.tokens for _, one in listed)
    heads = "".join(f"<th>{CLASSES[name]}</th>" for name in classes)
    yield f"<table><thead><tr><th>{title}</th><th>calls</th>{heads}<th>cost</th><th></th></tr></thead><tbody>"
    for name, one in listed:
        width = 100 * one.there.dollars / most if most else 0.0
        tokens = (f"{getattr(one.there.tokens, name) or 0:,}" for name in classes)
        cells = (f"{one.calls:,}", *tokens, dollars(one.there.dollars))
        numbers = "".join(f"<td>{cell}</td>" for cell in cells)
        bar = f'<td class="bar"><span style="width:{width:.1f}%"></span></td>'
        yield f"<tr><td>{html.escape(name)}</td>{numbers}{bar}</tr>"
    yield "</tbody></table>"


def _worth(worth: Net) -> Iterator[str]:
    yield "<h2>What Ledger would have made of it</h2>"
    yield f"<p>{html.escape(worth.sentence(would=True))}</p>"


def _classes(found: Counterfactual, worth: Net) -> Iterator[str]:
    """Yield where the tokens went: those of the sessions, and what adds up to the net of Ledger, by class.

    Bars show what was taken or saved, whatever its sign; the net has none, since its classes may differ in sign.
    """
    own, views, kept_out = found.own.tokens, found.views.tokens, found.kept_out.tokens
    rows = {
        "the session as it was" if found.runs == 1 else "the sessions as they were": (own, own),
        "would have been saved": (worth.saved_tokens, worth.saved_tokens),
        **({"taken by remarks": (-worth.remark_tokens, worth.remark_tokens)} if worth.remarked else {}),
        "taken by views": (-views, views),
        "kept out of the cache by views": (-kept_out, kept_out),
        "net": (worth.net_tokens, Tokens()),
    }
    bars = {title: {name: max(getattr(drawn, name) or 0, 0) for name in CLASSES} for title, (_, drawn) in rows.items()}
    most = max(1, *(sum(one.values()) for one in bars.values()))
    heads = "".join(f'<th><i class="key {name}"></i>{title}</th>' for name, title in CLASSES.items())
    yield "<h2>Where the tokens went</h2>"
    yield f"<table><thead><tr><th>tokens</th>{heads}<th></th></tr></thead><tbody>"
    for title, (tokens, _) in rows.items():
        parts = bars[title].items()
        bar = "".join(f'<i class="{name}" style="width:{100 * count / most:.2f}%"></i>' for name, count in parts)
        numbers = "".join(f"<td>{getattr(tokens, name) or 0:,}</td>" for name in CLASSES)
        yield f'<tr><td>{title}</td>{numbers}<td class="bar"><span class="parts">{bar}</span></td></tr>'
    yield "</tbody></table>"
    yield (
        '<p class="hint">The first row includes what would have been saved, and not what views and remarks would have'
        " taken; the rows between it and the net add up to the net. What views keep out of the cache is uncached once"
        " instead of cached. Bars show numbers and no cost: a cached token costs a fraction of an uncached one.</p>"
    )


def _method(found: Counterfactual) -> Iterator[str]:
    caveat = f" {found.caveat}" if found.caveat else ""
    yield (
        '<p class="hint">A replay: the sessions are taken as they were recorded, and what a model would have done'
        " otherwise is not known. A text counts as new with the first model call that reads it and then, as far as the"
        " provider's cache reached, as cached with each later one. Files of one name in the folders of several projects"
        " are one row. Costs are at the prices of a table, not as agents recorded them."
        f" {found.counted('session')}; others are estimated from bytes.{caveat}"
        " Made by execledger.</p>"
    )
