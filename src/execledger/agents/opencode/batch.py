"""opencode over the tasks of an evaluation: ``opencode run`` once for each task, with a database of its own."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from execledger.agents.headless import HeadlessRunner, TaskRun
from execledger.agents.work_folder import Contained, Home

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


RUNNER = OpencodeRunner(
    words=("run", "--format", "json", "--auto", "--"),
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
