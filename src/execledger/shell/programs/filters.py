"""Programs that reshape text on its way through: ``sort``, ``uniq``, ``cut``, ``tr``, ``jq``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from execledger.shell.facts import (
    COMPUTED,
    NO_FILES,
    Allowed,
    Facts,
    Invocation,
    Part,
    Reader,
    Variables,
    always,
    inspects,
    literal,
    runs,
)
from execledger.shell.options import parse_options
from execledger.shell.programs.shared import given, texts, touched
from execledger.shell.tree import Word
from execledger.shell.words import may_be_option
from execledger.vocabulary.records import Category, Scope


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


def output_option(spec: str, long: Mapping[str, str], volatile: bool = False) -> Callable[[Invocation], Part]:
    """Reads the arguments of a filter whose option ``-o`` names a file to write."""

    def understand(call: Invocation) -> Part:
        options = parse_options(call.args, spec, long)
        odd = bool(options.unknown) or options.has("X")
        if options.has("o"):
            return touched((word.literal for word in options.values("o")), certain=not odd, files=True)
        if odd:
            return runs(Category.INSPECT)
        return inspects(volatile=volatile or options.has("R"))

    return understand


UNIQ = {"count": "c", "repeated": "d", "all-repeated": "D?", "skip-fields": "f:", "group": "g?", "ignore-case": "i",
        "skip-chars": "s:", "unique": "u", "zero-terminated": "z", "check-chars": "w:"}  # fmt: skip


def uniq(call: Invocation) -> Part:
    """``uniq IN OUT`` writes its second operand."""
    options = parse_options(call.args, "cdDf:is:uzw:0123456789", UNIQ)
    return _second_operand(options.operands[1:], bool(options.unknown))


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


def yq(call: Invocation) -> Part:
    """``yq -i`` edits its files; ``-s`` may split its output into files."""
    if given(call.args, "i", ("--inplace", "--in-place")):
        return runs(Category.MODIFY, scope=Scope.TREE)
    return runs(Category.INSPECT) if given(call.args, "s", ("--split-exp", "--split-exp-file")) else inspects()


def jq(call: Invocation) -> Part:
    """It reshapes JSON; a filter may ask for the time or the environment."""
    return inspects(volatile=any(re.search(r"\bnow\b|\benv\b|\$ENV|\binput\b", word.source) for word in call.args))


SORT_READER = Reader(
    "nrufbdgVsk:t:",
    {"numeric-sort": "n", "reverse": "r", "unique": "u", "key": "k:", "field-separator": "t:", "stable": "s"},
    recursive="",
)
UNIQ_READER = Reader("cdui", accepts=lambda scripts, files: len(files) < 2)


def _sorts(args: tuple[Word, ...]) -> bool:
    return literal(args) and not SORT_READER.options(args).unknown


def _prints_unique(args: tuple[Word, ...]) -> bool:
    options = UNIQ_READER.options(args)
    return literal(args) and not options.unknown and len(options.operands) < 2


sort = output_option("bdfgiMhnRrVcCk:mo:sS:t:T:uz", SORT)

FACTS = (
    Facts(
        names="cut",
        does=inspects(),
        harmless=always,
        provable=Reader("d:f:c:b:s", {"delimiter": "d:", "fields": "f:"}).sources,
    ),
    Facts(names="tr", does=inspects(), harmless=always, provable=Reader("cdsC", texts=NO_FILES).sources),
    Facts(names="pwd", does=inspects(), harmless=always, provable=Reader(stdin=False).sources),
    Facts(names="paste", does=inspects(), harmless=always),
    Facts(names="join tsort hexyl ul col colrm", does=inspects()),
    Facts(names="base64 base32", does=base64),
    Facts(names="sort", does=sort, allowed=COMPUTED, harmless=_sorts, provable=SORT_READER.sources),
    Facts(names="gsort", does=sort, allowed=COMPUTED),
    Facts(names="shuf", does=output_option("ei:n:o:rz", SHUF, volatile=True), allowed=COMPUTED),
    Facts(names="iconv", does=output_option("f:t:lco:sv", ICONV), allowed=COMPUTED),
    Facts(names="uniq", does=uniq, allowed=COMPUTED, harmless=_prints_unique, provable=UNIQ_READER.sources),
    Facts(names="xxd", does=xxd, allowed=COMPUTED),
    Facts(
        names="yq",
        does=yq,
        allowed=Allowed(
            "rcenjMCSP0o:p:", "raw-output compact-output output-format: input-format: null-input no-colors"
        ),
    ),
    Facts(names="xq tomlq", does=yq, allowed=Allowed("rcensjMCS", "raw-output compact-output null-input")),
    Facts(
        names="xmllint xmlstarlet xsltproc pandoc dot csvcut csvlook in2csv msgfmt msgunfmt",
        # They convert, and have many ways to write their result.
        does=runs(Category.OTHER),
    ),
    Facts(names="jq", does=jq, harmless=literal, variables=Variables(r"JQ_\w*")),
)
"""Programs that reshape text."""
