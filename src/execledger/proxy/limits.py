"""The limits of the proxy, each with what happens beyond it.

A request beyond a limit is forwarded with the stored edits, so that the model is shown what it was shown before; one
that can't be read at all is forwarded unchanged. Nothing is refused, and nothing is held without a bound.
"""

from __future__ import annotations

MAX_BODY = 128_000_000
"""Bytes of a request, decoded; a larger one is streamed to the upstream without being read."""
MAX_COMMAS = 2_000_000
"""Commas in a request of more than 8 MB: an upper bound of the values in it, found without decoding it."""
UNCOUNTED = 8_000_000
"""Bytes below which commas are not counted: a request of this size can't exceed the limit by much."""
MAX_SPLIT = 1_000_000
"""Leaves of a request; one with more is forwarded unchanged."""
MAX_SURROGATES = 200_000
"""Lone surrogate escapes (``\\ud800``) of a request; one with more is forwarded unchanged."""
MAX_REMEMBERED = 16_000_000
"""Bytes of messages whose pieces each dialect remembers: those of some fifty active sessions; others are split anew."""
MAX_REQUESTS = 256
"""Requests whose messages each dialect remembers, however short they are: every new one is compared with all."""
MAX_ITEMS = 100_000
"""Leaves of a request; with more, only the stored edits are applied."""
MAX_NEW = 4_000_000
"""Bytes of new leaves that are recorded before a request is forwarded, about a second of work; of a longer history the
rest is recorded with the next requests, and until then only the stored edits are applied."""
MAX_RESULT = 400_000
"""Characters of a result that is compared; a longer one, which agents hardly produce, would delay other sessions."""
MAX_STEPS = 200_000
"""Steps of a session; after them, only its stored edits are applied."""
MAX_EVENT = 16_000_000
"""Bytes of one event of a stream; a longer one is forwarded in pieces, and its calls are not judged."""
MAX_CALL = 4_000_000
"""Bytes of one proposed call that are held until it is complete; a larger one is forwarded unjudged."""
MAX_HELD = 16_000_000
"""Bytes of all calls of one answer that are held; beyond that, all of them are forwarded unjudged."""
PORTION = 256
"""Bytes of an encoded answer that are decoded at once: they decode to at most a few megabytes."""
MAX_SESSIONS = 1024
"""Sessions in memory; an evicted one is rebuilt from its next request and the stored edits."""
MAX_THREADS = 256
"""Conversations of one session in memory; the one that was idle longest is evicted."""
MAX_TAKEN = 100_000_000
"""Characters of results that one session's ledger records, each step counted as 300 more: about 1 GB of memory."""
KEPT_TAKEN = 200_000_000
"""The same for all sessions in memory; beyond that, those that were idle longest are evicted."""
STEP = 300
"""The weight of a step in addition to its result, in characters."""
IDLE_SECONDS = 3600.0
"""How long a session may be idle before it counts as ended."""
