"""Whether mini-swe-agent's commands run in a container of its own that shares no files with anybody.

Only the agent's Docker environment is recognised, by its whole configuration, and only with options that are known to
share nothing: what is not known is not sealed. Names alone prove nothing, since the variables that tell us are those of
the templates, and whoever starts the agent can add to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

_FIELDS = frozenset("image executable run_args container_timeout pull_timeout forward_env interpreter".split())
"""What the Docker environment's configuration has, since version 2.0.0, and no other environment's has all of."""
_EXECUTABLES = frozenset({"docker", "podman"})
"""Programs whose options are those below."""
_ALONE = frozenset("--rm --init --interactive --tty --detach -i -t -d -it -ti -dit --read-only".split())
"""Options that take no value."""
_VALUED = frozenset(
    "-e --env -u --user -w --workdir -h --hostname -l --label -m --memory --memory-swap --cpus --cpuset-cpus "
    "--cpu-shares --shm-size --pids-limit --ulimit --gpus --network --net --dns --add-host --cap-drop --name "
    "--entrypoint --platform --pull --stop-timeout".split()
)
"""Options that take one, behind ``=`` or as the next word."""


def sealed(variables: Mapping[str, Any]) -> bool:
    """Commands run in a container of the agent's own, by what the template variables or a trajectory tell of it."""
    # The local environment's variables are those of the process, whatever else stands among them.
    if not variables.keys() >= _FIELDS or "PATH" in variables or not variables["image"]:
        return False
    arguments = variables["run_args"]
    known = PurePath(str(variables["executable"])).name in _EXECUTABLES
    return known and isinstance(arguments, list) and shares_nothing(arguments)


def shares_nothing(arguments: Sequence[object]) -> bool:
    """Every word is one of the options above, or the value of one."""
    words = iter(arguments)
    for word in words:
        name, equals, _ = str(word).partition("=")
        if name in _VALUED:
            if not equals and next(words, None) is None:
                return False
        elif name not in _ALONE:
            return False
    return True
