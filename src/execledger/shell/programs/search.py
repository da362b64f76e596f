"""Programs that look for things: ``grep`` and its kin, listings, facts about files, comparisons."""

from __future__ import annotations

from execledger.shell.options import Options, parse_options
from execledger.shell.parts import Invocation, Part, Selection, Understand, program, runs, searches
from execledger.shell.programs.idioms import given, inner, texts
from execledger.shell.programs.readers import show
from execledger.vocabulary.records import Category, Scope

EVERY_LINE = ("", "^", "$")
"""Patterns that match every line."""


@program("grep", "egrep", "fgrep", "ggrep")
def grep(call: Invocation) -> Part:
    """``grep -n '' FILE`` shows a whole file; any other grep is a search. It has no option that writes."""
    options = parse_options(call.args, "n", {"line-number": "n"})
    if not options.unknown and call.name != "fgrep" and _matches_all(options):
        part = show(call, options.operands[1:], Selection(None, ":" if options.has("n") else "", "grep"), None)
        return part if part.view or part.selection else searches()
    return searches()


def _matches_all(options: Options) -> bool:
    return bool(options.operands) and options.operands[0].literal in EVERY_LINE


@program("rg", "ripgrep")
def rg(call: Invocation) -> Part:
    """``rg --pre`` runs a program for every file; without it rg only looks."""
    names = [text.partition("=")[0] for text in texts(call.args)]
    return runs(Category.SEARCH) if "--pre" in names or "--hostname-bin" in names else searches()


@program("ag", "ack", "ack-grep", "pt", "ugrep", "ug")
def ag(call: Invocation) -> Part:
    """They only look, unless told to run a pager or a filter."""
    acts = given(call.args, long=("--pager", "--filter", "--save-config", "--view", "--config"))
    return runs(Category.SEARCH) if acts else searches()


@program("ls", "dir", "vdir")
def ls(call: Invocation) -> Part:
    """It lists; by time of access a listing changes whenever a file is read."""
    by_access = given(call.args, "u") or any((word.literal or "").startswith("--time=a") for word in call.args)
    return searches(volatile=by_access)


LOOKERS: dict[str, tuple[str, tuple[str, ...]]] = {
    **dict.fromkeys(("exa", "eza", "lsd", "locate", "plocate", "mlocate"), ("", ())),
    **dict.fromkeys(("which", "whereis", "type", "wc", "du", "readlink", "realpath", "tokei"), ("", ())),
    **dict.fromkeys(("basename", "dirname", "pathchk", "namei"), ("", ())),
    **dict.fromkeys(("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum"), ("", ())),
    **dict.fromkeys(("b2sum", "cksum", "sum", "md5", "shasum", "xxhsum"), ("", ())),
    **dict.fromkeys(("diff", "cmp", "comm", "colordiff", "wdiff", "diff3"), ("", ("--output",))),
    **dict.fromkeys(("nm", "objdump", "readelf", "size", "lsattr", "getfacl"), ("", ())),
    "diffstat": ("eo", ()),
    "cloc": (
        "",
        (
            "--out",
            "--report-file",
            "--counted",
            "--ignored",
            "--found",
            "--categorized",
            "--write-lang-def",
            "--sql",
            "--use-sloccount",
            "--extract-with",
            "--lang-no-ext",
            "--unique-files",
        ),
    ),
    "scc": ("o", ("--output", "--format-multi")),
    "sdiff": ("o", ("--output",)),
    "tree": ("oR", ("--output",)),
    "file": ("C", ("--compile",)),
    "zipinfo": ("", ()),
}
"""Programs that only look, with the short and long options that make them write or run something."""


def looker(short: str, long: tuple[str, ...]) -> Understand:
    """The knowledge about a program that only looks unless one of these options is given."""

    def understand(call: Invocation) -> Part:
        return runs(Category.MODIFY, scope=Scope.TREE) if given(call.args, short, long) else searches()

    return understand


for _name, _options in LOOKERS.items():
    program(_name)(looker(*_options))


@program("stat")
def stat(call: Invocation) -> Part:
    """It also says when a file was last read."""
    return searches(volatile=True)


@program("command")
def command(call: Invocation) -> Part:
    """``command -v X`` says what X is; else it runs X."""
    at = next((at for at, text in enumerate(texts(call.args)) if not text.startswith("-")), len(call.args))
    return searches() if given(call.args[:at], "vV") else inner(call, call.args[at:])
