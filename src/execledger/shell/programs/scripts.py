"""The files that a script's text names for writing, found without running it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from execledger.shell.programs.python_code import Names, written
from execledger.shell.python_text import parse_python

MAX_TEXT = 200_000
"""Longer texts are not read."""

LANGUAGES = {".py": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".ts": "javascript",
             ".rb": "ruby", ".php": "php", ".pl": "perl"}  # fmt: skip
"""Languages by a script's extension."""


def language_of(path: str) -> str:
    """The language of the script at ``path``; "" if its name does not say."""
    return LANGUAGES.get(path[path.rfind(".") :], "") if "." in path else ""


@lru_cache(maxsize=64)
def written_by(text: str, language: str) -> tuple[str, ...]:
    """The files that ``text`` names for writing, in order, each once; none where nothing is certain."""
    find = FINDERS.get(language)
    if find is None or len(text) > MAX_TEXT:
        return ()
    return tuple(dict.fromkeys(path for path in find(text) if 0 < len(path) < 1000 and path.isprintable()))


WRITING = re.compile(
    r"\b(?:open|write_text|write_bytes|touch|unlink|mkdir|rmdir|remove\w*|makedirs|renames?|copy\w*|move|rmtree|truncate"
    r"|symlink|link|symlink_to|hardlink_to)\s*\(|\bfileinput\b|\bos\.replace\b|\.replace\([^(),]*\)"
    r"|\bfrom (?:os|io|shutil|pathlib|codecs)\b(?:(?!\bfrom ).)* as "
)
"""Without one of these words a Python script names no file for writing."""


WORDS = tuple(
    "open write_ touch unlink mkdir rmdir remove makedirs rename copy move rmtree truncate link fileinput"
    " replace".split()
)
"""What the search below needs to find anything."""


def _python(text: str) -> Iterable[str]:
    """By the syntax tree; by patterns where it does not parse."""
    # Looking for plain words first spares most scripts the search, which is slower.
    if not any(word in text for word in WORDS) or not WRITING.search(text):
        return ()
    tree = parse_python(text)
    return _by_patterns(PYTHON)(text) if tree is None else list(written(Names(tree)))


STRING = r"""(?:[rub]{0,2}(?P<quote>['"`])(?P<path>[^'"`\n\\]+)(?P=quote)|(?P<name>[A-Za-z_$][\w$]*))"""
"""A quoted text, or the name of a variable that holds one."""
ARGUMENT = r"[^,()]{1,300}"
"""What stands before it in a call; a longer one is not looked at, so that looking takes no time."""

ASSIGNMENT = re.compile(
    r"""(?m)^[ \t]*(?:const |let |var |my )?\$?([A-Za-z_]\w*)\s*=\s*"""
    r"""(?:(?:pathlib\.)?Path\()?(['"`])([^'"`\n\\]+)\2[) \t]*+;?[ \t]*+$"""
)
"""A variable that is given a plain text."""

PYTHON = (
    re.compile(rf"""\bopen\(\s*{STRING}\s*,\s*(?:mode\s*=\s*)?['"][^'"]*[wax+]"""),
    re.compile(rf"""\bPath\(\s*{STRING}\s*\)\.(?:write_text|write_bytes|touch|unlink)\("""),
    re.compile(rf"""(?<![\w.)]){STRING}\.(?:write_text|write_bytes|touch|unlink)\("""),
    re.compile(rf"""\bos\.(?:remove|unlink|makedirs|mkdir)\(\s*{STRING}"""),
)
FS = r"\b(?:fs|fsp|fse|promises|fsPromises)\.(?:promises\.)?"
JAVASCRIPT = (
    re.compile(
        rf"(?:{FS}|\b(?=\w+Sync\())(?:writeFile|appendFile|outputFile|unlink|rm|rmdir|mkdir|truncate|rename|outputJson"
        rf"|createWriteStream)(?:Sync)?\(\s*{STRING}"
    ),
    re.compile(rf"(?:{FS}|\b)(?:rename|copyFile|cp)(?:Sync)?\({ARGUMENT},\s*{STRING}"),
    re.compile(rf"\b(?:Bun\.write|Deno\.(?:writeTextFile|writeFile|remove|mkdir)(?:Sync)?)\(\s*{STRING}"),
)
RUBY = (
    re.compile(rf"\b(?:File|IO)\.(?:write|binwrite|delete|unlink)\(?\s*{STRING}"),
    re.compile(rf"""\b(?:File\.)?(?:open|new)\(?\s*{STRING}\s*,\s*['"][wa]"""),
    re.compile(rf"\bFileUtils\.(?:rm|rm_f|rm_rf|touch|mkdir_p)\(?\s*{STRING}"),
    re.compile(rf"\b(?:File\.rename|FileUtils\.(?:cp|mv|copy|move))\(?{ARGUMENT},\s*{STRING}"),
)
PHP = (
    re.compile(rf"\b(?:file_put_contents|unlink|touch|mkdir)\(\s*(?:\$(?=\w))?{STRING}"),
    re.compile(rf"""\bfopen\(\s*(?:\$(?=\w))?{STRING}\s*,\s*['"][^'"]*[wax+]"""),
)
PERL = (
    re.compile(rf"""\bopen\s*+\(?\s*+(?:my\s+)?\$?\w+\s*,\s*['"]\+?>>?(?::[^'"]*)?['"]\s*,\s*(?:\$(?=\w))?{STRING}"""),
    re.compile(rf"\b(?:unlink|mkdir)\s*+\(?\s*+(?:\$(?=\w))?{STRING}"),
)


def _by_patterns(patterns: tuple[re.Pattern[str], ...]) -> Callable[[str], Iterable[str]]:
    """A finder that looks for calls which name a file, or a variable that was given a plain text before."""

    def find(text: str) -> Iterable[str]:
        matches = sorted((m for pattern in patterns for m in pattern.finditer(text)), key=lambda match: match.start())
        assigned = ASSIGNMENT.finditer(text) if matches else iter(())
        values: dict[str, str] = {}
        later = next(assigned, None)
        for match in matches:
            while later is not None and later.start() < match.start():
                values[later[1]] = later[3]
                later = next(assigned, None)
            path = match["path"] or values.get(match["name"].lstrip("$"))
            yield from () if path is None else (path,)

    return find


FINDERS: dict[str, Callable[[str], Iterable[str]]] = {
    "python": _python,
    "javascript": _by_patterns(JAVASCRIPT),
    "ruby": _by_patterns(RUBY),
    "php": _by_patterns(PHP),
    "perl": _by_patterns(PERL),
}
"""How to read each language."""
