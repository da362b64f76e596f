"""The table of wire dialects, one module each, behind the interface of ``proxy/dialect.py``."""

from __future__ import annotations

from execledger.proxy.dialect import Dialect
from execledger.proxy.dialects.responses import Responses

DIALECTS: tuple[Dialect, ...] = (Responses(),)
"""Every dialect; a request's is the first that has the ending of its path."""
