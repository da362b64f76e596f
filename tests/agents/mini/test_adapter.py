"""mini-swe-agent's results where another program runs the agent: read, and edited as its template renders them."""

from __future__ import annotations

import json

from execledger.agents.mini.adapter import ADAPTER
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Observation

CAT = ToolCall("bash", '{"command":"cat a.py"}')
RENDERED = '{\n  "returncode": 0,\n  "output": "a \\"b\\"\\n"\n}'
TAGGED = "<returncode>0</returncode>\n<output>\na\n</output>"
REFERENCE = "[Ledger: output omitted. It's as <above> & unchanged.]"


def test_a_rendered_result_is_read() -> None:
    """The exit status and the output, from JSON and from tags."""
    assert ADAPTER.observation_of(CAT, (RENDERED,)) == Observation('a "b"\n', exit_status=0)
    assert ADAPTER.observation_of(CAT, (TAGGED,)) == Observation("a\n", exit_status=0)
    assert ADAPTER.observation_of(CAT, ("anything",)) == Observation("anything", truncated=True)


def test_a_reference_is_rendered_as_an_output() -> None:
    """JSON stays JSON with the exit status, in the template's own spelling; tags stay tags."""
    (text,) = ADAPTER.referenced(CAT, (RENDERED,), REFERENCE)
    assert json.loads(text) == {"returncode": 0, "output": REFERENCE}
    assert "\\u0027" in text and "<above>" not in text
    assert ADAPTER.referenced(CAT, (TAGGED,), "ref") == ("<returncode>0</returncode>\n<output>\nref\n</output>",)


def test_a_remark_follows_the_result() -> None:
    """It is behind everything that the template rendered."""
    assert ADAPTER.remarked(CAT, (RENDERED,), "remark") == (f"{RENDERED}\nremark",)


def test_a_shim_is_recognised() -> None:
    """The call in place of a suppressed one carries a mark, and runs in the same tool."""
    shim = ADAPTER.shim_of(CAT, "0123", "Instead of it.")
    assert shim is not None
    assert (shim.name, ADAPTER.shim_mark(shim), ADAPTER.shim_mark(CAT)) == ("bash", "0123", None)
