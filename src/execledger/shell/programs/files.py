"""Programs that change files by name: ``cp``, ``mv``, ``rm``, ``tee``, ``touch``, ``chmod``, ``patch``, editors.

A listed write names a file, or a folder and everything beneath it.
"""

from __future__ import annotations

import posixpath

from msgspec.structs import replace

from execledger.shell.facts import Facts, Invocation, Part, Variables, inspects, runs, searches, writes
from execledger.shell.options import Options, number, parse_options
from execledger.shell.patches import added_paths, patched_paths
from execledger.shell.programs.readers import ALL
from execledger.shell.programs.shared import DEVICES, SUFFIXED, about_itself, inside, operands, touched
from execledger.shell.tree import Word
from execledger.vocabulary.records import Category, Scope

PATCH = {"strip": "p:", "input": "i:", "directory": "d:", "reverse": "R", "forward": "N", "dry-run": "C", "force": "f",
         "batch": "t", "backup": "b", "output": "o:", "fuzz": "F:", "ignore-whitespace": "l", "quiet": "s",
         "silent": "s", "verbose": "V", "unified": "u", "no-backup-if-mismatch": "X", "binary": "B",
         "remove-empty-files": "E", "reject-file": "r:"}  # fmt: skip


def applied(text: str | None, strip: int | None = None, folder: str = "", *, certain: bool = True) -> Part:
    """A part that applies the patch ``text`` in ``folder``; anything may change if the text is not known."""
    paths = patched_paths(text, strip) if text is not None else ()
    named = tuple(posixpath.join(folder, path) for path in paths)
    texts = (("", text),) if text else ()
    creates = tuple(posixpath.join(folder, path) for path in added_paths(text or "", strip))
    if not named or not certain:
        scope = Scope.FILES if named else Scope.TREE
        return runs(Category.MODIFY, writes=named, creates=creates, scope=scope, texts=texts)
    return writes(*named, creates=creates, texts=texts)


def patch(call: Invocation) -> Part:
    """``patch -p1 <<EOF``: the files that the patch names; a patch in a file may change any."""
    options = parse_options(call.args, "p:i:d:RNCftbo:F:lsunceEr:", PATCH)
    if about := about_itself(call, "-v"):
        return about
    if options.has("C") and not options.unknown:
        return searches()
    strip = options.value("p") or ""
    folder = options.value("d") if options.has("d") else ""
    files = tuple(path for path in (*options.paths[:1], *filter(None, [options.value("o")])) if path != "-")
    if files:
        named = tuple(posixpath.join(folder or "", path) for path in files)
        texts = (("", call.body),) if call.body else ()
        return runs(Category.MODIFY, writes=named, scope=Scope.FILES, texts=texts)
    known = folder is not None and not options.unknown and not options.has("i", "o", "r") and not options.operands
    # Without -p, patch drops all folders of a name unless the file exists there: then the name is as spelled.
    return applied(call.body if known else None, number(strip), folder or "")


def apply_patch(call: Invocation) -> Part:
    """The patch is the argument or a here-document."""
    text = call.args[0].literal if len(call.args) == 1 else call.body if not call.args else None
    return applied(text)


TEE = {"append": "a", "ignore-interrupts": "i", "output-error": "p?"}


def tee(call: Invocation) -> Part:
    """It passes its input through, into each of its files too."""
    options = parse_options(call.args, "aip", TEE)
    if not options.operands and not options.unknown:
        return inspects(selection=ALL if call.fed else None)
    part = touched((word.literal for word in options.operands), certain=not options.unknown, files=True)
    body = call.body
    carried = tuple((path, body) for path in part.writes if body is not None)
    return replace(part, selection=ALL, texts=carried, creates=() if options.has("a") else part.writes)


def sponge(call: Invocation) -> Part:
    """It writes all of its input into its one file."""
    options = parse_options(call.args, "a")
    return touched((word.literal for word in options.operands), certain=not options.unknown, files=True)


SIMPLE: dict[str, tuple[str, dict[str, str]]] = {
    "rm": ("fiIrRdv", {"force": "f", "interactive": "i?", "one-file-system": "x", "no-preserve-root": "N",
                       "preserve-root": "P?", "recursive": "r", "dir": "d", "verbose": "v"}),
    "rmdir": ("pv", {"ignore-fail-on-non-empty": "i", "parents": "p", "verbose": "v"}),
    "mkdir": ("m:pvZ", {"mode": "m:", "parents": "p", "verbose": "v", "context": "Z?"}),
    "touch": ("acd:fhmr:t:", {"no-create": "c", "date": "d:", "no-dereference": "h", "reference": "r:", "time": "T:"}),
    "truncate": ("cos:r:", {"no-create": "c", "io-blocks": "o", "reference": "r:", "size": "s:"}),
    "shred": ("fn:s:uvxz", {"force": "f", "iterations": "n:", "random-source": "R:", "size": "s:", "remove": "u?",
                            "verbose": "v", "exact": "x", "zero": "z"}),
    "unlink": ("", {}),
    "trash": ("rfv", {}),
    "dos2unix": ("bckoqsf", {}),
    "unix2dos": ("bckoqsf", {}),
    "fallocate": ("l:o:n", {"length": "l:"}),
}  # fmt: skip
"""Programs that change each of their operands and nothing else, with their options."""


def simple(call: Invocation) -> Part:
    """Every operand is changed."""
    options = parse_options(call.args, *SIMPLE[call.name])
    files = call.name not in ("rm", "rmdir", "mkdir", "trash")
    part = touched((word.literal for word in options.operands), certain=not options.unknown, files=files)
    if call.name in ("mkdir", "rmdir"):
        part = replace(part, folders=part.writes)
    return replace(part, creates=part.writes) if call.name in ("touch", "mkdir") else part


COPY = {"archive": "a", "backup": "b?", "force": "f", "interactive": "i", "link": "l", "no-clobber": "n",
        "parents": "#", "no-dereference": "P", "preserve": "p?", "no-preserve": "q:", "recursive": "r",
        "symbolic-link": "s",
        "suffix": "S:", "target-directory": "t:", "no-target-directory": "T", "update": "u?", "verbose": "v",
        "one-file-system": "x", "dereference": "L", "reflink": "c?", "sparse": "e:", "remove-destination": "k",
        "strip-trailing-slashes": "w", "context": "Z?", "attributes-only": "A", "symbolic": "s", "relative": "y",
        "physical": "P", "logical": "L", "mode": "m:", "owner": "o:", "group": "g:", "directory": "d", "strip": "z",
        "preserve-timestamps": "p", "compare": "C", "no-copy": "X", "exchange": "E"}  # fmt: skip
SPECS = {"cp": "abdfiHlLnPpRrsS:t:TuvxZ", "mv": "bfinS:t:TuvZ", "ln": "bdFfiLnPrsS:t:Tv",
         "install": "bcCdDg:m:o:pS:st:TvZ"}  # fmt: skip


def place(call: Invocation) -> Part:
    """Files are put under a new name or into a folder; ``mv`` changes the old names too."""
    name = call.name.removeprefix("g")
    options = parse_options(call.args, SPECS[name], COPY)
    sources, targets = _placed(name, options)
    changed = [*(word.literal for word in sources if name == "mv"), *targets]
    # A backup gets a name that depends on what is there already.
    return touched(changed, certain=not (options.unknown or options.has("b", "S", "E")))


def _placed(name: str, options: Options) -> tuple[tuple[Word, ...], list[str | None]]:
    """The sources, and the paths that they get."""
    operands = options.operands
    folder = options.values("t")
    if name == "install" and options.has("d"):
        return (), [word.literal for word in operands]
    if folder:
        return operands, [inside(folder[-1].literal, word.literal) for word in operands]
    if name == "ln" and len(operands) == 1:
        return operands, [inside("", operands[0].literal)]
    if len(operands) < 2:
        return operands, [None]
    sources, target = operands[:-1], operands[-1].literal
    if any(word.literal is None for word in sources):
        return sources, [target if SUFFIXED.fullmatch(target or "") else None, None]
    if options.has("#"):
        return sources, [_beneath(target, word.literal) for word in sources]
    into = len(sources) > 1 or (target is not None and (target.endswith("/") or target in (".", "..")))
    if into and not options.has("T"):
        return sources, [_known(target, word) for word in sources]
    return sources, [target]


def _known(target: str | None, source: Word) -> str | None:
    """The path inside ``target``; the folder itself where the source has no name of its own, as ``.``."""
    path = inside(target, source.literal)
    return target if path is None and source.literal is not None else path


def _beneath(target: str | None, source: str | None) -> str | None:
    return None if target is None or source is None else posixpath.join(target, source.lstrip("/"))


def mode(call: Invocation) -> Part:
    """Permissions of the files behind the mode or owner."""
    long = {"recursive": "R", "verbose": "v", "quiet": "f", "silent": "f", "changes": "c", "reference": "r:",
            "no-dereference": "h", "dereference": "d", "from": "F:"}  # fmt: skip
    options = parse_options(call.args, "Rvfch", long)
    # A mode such as -x looks like an option.
    files = options.operands if options.unknown or options.has("r") else options.operands[1:]
    computed = any(word.literal is None for word in options.operands)
    return touched((word.literal for word in files), Category.SETUP, certain=not computed)


def dd(call: Invocation) -> Part:
    """``dd of=FILE`` writes; without it dd prints, and in any case how long it took."""
    outputs = [word for word in call.args if word.source.strip("'\"").startswith("of=")]
    if any(word.literal is None for word in call.args if word not in outputs):
        return runs(Category.MODIFY, scope=Scope.TREE)
    if not outputs:
        return inspects(volatile=True)
    return touched((None if word.literal is None else word.literal[3:] for word in outputs), files=True)


def rsync(call: Invocation) -> Part:
    """It writes beneath its last operand; its many options are not worked out."""
    if about := about_itself(call):
        return about
    found = operands(call.args)
    target = found[-1] if len(found) > 1 else None
    return touched([None if target is None or ":" in target else target], certain=False)


def many(call: Invocation) -> Part:
    """They write files whose names they work out themselves."""
    return about_itself(call) or runs(Category.MODIFY, scope=Scope.TREE)


def editor(call: Invocation) -> Part:
    """An editor may do anything; the files that it opens are likely to change."""
    if about := about_itself(call):
        return about
    valued = ("-c", "--cmd", "-S", "-u", "-U", "-i", "-T", "-w", "-W", "-p", "-l", "-f", "--eval")
    found = operands(call.args, valued)
    named = tuple(path for path in found if path and not path.startswith(("+", "-")) and not DEVICES.fullmatch(path))
    return runs(Category.MODIFY, writes=named, scope=Scope.FILES if named else Scope.TREE)


FACTS = (
    Facts(names="tee", does=tee),
    Facts(names="sponge", does=sponge),
    Facts(names=" ".join(SIMPLE), does=simple),
    Facts(names="cp mv ln install gcp gmv ginstall", does=place),
    Facts(names="chmod chown chgrp gchmod", does=mode),
    Facts(names="dd", does=dd),
    Facts(names="rsync", does=rsync),
    Facts(names="split csplit rename prename detox mmv setfattr setfacl chattr restorecon", does=many),
    Facts(
        names="ed ex vi vim nvim view vimdiff nano pico emacs emacsclient micro joe",
        does=editor,
        variables=Variables("VIMINIT|EXINIT"),
    ),
    Facts(names="patch gpatch", does=patch),
    Facts(names="apply_patch applypatch apply-patch", does=apply_patch),
)
"""Programs that change files by name."""
