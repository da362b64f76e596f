"""Damaged and hostile commands: each is understood or called opaque, quickly, whatever stands in it."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import re
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import execledger
from execledger.cli.explain import as_contract, as_words
from execledger.core.classify import classify
from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.safeguards import files_in_errors
from execledger.core.step import take
from execledger.core.task import patch_files, task_anchor, task_title
from execledger.redact import redact
from execledger.shell.tree import REASONS
from execledger.vocabulary.actions import Action, Observation, Patch
from execledger.vocabulary.records import CommandRecord, Effects
from tests.support.faults.mutate import Mutator, watched

Figure = Callable[[str], None]
SEEDS = (
    "cd src && cat a.py",
    "sed -n '10,20p' 'a b.py' | head -5",
    "grep -rn \"x $HOME\" --include='*.py' . 2>/dev/null | sort -u",
    "python3 - <<'EOF'\nfrom pathlib import Path\nPath('a.py').write_text('x')\nEOF",
    "for f in *.py; do sed -i 's/a/b/' \"$f\"; done",
    "if [[ -f a && ! -d b ]]; then rm a; elif true; then :; else echo $((1 + 2)); fi",
    "cat > a.py <<E\n$(date) ${x:-y}\nE\ngit diff > patch.txt",
    "find . -name '*.py' -exec grep -l x {} + | xargs -0 wc -l",
    "awk 'NR>=2 && NR<=9 {print NR\": \"$0}' a.py",
    "perl -pi -e 's/a/b/g' a.py; node -e \"fs.writeFileSync('x', 1)\"",
    "git log --since=yesterday -p -- a.py & wait",
    "bash -lc 'env A=1 timeout 5 pytest -q tests' || case $x in a) ls;; esac",
    "apply_patch <<'P'\n*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch\nP",
)


def explained(command: str, cwd: str | None = "/repo") -> CommandRecord:
    """What is said about a command, by every way to say it."""
    record = classify(Action(command, cwd))
    as_contract(record)
    as_words(record)
    assert record.opaque is None or record.opaque in REASONS
    assert record.opaque is None or (record.effects, record.comparable) == (Effects.UNKNOWN, False)
    return record


@pytest.mark.guarantee("fail-open", "bounded")
def test_damaged_commands_are_understood_or_opaque(full: bool, figure: Figure) -> None:
    """Any damage to a command leaves one that is understood, or one of which nothing is claimed."""
    rounds = 100_000 if full else 1_000
    mutator, understood = Mutator(61, large=40_000 if full else 10_000), 0
    for _ in range(rounds):
        command = mutator.text(SEEDS)
        with watched(lambda c=command: repr(c[:300])):  # type: ignore[misc]
            understood += explained(command).opaque is None
    figure(f"{rounds:,} damaged commands: {understood:,} understood, {rounds - understood:,} opaque, 0 crashes")
    assert 0 < understood < rounds


words = st.one_of(
    st.sampled_from("cat grep sed awk rm git a.py -n -i $x ~ * 's/a/b/' 1,5p - {} \\; {a,b}".split()),
    st.text(st.sampled_from("ab '\"\\$`{}()[]*?~#=\n\t\u202e"), max_size=6),
)
simple = st.lists(words, min_size=1, max_size=6).map(" ".join)


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Commands made of commands."""
    shapes = (
        "{} | {}|{} && {}|{}; {}|( {} ) {}|{{ {}; }} > f {}|$({}) {}|`{}` {}|if {}; then {}; fi|while {}; do {}; done"
    )
    shapes += (
        "|for i in {}; do {}; done|case {} in a) {};; esac|f() {{ {}; }}; {}|{} <<E\n{}\nE\n|bash -c '{}' {}|! {} & {}"
    )
    return st.tuples(st.sampled_from(shapes.split("|")), inner, inner).map(lambda t: t[0].format(t[1], t[2]))


@pytest.mark.guarantee("fail-open")
@settings(max_examples=60)
@given(st.recursive(simple, grown, max_leaves=8))
def test_commands_that_look_like_shell_are_answered(command: str) -> None:
    """Sentences of the shell's grammar, with odd words in them, are answered in the same way each time."""
    with watched(lambda: repr(command)):
        assert explained(command) == explained(command)


OPENERS = '$( (( { ( $(( ` "$( ${x:- <( [[ case\tx\tin\ta) if\ttrue;then while\t: <<E\n$( f(){ ! x=$('.split(" ")


@pytest.mark.guarantee("bounded")
@pytest.mark.parametrize("opener", OPENERS)
def test_deep_nesting_is_opaque_and_quickly_so(opener: str) -> None:
    """A thousand and ten thousand levels of any bracket are refused, not followed."""
    for times in (1_000, 10_000):
        command = opener.replace("\t", " ") + " "
        with watched(lambda c=command: c):  # type: ignore[misc]
            assert explained(command * times + "ls").opaque is not None or opener == "!"


def every_pattern() -> list[re.Pattern[str]]:
    """The patterns over text that stand in the package's modules, alone or in tables."""
    found: dict[tuple[str, int], re.Pattern[str]] = {}
    for module in pkgutil.walk_packages(execledger.__path__, "execledger."):
        if module.name.startswith(
            ("execledger.core", "execledger.shell", "execledger.symbols", "execledger.agents.codex.tools")
        ):
            for value in vars(importlib.import_module(module.name)).values():
                for one in value if isinstance(value, tuple) else (value,):
                    if isinstance(one, re.Pattern) and isinstance(one.pattern, str):
                        found[one.pattern, one.flags] = one
    return list(found.values())


PUMPS = (
    " ",
    "\n",
    "\n ",
    "/",
    "a",
    "a/",
    "a.",
    ".",
    "'",
    '"',
    "\\",
    "\t",
    "0",
    "=",
    "-",
    "_",
    "git diff ",
    "cp ",
    "from os ",
)
MORE_PUMPS = (
    "<issue>",
    "@{a",
    "x='a'\n",
    "open(",
    "(",
    "print ",
    "a\n",
    'File "',
    "--- ",
    "<cwd>",
    "https://a:b",
    "password=",
)
HEADS = (
    "",
    "a",
    "'",
    '"',
    "{",
    "(",
    "git diff",
    "cp ",
    "fs.rename(",
    "open",
    "printf",
    "/var",
    "<issue>",
    "*** Update File:",
)


@pytest.mark.guarantee("bounded")
def test_no_text_of_a_command_or_an_output_makes_a_pattern_run_wild(full: bool, figure: Figure) -> None:
    """Long runs of anything that patterns repeat, in commands, tasks, outputs and patches, are gone through once."""
    size = 100_000 if full else 10_000
    texts = [
        head + pump * (size // len(pump)) + tail
        for head, pump in itertools.product(HEADS, PUMPS + MORE_PUMPS)
        for tail in ("", "!")
    ]
    texts = texts[:: 2 if full else 11]
    for text in texts:
        with watched(lambda t=text: repr(t[:60])):  # type: ignore[misc]
            for command in hosts(text):
                explained(command)
            files_in_errors(f"Error\n{text}")
            task_anchor(text, 400)
            task_title(text, 120)
            patch_files(text)
            redact(text)
            explained_patch(text)
    figure(f"{len(texts)} texts of {size:,} characters, each past {len(every_pattern())} patterns within its time")
    assert len(every_pattern()) > 100


def hosts(text: str) -> Iterator[str]:
    """Commands that hold a text where somebody reads it."""
    quoted = text.replace("'", "'\\''")
    yield f"cat '{quoted}'"
    yield f"awk '{quoted}' a.py"
    yield f"sed '{quoted}' a.py"
    yield f"git log '{quoted}'"
    yield f"cp '{quoted}' b"
    for program in ("python3 -", "node -", "ruby -", "perl -", "php"):
        yield f"{program} <<'E_O_F'\n{text}\nE_O_F"


def explained_patch(text: str) -> None:
    """A patch with this text in it, taken in by a ledger."""
    patch = f"*** Begin Patch\n*** Update File: a.py\n@@ {text}\n-a\n+b\n*** End Patch"
    take(Ledger("t", Policy()), Action(patch, "/repo", call=Patch(patch)), lambda _: Observation(text, exit_status=0))


CASES = {
    "blanks in an awk program": "awk '" + " " * 8_000 + "x{' a.py",
    "blanks behind an awk action": 'awk \'{printf "%d:%s\\n", NR, $0' + " " * 8_000 + "x}' a.py",
    "slashes in a here-document": "cat <<'E'\n" + "/" * 250_000 + "\nE",
    "slashes in a word": "cat " + "/" * 30_000 + "x",
    "a long name without an end": "cp a " + "b" * 30_000,
    "blanks in a script for node": "node - <<'E'\nfs.rename(" + " " * 190_000 + "\nE",
    "blanks in a script for perl": "perl - <<'E'\nopen" + " " * 190_000 + "\nE",
    "blanks behind an assignment": "node - <<'E'\ncp(a,b)\nx='a'" + " " * 190_000 + "!\nE",
    "many names in a script": "node - <<'E'\n" + "cp(a,b)\nx='a'\n" * 13_000 + "E",
    "imports in one line": "python3 - <<'E'\nopen\n" + "from os import x " * 11_000 + "\nE",
    "names behind names": "python3 - <<'E'\n"
    + "".join(f"{chr(97 + n)} = ({', '.join([chr(98 + n)] * 64)})\n" for n in range(12))
    + "m = 'x'\nopen(a, 'w')\nE",
    "loops over loops": "python3 - <<'E'\n" + "x = [1]\nfor i in x: open(i, 'w')\n" * 6_000 + "E",
    "times in git": "git log '" + "@{a" * 10_000 + "'",
    "copies in other words": "cat <<'E' > x\n" + "/cp " * 60_000 + "\nE",
    "blanks in a call": "node - <<'E'\nx.replace(" + " " * 190_000 + "\nE",
    "copies in a row": "cat <<'E' > x\n" + "cp " * 60_000 + "\nE",
}
"""What once took minutes, or did not end."""


@pytest.mark.guarantee("bounded")
@pytest.mark.parametrize("name", CASES)
def test_commands_that_once_hung_are_answered(name: str) -> None:
    """Each of these is answered within the leash, before running and after."""
    ledger = Ledger("t", Policy())
    with watched(lambda: name):
        explained(CASES[name])
        take(ledger, Action(CASES[name], "/repo"), lambda _: Observation("done\n", exit_status=0), sealed=True)


@pytest.mark.guarantee("bounded")
@pytest.mark.parametrize(
    "task", ["<issue>" + "\n " * 100_000, "<issue>" * 30_000, "git diff" * 30_000, "\n \n" * 60_000, "#" * 200_000]
)
def test_tasks_that_once_hung_are_taken(task: str) -> None:
    """A task of any shape has its anchor soon."""
    with watched(lambda: repr(task[:30])):
        Ledger(task, Policy()).inform()
