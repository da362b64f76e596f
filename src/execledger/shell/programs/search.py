"""Programs that look for things: ``grep`` and similar programs, listings, facts about files, comparisons."""

from __future__ import annotations

from collections.abc import Callable

from execledger.shell.facts import (
    COMPUTED,
    Allowed,
    Facts,
    Invocation,
    Part,
    Reader,
    Selection,
    Variables,
    always,
    literal,
    named_files,
    runs,
    searches,
)
from execledger.shell.options import Options, parse_options
from execledger.shell.programs.readers import show
from execledger.shell.programs.shared import given, inner, texts
from execledger.shell.tree import Word
from execledger.vocabulary.records import Category, Scope

EVERY_LINE = ("", "^", "$")
"""Patterns that match every line."""


def grep(call: Invocation) -> Part:
    """``grep -n '' FILE`` shows a whole file; any other grep is a search. It has no option that writes."""
    options = parse_options(call.args, "n", {"line-number": "n"})
    if not options.unknown and call.name != "fgrep" and _matches_all(options):
        part = show(call, options.operands[1:], Selection(None, ":" if options.has("n") else "", "grep"), None)
        return part if part.view or part.selection else searches()
    return searches()


def _matches_all(options: Options) -> bool:
    return bool(options.operands) and options.operands[0].literal in EVERY_LINE


def rg(call: Invocation) -> Part:
    """``rg --pre`` runs a program for every file; without it rg only looks."""
    names = [text.partition("=")[0] for text in texts(call.args)]
    return runs(Category.SEARCH) if "--pre" in names or "--hostname-bin" in names else searches()


def ag(call: Invocation) -> Part:
    """They only look, unless an option runs a pager or a filter."""
    acts = given(call.args, long=("--pager", "--filter", "--save-config", "--view", "--config"))
    return runs(Category.SEARCH) if acts else searches()


def ls(call: Invocation) -> Part:
    """It lists; by time of access a listing changes whenever a file is read."""
    by_access = given(call.args, "u") or any((word.literal or "").startswith("--time=a") for word in call.args)
    return searches(volatile=by_access)


def looks(short: str = "", long: tuple[str, ...] = ()) -> Callable[[Invocation], Part]:
    """Reads the arguments of a program that only looks, unless one of these options is given."""

    def read(call: Invocation) -> Part:
        return runs(Category.MODIFY, scope=Scope.TREE) if given(call.args, short, long) else searches()

    return read


def command(call: Invocation) -> Part:
    """``command -v X`` says what X is; else it runs X."""
    at = next((at for at, text in enumerate(texts(call.args)) if not text.startswith("-")), len(call.args))
    return searches() if given(call.args[:at], "vV") else inner(call, call.args[at:])


NO_LINES = ("--count", "--count-matches", "--files", "--files-with-matches", "--files-without-match", "--quiet")
"""Options with which a text search prints names or numbers instead of lines."""


def prints_matches(args: tuple[Word, ...]) -> bool:
    """A text search with ``args`` prints the lines that it finds."""
    return not given(args, "lLcq", NO_LINES)


def matches(call: Invocation) -> tuple[str, ...] | None:
    """The files in which a text search finds the lines that it prints."""
    return named_files(call) if prints_matches(call.args) else ()


LONG_GREP = {"line-number": "n", "ignore-case": "i", "count": "c", "files-with-matches": "l", "word-regexp": "w",
             "recursive": "r", "include": "I:", "exclude": "X:", "exclude-dir": "D:", "extended-regexp": "E",
             "fixed-strings": "F", "after-context": "A:", "before-context": "B:", "context": "C:", "max-count": "m:",
             "only-matching": "o", "invert-match": "v", "no-filename": "h", "with-filename": "H"}  # fmt: skip
LONG_LS = {"all": "a", "almost-all": "A", "directory": "d", "recursive": "R"}
RG = Allowed(
    "A:B:C:E:FHILM:NPST:UVabcd:e:g:hij:lm:nopqr:st:uvwxz0",
    "after-context: before-context: context: case-sensitive color: column context-separator: count count-matches crlf"
    " dfa-size-limit: encoding: engine: files files-with-matches files-without-match fixed-strings follow glob:"
    " glob-case-insensitive heading hidden iglob: ignore-case ignore-file: include-zero invert-match json"
    " line-buffered line-number line-regexp max-columns: max-columns-preview max-count: max-depth: maxdepth:"
    " max-filesize: mmap multiline multiline-dotall no-config no-filename no-heading no-hidden no-ignore"
    " no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global no-ignore-parent no-ignore-vcs"
    " no-line-number no-messages no-mmap no-unicode null null-data one-file-system only-matching passthru pcre2"
    " pcre2-version pretty quiet regexp: regex-size-limit: replace: search-zip smart-case sort: sortr: stats"
    " text threads: trim type: type-not: type-list unrestricted version vimgrep with-filename word-regexp files-from",
)
SEARCHER = Allowed(
    "A:B:C:G:acHhiIlLm:noQqrRsSuvwxEFPUz0f",
    "after before context: count color nocolor group nogroup heading noheading hidden ignore-case line-number literal"
    " numbers nonumbers filename nofilename python js type: column vimgrep smart-case word-regexp depth: version help",
)
TREE = Allowed(
    "adfilL:P:I:nNqpusghDFrtcvUXJCASQx",
    "noreport charset: filelimit: timefmt: dirsfirst prune gitignore matchdirs ignore-case inodes device du si"
    " filesfirst sort? help version",
)
LISTER = Allowed(
    "1aAbBdFghHiIlL:mnoOrRs:StTuUxXD@", "all long tree level: color: icons: no-icons oneline recurse git sort: reverse"
)
BINARY = Allowed("aAbBcCdDefghHiIlnoPrRsStTuUvVwWxXz", "all headers symbols dynamic demangle? help version wide")
COUNTER = Allowed("fhVe:t:s:", "by-file quiet csv json yaml files sort: exclude-dir: include-lang: exclude-lang:")
CLOC_WRITES = tuple(
    """
    --out --report-file --counted --ignored --found --categorized --write-lang-def --sql --use-sloccount --extract-with
    --lang-no-ext --unique-files
    """.split()
)
COMPARES = looks("", ("--output",))

FACTS = (
    Facts(
        names="grep",
        does=grep,
        harmless=always,
        provable=Reader("nicvwxlLoqshHrEFGPaA:B:C:m:e:", LONG_GREP, texts=1, here=True).sources,
        contents=matches,
        variables=Variables(r"GREP_\w*", harmless=("GREP_COLOR", "GREP_COLORS")),
    ),
    Facts(
        names="egrep fgrep",
        does=grep,
        harmless=always,
        provable=Reader("nicvwxlLoqshHraA:B:C:m:e:", LONG_GREP, texts=1, here=True).sources,
        contents=matches,
    ),
    Facts(names="ggrep", does=grep, contents=matches),
    Facts(names="rg", does=rg, allowed=RG, harmless=literal, contents=matches, variables=Variables(r"RIPGREP_\w*")),
    Facts(names="ripgrep", does=rg, allowed=RG, contents=matches),
    Facts(
        names="ag ack ack-grep pt ugrep ug",
        does=ag,
        allowed=SEARCHER,
        contents=matches,
        variables=Variables(r"AG_\w*|ACK\w*"),
    ),
    Facts(
        names="ls",
        does=ls,
        harmless=always,
        provable=Reader("1aAdFRrp", LONG_LS, stdin=False, lists=True).sources,
    ),
    Facts(names="dir", does=ls, harmless=always),
    Facts(names="vdir", does=ls),
    Facts(names="tree", does=looks("oR", ("--output",)), allowed=TREE, harmless=literal),
    Facts(names="exa eza lsd", does=looks(), allowed=LISTER, variables=Variables(r"EXA_\w*")),
    Facts(names="locate plocate mlocate", does=looks()),
    Facts(names="which", does=looks(), harmless=always),
    Facts(names="whereis type", does=looks()),
    Facts(
        names="wc",
        does=looks(),
        harmless=always,
        provable=Reader("lwcmL", {"lines": "l", "words": "w", "bytes": "c"}).sources,
    ),
    Facts(names="du readlink realpath basename dirname", does=looks(), harmless=always),
    Facts(names="pathchk namei", does=looks()),
    # It also says when a file was last read.
    Facts(names="stat", does=searches(volatile=True), harmless=always),
    Facts(names="md5sum sha1sum sha256sum cksum sum", does=looks(), harmless=always),
    Facts(names="sha224sum sha384sum sha512sum b2sum md5 shasum xxhsum", does=looks()),
    Facts(names="diff", does=COMPARES, harmless=literal),
    Facts(names="cmp comm", does=COMPARES, harmless=always),
    Facts(
        names="colordiff",
        does=COMPARES,
        allowed=Allowed("uqrNbBwiyacptU:C:W:", "unified? recursive brief new-file ignore-all-space side-by-side"),
    ),
    Facts(
        names="diff3",
        does=COMPARES,
        allowed=Allowed(
            "AeEiX3xTmaL:v", "show-all merge text easy-only ed overlap-only show-overlap label: version help"
        ),
    ),
    Facts(
        names="wdiff",
        does=COMPARES,
        allowed=Allowed("123insy:x:w:z:", "no-common no-deleted no-inserted statistics"),
    ),
    Facts(
        names="sdiff",
        does=looks("o", ("--output",)),
        allowed=Allowed("lsiEZbBWawHdtv", "left-column suppress-common-lines ignore-case ignore-all-space text width:"),
    ),
    Facts(names="diffstat", does=looks("eo"), allowed=COMPUTED),
    Facts(names="nm objdump size", does=looks(), allowed=BINARY, variables=Variables(r"DEBUGINFOD_\w*")),
    Facts(names="readelf lsattr getfacl zipinfo", does=looks()),
    Facts(names="cloc", does=looks("", CLOC_WRITES), allowed=COUNTER),
    Facts(names="scc", does=looks("o", ("--output", "--format-multi")), allowed=COUNTER),
    Facts(names="tokei", does=looks(), allowed=COUNTER),
    Facts(
        names="file",
        does=looks("C", ("--compile",)),
        allowed=Allowed(
            "bhiklLnNprsvz0F:f:e:", "brief mime mime-type mime-encoding dereference no-dereference version"
        ),
        variables=Variables("MAGIC"),
    ),
    Facts(names="command", does=command),
)
"""Text searches, listings, facts about files, comparisons."""
