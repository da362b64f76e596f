"""Programs that reshape text on its way through: ``sort``, ``uniq``, ``cut``, ``tr``, ``jq``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from execledger.shell.options import parse_options
from execledger.shell.parts import Invocation, Part, Understand, inspects, program, runs
from execledger.shell.programs.idioms import given, known_as, may_be_option, texts, touched
from execledger.shell.tree import Word
from execledger.vocabulary.records import Category, Scope

known_as(
    inspects(),
    """
    cut tr paste join tsort hexyl ul col colrm pwd
    """,
)


@program("base64", "base32")
def base64(call: Invocation) -> Part:
    """``base64 -d FILE`` prints; on macOS ``-o`` names a file to write."""
    long = {"decode": "d", "wrap": "w:", "ignore-garbage": "i", "help": "h", "version": "V"}
    options = parse_options(call.args, "dDiw:hV", long)
    return runs(Category.INSPECT) if options.unknown or any(map(may_be_option, call.args)) else inspects()


SORT = {"ignore-leading-blanks": "b", "dictionary-order": "d", "ignore-case": "f", "general-numeric-sort": "g",
        "ignore-nonprinting": "i", "month-sort": "M", "human-numeric-sort": "h", "numeric-sort": "n",
        "random-sort": "R", "random-source": "Q:", "reverse": "r", "sort": "O:", "version-sort": "V",
        "batch-size": "B:", "check": "c?", "compress-program": "X:", "debug": "D", "files0-from": "F:", "key": "k:",
        "merge": "m", "output": "o:", "stable": "s", "buffer-size": "S:", "field-separator": "t:",
        "temporary-directory": "T:", "parallel": "P:", "unique": "u", "zero-terminated": "z"}  # fmt: skip
SHUF = {"echo": "e", "input-range": "i:", "head-count": "n:", "output": "o:", "random-source": "Q:", "repeat": "r",
        "zero-terminated": "z"}  # fmt: skip
ICONV = {"from-code": "f:", "to-code": "t:", "list": "l", "output": "o:", "silent": "s", "verbose": "v"}


def output_option(spec: str, long: Mapping[str, str], volatile: bool = False) -> Understand:
    """The knowledge about a filter whose option ``-o`` names a file to write."""

    def understand(call: Invocation) -> Part:
        options = parse_options(call.args, spec, long)
        odd = bool(options.unknown) or options.has("X")
        if options.has("o"):
            return touched((word.literal for word in options.values("o")), certain=not odd, files=True)
        if odd:
            return runs(Category.INSPECT)
        return inspects(volatile=volatile or options.has("R"))

    return understand


program("sort", "gsort")(output_option("bdfgiMhnRrVcCk:mo:sS:t:T:uz", SORT))
program("shuf")(output_option("ei:n:o:rz", SHUF, volatile=True))
program("iconv")(output_option("f:t:lco:sv", ICONV))

UNIQ = {"count": "c", "repeated": "d", "all-repeated": "D?", "skip-fields": "f:", "group": "g?", "ignore-case": "i",
        "skip-chars": "s:", "unique": "u", "zero-terminated": "z", "check-chars": "w:"}  # fmt: skip


@program("uniq")
def uniq(call: Invocation) -> Part:
    """``uniq IN OUT`` writes its second operand."""
    options = parse_options(call.args, "cdDf:is:uzw:0123456789", UNIQ)
    return _second_operand(options.operands[1:], bool(options.unknown))


@program("xxd")
def xxd(call: Invocation) -> Part:
    """``xxd IN OUT`` writes its second operand."""
    options = parse_options(call.args, "abCc:Eeg:hil:n:o:pPrs:uvdR:")
    # Its long options begin with one dash (``-cols 8``) and may be shortened: their values look like operands.
    spelled_out = any(re.fullmatch(r"-[A-Za-z]{2,}", text) and text != "-ps" for text in texts(call.args))
    return _second_operand(options.operands[1:], bool(options.unknown) or spelled_out)


def _second_operand(words: tuple[Word, ...], doubtful: bool) -> Part:
    if doubtful:
        return runs(Category.INSPECT)
    return touched((word.literal for word in words), files=True) if words else inspects()


@program("yq", "xq", "tomlq")
def yq(call: Invocation) -> Part:
    """``yq -i`` edits its files; ``-s`` may split its output into files."""
    if given(call.args, "i", ("--inplace", "--in-place")):
        return runs(Category.MODIFY, scope=Scope.TREE)
    return runs(Category.INSPECT) if given(call.args, "s", ("--split-exp", "--split-exp-file")) else inspects()


@program("xmllint", "xmlstarlet", "xsltproc", "pandoc", "dot", "csvcut", "csvlook", "in2csv", "msgfmt", "msgunfmt")
def converter(call: Invocation) -> Part:
    """They convert, and have many ways to write their result."""
    return runs(Category.OTHER)


@program("jq")
def jq(call: Invocation) -> Part:
    """It reshapes JSON; a filter may ask for the time or the environment."""
    return inspects(volatile=any(re.search(r"\bnow\b|\benv\b|\$ENV|\binput\b", word.source) for word in call.args))
