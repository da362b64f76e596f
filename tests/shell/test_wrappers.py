"""Commands that run another command."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from execledger.shell.options import literal_word
from execledger.shell.tree import Word
from execledger.shell.wrappers import Peeled, peel
from tests.shell.asking import ask, outcome, reads


def words(command: str) -> tuple[Word, ...]:
    return tuple(literal_word(word) for word in command.split())


def peeled(command: str) -> Peeled:
    """The command without its wrappers, whether these are processes of their own or not."""
    return replace(peel(words(command)), apart=False)


CAT = words("cat f")


@pytest.mark.parametrize(
    "wrapper",
    [
        "env",
        "env -i",
        "env -u X",
        "timeout 5",
        "timeout -k 5 10",
        "timeout --signal=KILL 10",
        "timeout --foreground 1m",
        "nice",
        "nice -n 5",
        "ionice -c 3",
        "stdbuf -oL",
        "command",
        "exec",
        "/usr/bin/env",
        "env timeout 5 nice -n 3",
    ],
)
def test_wrappers_come_off(wrapper: str) -> None:
    """The command behind them is the command."""
    assert peeled(f"{wrapper} cat f") == Peeled(CAT)


def test_wrappers_say_more() -> None:
    """Some print something of their own, leave the command running or move it elsewhere."""
    assert peeled("time -p cat f") == Peeled(CAT, volatile=True)
    assert peeled("sudo -E A=b cat f") == Peeled(CAT, volatile=True, given=words("A=b"))
    assert peeled("env -u X A=b nice env C=d cat f") == Peeled(CAT, given=words("A=b C=d"))
    assert peeled("timeout 0.1 cat f") == Peeled(CAT, volatile=True)
    assert peeled("nohup cat f") == Peeled(CAT, background=True)
    assert peeled("setsid -f cat f") == Peeled(CAT, background=True)
    assert peeled("env -C x cat f") == Peeled(CAT, moved=literal_word("x"))
    assert peel(words("xargs -t cat")).volatile


@pytest.mark.parametrize(
    "command",
    [
        "env",
        "env -S",
        "env --frob cat f",
        "sudo -i cat f",
        "sudo -b cat f",
        "time -o log cat f",
        "timeout 5",
        "bash s.sh",
        "bash -c",
        "bash --frob -c x",
        "command -v cat",
        "xargs --frob cat",
    ],
)
def test_what_is_not_certain_stays(command: str) -> None:
    """A wrapper whose options are not all known, or that moves or forks by itself, is left as it stands."""
    assert peeled(command) == Peeled(words(command))


@pytest.mark.parametrize(
    "command",
    [
        "bash -c X",
        "bash -lc X",
        "sh -c X a b",
        "bash --login -c X",
        "bash -c -l X",
        "bash -eo pipefail -c X",
        "timeout 5 bash -euc X",
    ],
)
def test_shells_run_a_text(command: str) -> None:
    """The text is the first word behind the options, wherever -c stands."""
    assert peeled(command) == Peeled((), literal_word("X"))


def test_a_shell_that_traces() -> None:
    """It prints its commands among their output."""
    assert peeled("bash -xc X") == Peeled((), literal_word("X"), volatile=True)


def test_words_that_xargs_adds_are_computed() -> None:
    """What comes down the pipe may be any file or option."""
    assert peel(words("xargs cat f")).words[-1].literal is None
    assert peel(words("xargs -I{} cat {} f")).words == (literal_word("cat"), Word("{}", None), literal_word("f"))
    assert peel(words("xargs")).words[0].literal == "echo"


def test_a_process_of_its_own_does_not_move_the_shell() -> None:
    """Nor does ``cd`` move what its own line opens, which happens before."""
    assert outcome("env cd d; rm f") == ("modify", "listed", ["/r/f"])
    assert outcome("command cd d && rm f") == ("modify", "listed", ["/r/d/f"])
    assert outcome("cd d > f && rm f") == ("modify", "listed", ["/r/f", "/r/d/f"])
    assert outcome("{ cd d; ls; } > f")[2] == ["/r/f"]


def test_wrapped_commands_are_understood() -> None:
    """The whole way through."""
    assert reads("sudo -u x timeout 5 bash -lc 'cd /x && sed -n 1,5p b'") == [("/x/b", 1, 5)]
    assert outcome("env A=b rm f") == ("modify", "listed", ["/r/f"])
    assert outcome("env -C sub rm f") == ("modify", "listed", ["/r/sub/f"])
    assert outcome("ls | xargs -I{} sed -i s/a/b/ {}") == ("modify", "unknown", [])
    assert outcome("ls | xargs grep x") == ("search", "none", [])
    assert ask("ls | xargs -I{} sh -c 'rm {}'").opaque == "eval"
    assert ask('bash -c "cat $F"').opaque == "eval"
