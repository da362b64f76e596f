"""Records the demo's run anew: ``python -m tests.support.record_demo FILE``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from execledger.demo.repository import COMMANDS, TASK, make_repository
from tests.support.recorder import record_run


def record() -> bytes:
    """The demo's run; its folder is made for it and nothing else writes there, so it counts as a container."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "repo"
        root.mkdir()
        make_repository(root)
        return record_run(TASK, COMMANDS, root, "/repo", container=True)


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(record())
