"""Files of settings: the user's own, and one in a project.

The user's file is ``execledger/config.toml`` in the folder for configurations. A project's is ``.execledger.toml``, in
the working directory or above it, up to the root of the repository. Whoever wrote a repository chose what is in its
file, and not the user: it can make Ledger more cautious or switch it off, and nothing else.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace

from execledger.cli.switches import Switches
from execledger.core.policy import Cadence, Preset, WitnessSetting

PROJECT_FILE = ".execledger.toml"
"""The name of a project's file."""
MAX_BYTES = 65_536
"""The size above which a file is not read."""
KINDS: Mapping[str, Callable[[Any], bool]] = {
    "enabled": lambda value: isinstance(value, bool),
    "inform": lambda value: isinstance(value, bool),
    "govern": lambda value: isinstance(value, bool),
    "shadow": lambda value: isinstance(value, bool),
    "preset": lambda value: value in [one.value for one in Preset],
    "witness": lambda value: value in [one.value for one in WitnessSetting],
    "cadence": lambda value: value in [one.value for one in Cadence],
    "journal": lambda value: isinstance(value, str) and value != "",
}
"""The keys of the user's file, with what their values must be."""
CAUTIOUS: Mapping[str, object] = {
    "enabled": False,
    "inform": False,
    "govern": False,
    "shadow": True,
    "preset": Preset.VERIFIED.value,
    "witness": WitnessSetting.OFF.value,
}
"""The values that a project may choose."""
Tell: TypeAlias = Callable[[str], None]
"""Shows a message to the user."""


def user_file(environment: Mapping[str, str]) -> Path:
    """The user's file."""
    home = Path(environment.get("HOME") or os.path.expanduser("~"))
    chosen = environment.get("XDG_CONFIG_HOME", "")
    return Path(chosen if os.path.isabs(chosen) else home / ".config") / "execledger" / "config.toml"


def project_file(folder: Path) -> Path | None:
    """The project's file for a working directory; None if it has none.

    Outside of a repository only the directory itself is looked at: a folder above may be anybody's.
    """
    above = [folder, *folder.parents]
    root = next((at for at, one in enumerate(above) if os.path.lexists(one / ".git")), 0)
    return next((one / PROJECT_FILE for one in above[: root + 1] if os.path.lexists(one / PROJECT_FILE)), None)


def with_files(
    switches: Switches, folder: Path | None, environment: Mapping[str, str], tell: Tell
) -> tuple[Switches, Path | None]:
    """The switches of a command line, with those of both files where it says nothing, and which file disables Ledger.

    Without a ``folder`` there is no project. A file that can't be understood switches Ledger off, which is the safe
    reading.
    """
    own, path = user_file(environment), project_file(folder) if folder is not None else None
    settings = _known(_read(own, tell), own, tell)
    projects = {} if path is None else _cautious(_read(path, tell), path, tell)
    disabling = [file for file, found in ((own, settings), (path, projects)) if not found.get("enabled", True)]
    # Of two values a project's counts: it is the cautious one.
    return _merged(switches, settings | projects), next(iter(disabling), None)


def _known(settings: dict[str, Any] | None, path: Path, tell: Tell) -> dict[str, Any]:
    """The settings of the user that this version has."""
    if settings is None:
        return {"enabled": False}
    for name in settings.keys() - KINDS.keys():
        tell(f"{path}: found {name[:40]!r}, which is no setting, it is left out")
    return {name: value for name, value in settings.items() if name in KINDS}


def _cautious(settings: dict[str, Any] | None, path: Path, tell: Tell) -> dict[str, Any]:
    """The settings of a project that count."""
    if settings is None:
        return {"enabled": False}
    for name in settings.keys() - CAUTIOUS.keys():
        tell(f"{path}: a project does not choose {name[:40]!r}, it is left out")
    for name in settings.keys() & CAUTIOUS.keys():
        if settings[name] != CAUTIOUS[name]:
            tell(f"{path}: a project may only set `{name}` to {CAUTIOUS[name]!r}, it is left out")
    return {name: value for name, value in settings.items() if name in CAUTIOUS and value == CAUTIOUS[name]}


def _read(path: Path, tell: Tell) -> dict[str, Any] | None:
    """The settings in a file, {} if it does not exist; None if they can't be understood, which is reported."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ValueError("is no regular file")
            text = file.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise ValueError(f"is longer than {MAX_BYTES} bytes")
        settings = tomllib.loads(text.decode())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        tell(f"{path}: can't be read, Ledger is off: {str(error)[:200]}")
        return None
    for complaint in _complaints(settings):
        tell(f"{path}: {complaint}, Ledger is off")
        return None
    return settings


def _complaints(settings: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the values of known keys."""
    for name, fits in KINDS.items():
        if name in settings and not fits(settings[name]):
            yield f"`{name}` is {str(settings[name])[:40]!r}, which it can't be"


def _merged(switches: Switches, settings: Mapping[str, Any]) -> Switches:
    """The switches, with settings where the command line says nothing."""
    return replace(
        switches,
        preset=switches.preset or settings.get("preset"),
        no_inform=switches.no_inform or not settings.get("inform", True),
        no_govern=switches.no_govern or not settings.get("govern", True),
        shadow=switches.shadow or settings.get("shadow", False),
        witness=switches.witness or settings.get("witness"),
        cadence=switches.cadence or settings.get("cadence"),
        journal=switches.journal or settings.get("journal"),
    )
