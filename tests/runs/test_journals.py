"""What a journal's end says about the run."""

from __future__ import annotations

from execledger.agents.formats import read_run
from execledger.journal import Ended
from execledger.journal.codec import encode
from execledger.journal.events import Counts, Started
from execledger.runs.usage import ModelCall, Tokens


def test_the_end_of_a_journal() -> None:
    """How it ended and what all calls of the model took; the instance stands in the run's name."""
    start = Started(software="1", run="some__repo-1", policy={})
    end = Ended(counts=Counts(), reason="Submitted", input_tokens=9, cached_tokens=5, output_tokens=2, cost=0.5)
    run = read_run("one.jsonl", encode(start) + encode(end))
    took = ModelCall(Tokens.of(input=9, cached=5, output=2), 0.5)
    assert (run.ended, run.totals, run.instance) == ("Submitted", took, "some__repo-1")
    silent = read_run("one.jsonl", encode(start) + encode(Ended(counts=Counts())))
    assert (silent.ended, silent.totals) == ("", None)
