"""The name that configurations of mini-swe-agent give to the wrapped model.

    mini -c mini.yaml -c model.model_class=execledger.agents.mini_swe_agent.LedgerModel

The model itself is ``execledger.agents.mini.model``.
"""

from execledger.agents.mini.model import LedgerModel

__all__ = ["LedgerModel"]
