"""The table of wire dialects, one module each, behind the interface of ``proxy/dialect.py``."""

from __future__ import annotations

from execledger.proxy.dialect import Dialect
from execledger.proxy.dialects.chat import Chat
from execledger.proxy.dialects.gemini import Gemini
from execledger.proxy.dialects.messages import Messages
from execledger.proxy.dialects.responses import Responses

DIALECTS: tuple[Dialect, ...] = (Responses(), Messages(), Chat(), Gemini())
"""Every dialect; a request's is the first that has the ending of its path."""
