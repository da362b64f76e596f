"""A pytest plugin that puts Ledger under every mini-swe-agent of the process: ``-p wrap_mini``.

The options come from ``EXECLEDGER_PLUGIN``, a JSON object such as ``{"shadow": true}``. It lets the agent's own test
suite run with and without Ledger, to be compared test by test.
"""

from __future__ import annotations

import json
import os
from typing import Any


def pytest_configure() -> None:
    """Wrap the model of every agent that is made from now on."""
    from minisweagent.agents.default import DefaultAgent

    from execledger.agents.mini.model import LedgerModel

    options = json.loads(os.environ.get("EXECLEDGER_PLUGIN", "{}"))
    original = DefaultAgent.__init__

    def wrapping(self: Any, model: Any, *args: Any, **kwargs: Any) -> None:
        original(self, LedgerModel.wrap(model, **options), *args, **kwargs)

    DefaultAgent.__init__ = wrapping
