"""How much the proxy takes on: every bound in one place, each with what happens beyond it.

A request beyond a bound is passed on with the edits of before, so that the model is shown what it was shown; where it
can't be read at all, it passes as it came. Nothing is refused, and nothing is held without end.
"""

from __future__ import annotations

MAX_BODY = 128_000_000
"""Bytes of a request, unpacked; a larger one is streamed on, and not looked into."""
MAX_COMMAS = 2_000_000
"""Commas in a request of more than 8 MB: a bound on how many pieces it splits into, found without splitting it."""
UNCOUNTED = 8_000_000
"""Bytes below which commas are not counted: so few bytes make no more pieces than that."""
MAX_SPLIT = 1_000_000
"""Items of a request; one with more passes as it came."""
MAX_ITEMS = 100_000
"""Items of a request; with more, the stored edits are applied and nothing else."""
MAX_NEW = 4_000_000
"""Bytes of a request's new items that are taken in before it is sent on, about a second of work; of a longer history
the rest is taken in with the next requests, and until then the stored edits are applied and nothing else."""
MAX_RESULT = 400_000
"""Characters of a result that is looked into; a longer one, as agents hardly show any, would keep others waiting."""
MAX_STEPS = 200_000
"""Steps of a session; behind them its stored edits are applied and nothing else."""
MAX_EVENT = 16_000_000
"""Bytes of one event of a stream; a longer one passes as it comes, unjudged."""
MAX_CALL = 4_000_000
"""Bytes of one proposed call that are held back until it is complete; a larger one passes unjudged."""
MAX_HELD = 16_000_000
"""Bytes of all the calls of one answer that are held back; beyond that, all of them pass unjudged."""
PORTION = 256
"""Bytes of a packed answer that are unpacked at once: they make at most a few megabytes."""
MAX_SESSIONS = 1024
"""Sessions that are kept in memory; one that was let go is rebuilt from its next request and the stored edits."""
MAX_THREADS = 256
"""Conversations of one session that are kept in memory; the one that was silent longest is let go."""
MAX_TAKEN = 100_000_000
"""Characters of results that one session's ledger takes in, each step counted as 300 more: about 1 GB of memory."""
KEPT_TAKEN = 200_000_000
"""The same of all sessions in memory; beyond that, those that were silent longest are let go."""
STEP = 300
"""What a step weighs beside its result, in characters."""
IDLE_SECONDS = 3600.0
"""How long a session may say nothing before it is taken to have ended."""
