"""Prompt caches kept apart: a run of an evaluation should not find in the provider's cache what another has sent.

A run of mini-swe-agent begins its system prompt with a salt, put there by the agent's own configuration in every arm,
base included. Salts differ between runs and have the same number of digits, which tokenizers cut into the same number
of tokens. Codex is given none: it sends a ``prompt_cache_key`` of its own with every session, and providers that follow
that key keep the sessions apart; whether one does is not known here.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from execledger.agents.programs import interpreter_of
from execledger.errors import LedgerError
from execledger.evaluate.plan import Plan

DIGITS = 18
"""Digits of a salt."""
_SHARED = 'cache = "shared" in the plan does without a salt'
_ASK = """
import json, sys
from minisweagent.config import get_config_from_spec
found = None
for spec in sys.argv[1:]:
    found = (get_config_from_spec(spec).get("agent") or {}).get("system_template", found)
print(json.dumps(found))
"""
"""Asked of the Python that mini-swe-agent runs with: the system template that its configuration gives."""


class Salted(Struct, frozen=True, kw_only=True):
    """What the system prompts of the runs of an evaluation begin with."""

    study: str
    """What was drawn when the evaluation began."""
    template: str
    """The system template of mini-swe-agent, as it is configured."""

    def salt(self, arm: str, instance: str, trial: int) -> str:
        """The salt of one run."""
        named = json.dumps([self.study, arm, instance, trial]).encode()
        return f"{int(hashlib.sha256(named).hexdigest(), 16) % 10**DIGITS:0{DIGITS}}"

    def system_template(self, salts: Mapping[str, str]) -> str:
        """The template that begins with a salt; ``salts`` has that of each task, by the task's text."""
        several = ", ".join(f"{_literal(task)}: {_literal(salt)}" for task, salt in salts.items())
        salt = next(iter(salts.values())) if len(salts) == 1 else f"{{{{ {{{several}}}[task] }}}}"
        return f"Run {salt}.\n\n{self.template}"


def _literal(text: str) -> str:
    """A text as a literal of a Jinja expression."""
    return '"' + text.encode("unicode_escape").decode().replace('"', r"\"") + '"'


def mini_template(plan: Plan, program: str, cwd: Path) -> str:
    """The system template that mini-swe-agent's configuration gives under a plan; the agent itself is asked."""
    own = plan.dotted().get("agent.system_template")
    if isinstance(own, str):
        return own
    command = [interpreter_of(program), "-I", "-c", _ASK, *plan.config]
    silent = {**os.environ, "MSWEA_SILENT_STARTUP": "1"}
    asked = subprocess.run(
        command, cwd=cwd, env=silent, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    try:
        found = json.loads(asked.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        said = asked.stderr.strip().splitlines()[-1:] or ["nothing"]
        raise LedgerError(f"{program}: can't be asked for its system prompt: {said[0]}", hint=_SHARED) from None
    if not isinstance(found, str):
        named = ", ".join(plan.config)
        raise LedgerError(f"{named}: found no `agent.system_template` to put a salt before", hint=_SHARED)
    return found
