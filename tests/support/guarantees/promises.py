"""The rows of docs/guarantees.md: what Ledger promises, and what other read-saving tools got wrong.

A test names the rows that it attacks with ``@pytest.mark.guarantee("row", ...)``. The bugs are those that every such
tool has shipped; the pitfalls are those of change counters.
"""

from __future__ import annotations

import msgspec


class Promise(msgspec.Struct, frozen=True):
    """One row: what must never happen, and what keeps it from happening."""

    row: str
    """The name that tests use."""
    text: str
    """What is promised, in one sentence."""
    kept_by: str
    """How it is enforced."""


PROMISES = (
    Promise(
        "false-reuse",
        "A result is never replaced by one that differs from it.",
        "Before running: only in a sealed environment in which nothing that may write has run since. "
        "Otherwise the command runs, and its bytes are compared.",
    ),
    Promise(
        "visibility",
        "A reference points only at text that is, unmodified, part of the request being answered.",
        "Visibility is read off each request; results that were cut, blanked or belong to another thread do not count.",
    ),
    Promise(
        "append-only",
        "What the model was shown once is shown the same way for ever after, byte for byte, "
        "as long as the agent itself leaves its history alone.",
        "Edits are stored and applied again; the state view follows the history and is never stored in it.",
    ),
    Promise(
        "fail-open",
        "No fault of ours, and no input, ends or changes the agent's run.",
        "A fault costs one decision, which is an allow; stored edits are applied again; after many Ledger is off.",
    ),
    Promise(
        "step-in-flight",
        "A crash loses at most the step in flight.",
        "A journal gets one locked append per event; a torn last line is named and set aside by every reader.",
    ),
    Promise(
        "no-secrets",
        "Keys and authorisation headers do not come to rest in journals or logs.",
        "Headers are never written; texts are redacted by pattern; files are private (0600).",
    ),
    Promise(
        "loopback-only",
        "Nothing of Ledger can be reached from another machine, and it connects to no address but the model's own.",
        "Proxy and viewer bind 127.0.0.1 and refuse foreign Host and Origin headers; nothing else opens a socket.",
    ),
    Promise(
        "bounded",
        "Memory and time per step do not grow with the run.",
        "Bounded indexes and searches; stated limits, beyond which requests pass through unread.",
    ),
    Promise(
        "witness",
        "What a state view says of lines that were looked up is true of the file at the moment of the look.",
        "A verdict needs an earlier look that agreed with what was shown; contents are compared, never times; what is "
        "no regular file, or beyond a limit, is unknown.",
    ),
    Promise(
        "witness-apart",
        "A look informs alone: it suppresses no command, and changes nothing of the agent's run.",
        "Sightings of files reach views only, those of the working tree a remark at most; nothing of a look is added "
        "to messages, actions, counts or trajectories.",
    ),
    Promise(
        "working-tree",
        "A remark that no file of the working tree has changed is true of every byte of it, caches aside.",
        "It needs equal digests behind both results and all programs of unknown effects in between; what was changed "
        "since the first look is compared by its contents; a job left running, or a look beyond a limit, ends it.",
    ),
    Promise(
        "witness-journal",
        "A journal rebuilds every state view byte for byte, and has nothing of what only a look has read.",
        "A sighting is an event with line numbers, verdicts and digests, whose key is never stored.",
    ),
)


BUGS = (
    Promise(
        "bug-1",
        "Elsewhere: a stub replaces a file whose text has left the context "
        "(lean-ctx#808, hermes#90949, pi-mono-extensions#4, agenc-core#425, dirge#396, nanobot#5775).",
        "Each request is searched for what it still shows; what was compacted, blanked or cut is shown in full again.",
    ),
    Promise(
        "bug-2",
        "Elsewhere: a stub says that a file is unchanged although it has changed "
        "(claude-code#60684, claude-code#69876, hermes#53812, lean-ctx#1400, cline#9836).",
        "Outside a sealed place the command runs, and only bytes that came back equal are referred to; time stamps "
        "prove nothing.",
    ),
    Promise(
        "bug-3",
        "Elsewhere: a stub points into another session or another agent's context (lean-ctx#1004, nanobot#3571).",
        "A ledger belongs to one run, an observation to one thread; a fork knows only its own history.",
    ),
)
"""The bugs that they share."""

PITFALLS = (
    Promise(
        "pitfall-1",
        "Tests, formatters, generators, installs and git change files that no counter saw (cline#9836).",
        "Every command that may write ends what was proven before it, whether the write was recognised or not.",
    ),
    Promise(
        "pitfall-2",
        "Background jobs, watchers, other agents and people write between two commands.",
        "Only a sealed place proves anything before running; a job left behind or a timeout ends the seal for good.",
    ),
    Promise(
        "pitfall-3",
        "A time stamp is too coarse, or is taken after the bytes that it vouches for (hermes#53812, hermes#62591).",
        "No time stamp is ever asked; outputs are compared byte by byte.",
    ),
    Promise(
        "pitfall-4",
        "A time stamp goes backwards or is put back by a checkout, `cp -p`, rsync or tar (wave-agent#1483).",
        "No time stamp is ever asked; outputs are compared byte by byte.",
    ),
    Promise(
        "pitfall-5",
        "One file has many names: links, hard links, bind mounts; a host's file is not the container's.",
        "A write under one name makes what was seen under every name suspect; a look from outside justifies no reuse.",
    ),
    Promise(
        "pitfall-6",
        "A file that was not there is an input too: globs, listings and searches change when files appear.",
        "A listing or a search is reused only if nothing that may write has run at all; else it runs and is compared.",
    ),
    Promise(
        "pitfall-7",
        "Substitutions, variables, globs, loops, functions and wrappers hide what a command reads or writes.",
        "What is not resolved to the last word is never predicted; it runs, and may be compared afterwards.",
    ),
    Promise(
        "pitfall-8",
        "The same words mean another file where a shell keeps its folder and its variables.",
        "The folder belongs to the key; where it is unknown, relative paths name no file.",
    ),
    Promise(
        "pitfall-9",
        "Clocks, random numbers, networks and process tables answer differently each time.",
        "Only programs known to read files may be reused; durations and addresses are set aside for nudges, "
        "never for reuse.",
    ),
    Promise(
        "pitfall-10",
        "An output is not the file: it is truncated, filtered, coloured, numbered, re-encoded.",
        "Ranges come from the lines that came back; a cut leaves a hole, and a search is no read.",
    ),
    Promise(
        "pitfall-11",
        "What was shown is hidden again by compaction, masking, sub-agents or a resumed run.",
        "Visibility is read off the request; seeing a part again does not bring back the whole.",
    ),
    Promise(
        "pitfall-12",
        "Stubs make models loop, dodge them, or write them into files (hermes#16382, claude-code#53578, dirge#396, "
        "lean-ctx#841).",
        "After a reference the same content is shown in full for three calls; its words say whether the command ran, "
        "and cannot pass for file content.",
    ),
    Promise(
        "pitfall-13",
        "Rules that demand a read before an edit lock agents out (qwen-code#3945, qwen-code#4239).",
        "Ledger blocks nothing: a read it has not shown runs, an edit always runs.",
    ),
    Promise(
        "pitfall-14",
        "Text added at every turn breaks prompt caches, and makes equal outputs differ (stella#440, DCP#410).",
        "The view follows the last cache mark, is never stored, and has no clock in it.",
    ),
    Promise(
        "pitfall-15",
        "Rewriting older copies throws away the cached prefix.",
        "Only a new result is ever shortened; earlier messages stay as they were, byte for byte, "
        "unless what one refers to has left the request.",
    ),
    Promise(
        "pitfall-16",
        "Warnings about loops hit flaky tests, polling, paging and checks after a revert "
        "(qwen-code#9733, Roo-Code#9502).",
        "A nudge needs the same command, nothing that may have written in between, and an equal result.",
    ),
    Promise(
        "pitfall-17",
        "Savings per output are eaten by more turns and by what the tool itself adds.",
        "What a run was billed is reported, with the view's own size beside what was saved.",
    ),
    Promise(
        "pitfall-18",
        "Stores of raw outputs keep secrets.",
        "Journals are private (0600) and redacted by pattern; "
        "edits keep no output but the few words by which a reference names its target.",
    ),
    Promise(
        "pitfall-19",
        "Parallel calls of one turn see one state, and not each other's results.",
        "No call is left out because of another of its turn, and behind a possible write of its turn every call runs.",
    ),
    Promise(
        "pitfall-20",
        "A failure is passed off as success, or a timeout as a result.",
        "Exit status and error output are part of a result; a reference to a failure names its status, and what was "
        "killed or timed out is never referred to.",
    ),
)
"""The pitfalls, in the order in which they are numbered."""
