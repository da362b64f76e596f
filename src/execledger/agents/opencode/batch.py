"""opencode over the tasks of an evaluation: ``opencode run`` once for each task, with a database of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from execledger.agents.call_log import text_field
from execledger.agents.evaluation import Problem
from execledger.agents.headless import FailedEnd, HeadlessRunner, TaskRun, named_error
from execledger.agents.work_folder import Contained, Home
from execledger.runs.recording import Run

HOMES = (
    Home("XDG_CONFIG_HOME", ".config", "opencode"),
    Home("XDG_DATA_HOME", ".local/share", "opencode"),
    Home("XDG_CACHE_HOME", ".cache", "opencode"),
)
"""Where the user's opencode keeps its settings, its logins, and the packages that it has fetched."""


class _Info(Struct, frozen=True):
    parent: str | None = msgspec.field(default=None, name="parentID")


class _Session(Struct, frozen=True):
    info: _Info


class OpencodeRunner(HeadlessRunner, frozen=True, kw_only=True):
    """Runs ``opencode run``."""

    def variables(self, run: TaskRun) -> Mapping[str, str]:
        """The database of this run, which no other opencode uses; no update in the middle of an evaluation."""
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DB": run.filled("{own}/opencode.db")}

    def is_main(self, data: bytes) -> bool:
        """The session of a sub-agent names the one that it belongs to."""
        return msgspec.json.decode(data, type=_Session).info.parent is None

    def model_problems(self, model: str) -> Sequence[Problem]:
        """A name that certainly is none: what precedes the slash is the provider."""
        if not model or all(model.partition("/")):
            return ()
        return (Problem(f"the model `{model}`: expected PROVIDER/MODEL", "`opencode models` lists them"),)

    def error(self, run: TaskRun, recorded: Run) -> FailedEnd | None:
        """The error behind which nothing else was reported, with its name."""
        last = (run.events() or [{}])[-1]
        if last.get("type") != "error":
            return None
        name, details = text_field(last, "error", "name"), self.error_in(last)
        return self.classified(named_error(name, details))


RUNNER = OpencodeRunner(
    access="execledger.agents.opencode.access",
    words=("run", "--format", "json", "--auto", "--"),
    api_errors=r"\A(?:AI_)?(?:API|Provider|ContextOverflow|MessageOutputLength)\w*Error\b|\bAPI error:",
    effort="--variant",
    # The sessions of sub-agents are in the same database; a part of it may be in its log.
    records=("opencode.db*",),
    contained=Contained(
        homes=HOMES,
        passed=(
            *("OPENCODE_CONFIG_CONTENT", "OPENCODE_DB", "OPENCODE_DISABLE_AUTOUPDATE"),
            *("OPENCODE_DISABLE_MODELS_FETCH", "NO_PROXY", "no_proxy"),
        ),
    ),
)
"""The runner of opencode."""
