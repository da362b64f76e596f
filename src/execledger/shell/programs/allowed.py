"""Readers that can be told to write or to run something: what they may be given.

For each such program the options are listed with which it only looks. Any other option makes its effects unknown, and
so does a computed word that may turn out to be one: ``sort $x`` writes where ``x`` is ``-o file``. Programs without
any such option, as ``cat`` and ``grep``, need no list.
"""

from __future__ import annotations

from msgspec import Struct

from execledger.shell.options import parse_options
from execledger.shell.parts import PROGRAMS, Invocation, Part, Understand
from execledger.shell.programs.idioms import doubted, may_be_option
from execledger.vocabulary.records import Effects


class Allowed(Struct, frozen=True):
    """What one program may be given and still only looks."""

    short: str = ""
    """Its options, as getopt spells them; "" where the program's own reading of them is enough."""
    long: str = ""
    """Its long options, between blanks; with ":" behind those that take a value, "?" if only after "="."""
    checked: bool = True
    """Options that are not listed make its effects unknown; else only computed words do."""


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
FD = Allowed(
    "HIuLp0sigFaltd:e:E:c:j:S:1qhVo:",
    "hidden no-ignore unrestricted follow full-path print0 case-sensitive ignore-case glob fixed-strings absolute-path"
    " max-depth: min-depth: exact-depth: type: extension: exclude: color: threads: size: max-results: quiet help"
    " version strip-cwd-prefix? regex no-ignore-vcs list-details",
)
BAT = Allowed(
    "pnr:l:A",
    "plain number line-range: language: style: color: decorations: wrap: paging: theme: show-all list-languages"
    " list-themes tabs: terminal-width: highlight-line: no-pager help version",
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
SEARCHER = Allowed(
    "A:B:C:G:acHhiIlLm:noQqrRsSuvwxEFPUz0f",
    "after before context: count color nocolor group nogroup heading noheading hidden ignore-case line-number literal"
    " numbers nonumbers filename nofilename python js type: column vimgrep smart-case word-regexp depth: version help",
)
COUNTER = Allowed("fhVe:t:s:", "by-file quiet csv json yaml files sort: exclude-dir: include-lang: exclude-lang:")
COMPUTED = Allowed(checked=False)

ALLOWED = {
    **dict.fromkeys(("rg", "ripgrep"), RG),
    **dict.fromkeys(("fd", "fdfind"), FD),
    **dict.fromkeys(("bat", "batcat"), BAT),
    "tree": TREE,
    **dict.fromkeys(("exa", "eza", "lsd"), LISTER),
    **dict.fromkeys(("nm", "objdump", "size"), BINARY),
    **dict.fromkeys(("ag", "ack", "ack-grep", "pt", "ugrep", "ug"), SEARCHER),
    **dict.fromkeys(("cloc", "scc", "tokei"), COUNTER),
    "file": Allowed("bhiklLnNprsvz0F:f:e:", "brief mime mime-type mime-encoding dereference no-dereference version"),
    "yq": Allowed("rcenjMCSP0o:p:", "raw-output compact-output output-format: input-format: null-input no-colors"),
    "colordiff": Allowed("uqrNbBwiyacptU:C:W:", "unified? recursive brief new-file ignore-all-space side-by-side"),
    "diff3": Allowed("AeEiX3xTmaL:v", "show-all merge text easy-only ed overlap-only show-overlap label: version help"),
    "sdiff": Allowed("lsiEZbBWawHdtv", "left-column suppress-common-lines ignore-case ignore-all-space text width:"),
    **dict.fromkeys(("xq", "tomlq"), Allowed("rcensjMCS", "raw-output compact-output null-input")),
    "wdiff": Allowed("123insy:x:w:z:", "no-common no-deleted no-inserted statistics"),
    **dict.fromkeys(("zless", "zgrep", "zcat", "gzcat", "bzcat", "xzcat"), Allowed("nicrvwlhHoqsfA:B:C:m:e:", "help")),
    **dict.fromkeys("sort gsort uniq shuf iconv less more most pg git hg svn diffstat xxd date ss".split(), COMPUTED),
    **dict.fromkeys("perl unzip gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lzma unlzma lz4 pigz".split(), COMPUTED),
    **dict.fromkeys(("brotli", "compress", "uncompress"), COMPUTED),
}  # fmt: skip
"""The programs by name. ``find``, ``sed`` and ``tar`` see to their own words."""


def guarded(understand: Understand, allowed: Allowed) -> Understand:
    """The same knowledge, in doubt wherever the program is given more than it may be."""
    long = {name.rstrip(":?"): name for name in allowed.long.split()}

    def doubting(call: Invocation) -> Part:
        part = understand(call)
        if part.effects is not Effects.NONE:
            return part
        ends = next((at for at, word in enumerate(call.args) if word.literal == "--"), len(call.args))
        odd = any(map(may_be_option, call.args[:ends]))
        if allowed.checked and not odd:
            odd = bool(parse_options(call.args, allowed.short, long).unknown)
        return doubted(part) if odd else part

    return doubting


def guard() -> None:
    """Put the guards before the programs, once all of them are known."""
    for name, allowed in ALLOWED.items():
        PROGRAMS[name] = guarded(PROGRAMS[name], allowed)
