"""opencode over the tasks of an evaluation: ``opencode run`` once for each task, with a database of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from execledger.agents.headless import HeadlessRunner, TaskRun
from execledger.agents.work_folder import Contained, Home

HOMES = (
    Home("XDG_CONFIG_HOME", ".config", "opencode"),
    Home("XDG_DATA_HOME", ".local/share", "opencode"),
    Home("XDG_CACHE_HOME", ".cache", "opencode"),
)
"""Where the user's opencode keeps its settings, its logins, and the packages that it has fetched."""
OWN = {"OPENCODE_DISABLE_AUTOUPDATE": "1"}
"""No update in the middle of an evaluation."""


class _Info(msgspec.Struct, frozen=True, rename="camel"):
    parent_id: str | None = msgspec.field(default=None, name="parentID")


class _Session(msgspec.Struct, frozen=True):
    info: _Info


class OpencodeRunner(HeadlessRunner):
    """Runs ``opencode run``."""

    contained = Contained(
        homes=HOMES,
        passed=("OPENCODE_CONFIG_CONTENT", "OPENCODE_DB", *OWN, "NO_PROXY", "no_proxy"),
    )
    takes_effort = True

    def words(self, run: TaskRun) -> Sequence[str]:
        """The words of the command line behind the program."""
        setup = run.setup
        return [
            *("run", "--format", "json", "--auto"),
            *(("--model", setup.model) if setup.model else ()),
            *(("--variant", setup.reasoning_effort) if setup.reasoning_effort else ()),
            *("--", run.prompt),
        ]

    def variables(self, run: TaskRun) -> Mapping[str, str]:
        """The database of this run, which no other opencode uses."""
        return {**OWN, "OPENCODE_DB": str(run.place.own / "opencode.db")}

    def records(self, run: TaskRun) -> Iterator[tuple[Path, str]]:
        """That database with its log; it holds the sessions of sub-agents, too."""
        yield run.place.own, "opencode.db*"

    def is_main(self, run: TaskRun, name: str, data: bytes) -> bool:
        """The session of a sub-agent names the one that it belongs to."""
        return msgspec.json.decode(data, type=_Session).info.parent_id is None


RUNNER = OpencodeRunner()
"""The runner of opencode."""
