"""The page's own files, and its ES modules bundled into one script for a page without a server.

Each module becomes a function that returns what it exports, in dependency order. Only the plain forms of import and
export that the page uses are supported; any other form raises ``BadModule``, which names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import resources

KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
"""Content types by file name extension; other files are not part of the page."""
INDEX = "index.html"
"""The page itself."""
LOCKED = "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
"""The end of every content security policy of the page: trusted types keep text from becoming markup or scripts."""


def page_files() -> dict[str, bytes]:
    """Every file of the page, by name; requests are matched against these names."""
    folder = resources.files("execledger.viewer").joinpath("page")
    files = folder.iterdir() if folder.is_dir() else ()
    return {file.name: file.read_bytes() for file in files if file.is_file() and kind_of(file.name)}


def kind_of(name: str) -> str:
    """The content type of a file; "" if it is not part of the page."""
    return next((kind for ending, kind in KINDS.items() if name.endswith(ending)), "")


ENTRY = "main.js"
"""The entry module."""
IMPORT = re.compile(
    r"""^import\s+(?:(?P<names>\{[^}]*\})\s+from\s+|\*\s+as\s+(?P<all>\w+)\s+from\s+)?["']\./(?P<file>[\w-]+\.js)["'];?$""",
    re.MULTILINE,
)
"""An import of names, of a whole module, or for its effects."""
DECLARED = re.compile(r"^export\s+(?=(?:async\s+function|function|class|const)\b\W*(?P<name>[\w$]+))", re.MULTILINE)
"""An export of a declaration."""
LISTED = re.compile(r"^export\s+\{(?P<names>[^}]*)\};?$", re.MULTILINE)
"""An export of a list of names."""
OTHER = re.compile(r"^(?:import|export)\b.*|</script|<!--", re.MULTILINE)
"""Import or export forms that are left, and text that can't be part of an inline script."""


class BadModule(Exception):
    """A module of the page is written in a way that can't be bundled."""


def bundled(files: Mapping[str, bytes], entry: str = ENTRY) -> str:
    """One script with the module ``entry`` and everything that it imports."""
    order: dict[str, str] = {}
    _collect(files, entry, order, ())
    return "\n".join(order.values())


def _collect(files: Mapping[str, bytes], name: str, order: dict[str, str], above: tuple[str, ...]) -> None:
    """Add a module after those that it imports."""
    if name in order:
        return
    if name in above or name not in files:
        raise BadModule(f"{' imports '.join((*above, name))}: {'a circle' if name in above else 'no such module'}")
    text = files[name].decode()
    for found in IMPORT.finditer(text):
        _collect(files, found["file"], order, (*above, name))
    order[name] = _as_function(name, text)


def _as_function(name: str, text: str) -> str:
    exported = [*(found["name"] for found in DECLARED.finditer(text)), *_listed(text)]
    body = LISTED.sub("", DECLARED.sub("", IMPORT.sub(_imported, text)))
    other = OTHER.search(body)
    if other is not None:
        raise BadModule(f"{name}: found {other[0]!r}, which can't be bundled")
    return f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();"


def _imported(found: re.Match[str]) -> str:
    """An import as a constant."""
    module = _variable(found["file"])
    if found["all"]:
        return f"const {found['all']} = {module};"
    names = re.sub(r"\s+as\s+", ": ", found["names"] or "")
    return f"const {names} = {module};" if names else ""


def _listed(text: str) -> Iterator[str]:
    """The names in lists of exports, as fields of an object."""
    for found in LISTED.finditer(text):
        for one in filter(None, map(str.strip, found["names"].split(","))):
            inner, _, outer = one.partition(" as ")
            yield f"{outer.strip()}: {inner.strip()}" if outer else one


def _variable(name: str) -> str:
    """The variable that holds a module; no name in the page begins with ``$$``."""
    return "$$" + re.sub(r"\W", "_", name.removesuffix(".js"))
