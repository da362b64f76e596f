"""mini-swe-agent's calls and results where another program runs the agent: its only tool is ``bash``.

Every command starts in the same directory. Results have the text that the agent's template rendered: an exit status and
the output, between tags or in a JSON object.
"""

from __future__ import annotations

import json
import re

from execledger.agents.mini.messages import observed
from execledger.agents.table_adapter import AgentClient, TableAdapter, arguments_of
from execledger.agents.tool_table import AgentTool, Tools
from execledger.session.adapter import ToolCall
from execledger.vocabulary.actions import Observation

SHELL = "bash"
"""The tool."""
TOOLS = Tools(table={SHELL: AgentTool(kind="run", command="command")})
"""The tools."""
_JSON_OUTPUT = re.compile(r'(\s*\{\s*"returncode": -?\d+,\s*"output": )"(?:[^"\\]|\\.)*"')
_TAGGED_OUTPUT = re.compile(r"(.*?<output>\n).*(?=</output>)", re.DOTALL)
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"}
"""How the agent's templates write these characters in JSON."""


class MiniAdapter(TableAdapter):
    """The adapter of mini-swe-agent."""

    def observation_of(self, call: ToolCall, parts: tuple[str, ...], *, is_error: bool = False) -> Observation:
        """The observation that a rendered result holds; of any other text nothing is claimed."""
        text = "\n".join(parts)
        command = self.tools.command_of(call.name, arguments_of(call))
        seen = observed(text, command or "") if len(parts) == 1 and not is_error else None
        return Observation(text, truncated=True, failed=is_error) if seen is None else seen

    def referenced(self, call: ToolCall, parts: tuple[str, ...], reference: str) -> tuple[str, ...]:
        """The result with a reference in place of the output, as the agent's template would render it."""
        text = "\n".join(parts)
        if within := _JSON_OUTPUT.match(text):
            return (within[1] + _as_json(reference) + text[within.end() :],)
        if within := _TAGGED_OUTPUT.match(text):
            return (f"{within[1]}{reference}\n{text[within.end() :]}",)
        return (reference,)

    def remarked(self, call: ToolCall, parts: tuple[str, ...], remark: str) -> tuple[str, ...]:
        """The result with a remark behind it."""
        return ("\n".join((*parts, remark)),)


def _as_json(text: str) -> str:
    """A text as the agent's templates write it."""
    return re.sub("[<>&']", lambda found: _ESCAPED[found[0]], json.dumps(text))


ADAPTER = MiniAdapter(AgentClient(name="mini-swe-agent", tools=TOOLS))
"""The adapter."""
