"""Optional extras: the modules of each, and the command that installs one from the source of this copy.

The package is on no index, so a hint names the source that this copy was installed from.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from execledger.errors import LedgerError

NAME = "execledger"
EXTRAS = {
    "eval": ("duckdb", "matplotlib", "numpy", "scipy"),
    "proxy": ("aiohttp", "zstandard"),
    "ray": ("ray",),
    "swebench": ("swebench",),
    "symbols": ("tree_sitter_javascript", "tree_sitter_go", "tree_sitter_rust", "tree_sitter_java"),
    "view": ("aiohttp",),
}
"""The modules that each extra installs; those of agents are in their records."""


def missing(extra: str, modules: Sequence[str] = ()) -> list[str]:
    """The modules of an extra, by default those of ``EXTRAS``, that are not installed; nothing is imported."""
    return [module for module in modules or EXTRAS[extra] if not _present(module)]


def _present(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


@contextmanager
def needing(extra: str, modules: Sequence[str] = ()) -> Iterator[None]:
    """A context for imports of an extra's modules; the error for a missing one says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in (modules or EXTRAS[extra]):
            raise
        raise LedgerError(
            f"{module}: not installed, it comes with the extra `{extra}`", hint=install_command(extra)
        ) from error


def install_command(*extras: str) -> str:
    """The command that installs these extras."""
    source, editable = installed_from()
    wanted = f"[{','.join(extras)}]"
    if source is None:
        return f"in a clone of the repository: pip install -e '.{wanted}'"
    # Always quoted, since a shell may take the brackets for a pattern.
    quoted = shlex.quote(f"{source}{wanted}")
    return f"pip install -e {quoted}" if editable else f"pip install {quoted}"


def requirement() -> str:
    """The requirement with which an installer installs this package into another environment."""
    source, _ = installed_from()
    return "PATH-OF-A-CLONE" if source is None else shlex.quote(source)


def installed_from() -> tuple[str | None, bool]:
    """The folder or file that this copy was installed from, if it still exists, and whether it is editable."""
    clone = Path(__file__).resolve().parents[2]
    if (clone / "src" / NAME / Path(__file__).name).is_file() and (clone / "pyproject.toml").is_file():
        return str(clone), True
    # Slow to import, and only needed for a hint.
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        told = json.loads(distribution(NAME).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return None, False
    url = urlsplit(told.get("url", ""))
    path = url2pathname(url.path)
    return (path, False) if url.scheme == "file" and Path(path).exists() else (None, False)
