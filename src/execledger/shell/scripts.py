"""Scripts: the files that a script's text names for writing, found without running it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from execledger.shell.python_code import Names, parse_python, written

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
"""The argument before it in a call; the length is bounded, so that the search is linear."""

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


MAX_TEXTS = 4
"""Texts kept per script: the newest."""


class Scripts(Mapping[str, tuple[str, ...]]):
    """Scripts that the agent wrote. What each names for writing is found out when it is asked for: few are ever run."""

    def __init__(self, earlier: Mapping[str, tuple[str, ...]] | None = None) -> None:
        """The scripts in ``earlier``, and those written from now on."""
        self._earlier = earlier if earlier is not None else {}
        self._texts: dict[str, list[tuple[str, str | None]]] = {}
        self._named: dict[str, tuple[str, ...]] = {}

    def write(self, path: str, text: str, cwd: str | None) -> None:
        """Note one more text written to ``path``; it may be written in pieces, so what the last few name adds up."""
        texts = self._texts.setdefault(path, [])
        texts[:] = [*texts[1 - MAX_TEXTS :], (text, cwd)]
        self._named.pop(path, None)

    def __getitem__(self, path: str) -> tuple[str, ...]:
        """The files that the script at ``path`` names for writing."""
        if path not in self._texts:
            return self._earlier[path]
        if path not in self._named:
            named = [file for text, cwd in self._texts[path] for file in script_writes(path, text, cwd)]
            self._named[path] = tuple(dict.fromkeys((*self._earlier.get(path, ()), *named)))
        return self._named[path]

    def __iter__(self) -> Iterator[str]:
        """The scripts' paths."""
        return iter({**self._earlier, **self._texts})

    def __len__(self) -> int:
        """How many scripts there are."""
        return len({**self._earlier, **self._texts})

    def __contains__(self, path: object) -> bool:
        """A script was written to ``path``."""
        return path in self._texts or path in self._earlier


def is_script(path: str) -> bool:
    """``path`` is a script by its name."""
    return path.endswith((".sh", ".bash")) or bool(language_of(path))


def script_writes(path: str, text: str, cwd: str | None) -> tuple[str, ...]:
    """The files that a script names for writing."""
    if path.endswith((".sh", ".bash")):
        # A shell script is read as a command is, and a command may run a script.
        from execledger.shell.classify import classify_command

        return classify_command(text, cwd).writes
    return written_by(text, language_of(path))
