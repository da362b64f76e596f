"""The page's own files, as they lie in the package."""

from __future__ import annotations

from importlib import resources

KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
"""The kinds of files that a page has; anything else that lies there is none of it."""
INDEX = "index.html"
"""The page itself."""
LOCKED = "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
"""What every content security policy of it ends with: no text becomes markup or a script, whatever code tries it."""


def page_files() -> dict[str, bytes]:
    """Every file of the page, by its name. Requests choose among these, and name no path."""
    folder = resources.files("execledger.viewer").joinpath("page")
    files = folder.iterdir() if folder.is_dir() else ()
    return {file.name: file.read_bytes() for file in files if file.is_file() and kind_of(file.name)}


def kind_of(name: str) -> str:
    """What a browser is told that a file is; "" if it is no part of a page."""
    return next((kind for ending, kind in KINDS.items() if name.endswith(ending)), "")
