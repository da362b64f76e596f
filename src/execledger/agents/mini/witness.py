"""The witness of mini-swe-agent's files: which environment a run has, and how its files are reached.

The agent never hands its environment to a model. The launcher therefore notes what the runner's own ``get_environment``
makes, one note per thread, because the batch runner starts an agent in each of its threads.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from typing import Any

from execledger.core.witness_limits import PROBE_SECONDS
from execledger.session.probe import ProbeWitness
from execledger.session.witness import LocalWitness, Witness

LOCAL_CLASS = ("minisweagent.environments.local", "LocalEnvironment")
"""The class whose commands run on this machine, with the files of this machine."""
RUNNER_MODULES = "minisweagent.run."
"""The package of the agent's runners."""
ENVIRONMENT_MODULES = "minisweagent.environments."
"""The package of the agent's own environments."""
_THREAD = threading.local()


def note_environments() -> None:
    """Note every environment that the agent's runners make from now on, for the thread that makes it.

    One runner may use another's function, so that all that are loaded are wrapped.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith(RUNNER_MODULES) and callable(getattr(module, "get_environment", None)):
            _wrap(module)


def _wrap(runner: Any) -> None:
    make = runner.get_environment

    @functools.wraps(make)
    def noting(*arguments: Any, **options: Any) -> Any:
        environment = make(*arguments, **options)
        try:
            # The agent removes its container when the environment is collected: nothing here may keep it.
            _THREAD.made = [*getattr(_THREAD, "made", ()), weakref.ref(environment)]
        except Exception:
            _THREAD.made = [None, None]
        return environment

    runner.get_environment = noting


def noted_environment() -> Any:
    """The environment that this thread has made since the last call; None if it made none, several, or it is gone."""
    made = getattr(_THREAD, "made", [])
    _THREAD.made = []
    return made[0]() if len(made) == 1 else None


def witness_of(environment: Any, *, named: bool = False) -> Witness | None:
    """The witness for the files of an environment; None where they can't be reached.

    Environments of the agent's own are looked at, and others if their user has ``named`` them for it.
    """
    kind = type(environment)
    if (kind.__module__, kind.__qualname__) == LOCAL_CLASS:
        return LocalWitness()
    known = kind.__module__.startswith(ENVIRONMENT_MODULES) or named
    return ProbeWitness(_Executing(environment)) if environment is not None and known else None


class _Executing:
    """Runs commands in an environment, as long as the agent has it."""

    def __init__(self, environment: Any) -> None:
        self._environment = weakref.ref(environment)

    def __call__(self, command: str) -> str:
        """The output of a command that ended well."""
        environment = self._environment()
        if environment is None:
            raise ValueError("the environment is gone")
        done = environment.execute({"command": command}, timeout=PROBE_SECONDS)
        if done.get("returncode") != 0:
            raise ValueError("the command failed")
        return str(done.get("output"))
