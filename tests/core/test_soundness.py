"""False reuses that a hostile reading found, each tried with a real shell in a real folder that is sealed.

The agent's own commands are the only writers here, but some of them write where no word says so, or later.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from execledger.core.classify import provable
from execledger.core.ledger import Ledger
from execledger.core.step import take
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Decision, Reuse, Step
from tests.core.stories import Story, text
from tests.support.policies import UNPRICED
from tests.support.simulation.steady_shell import SteadyShell

LINES = "".join(f"line {number} of the file\n" for number in range(1, 31))
LATE = 'until [ -f "{gate}" ]; do sleep 0.02; done; echo late >> a.txt'
"""A job that writes once a gate is there, which is after the next steps."""


class Agent:
    """An agent in a folder of its own."""

    def __init__(self, folder: Path, shell: SteadyShell) -> None:
        self.folder = folder
        self.shell = shell
        self.ledger = Ledger(policy=UNPRICED)

    def do(self, command: str) -> Step:
        """Take one step for real."""

        def run(action: Action) -> Observation:
            output, status = self.shell.run(action.command)
            return Observation(output, exit_status=status)

        return take(self.ledger, Action(command, str(self.folder)), run, sealed=True)

    def ask(self, command: str) -> Decision:
        """What would be decided about a command now."""
        return self.ledger.govern(Action(command, str(self.folder)), None, sealed=True)

    def view(self) -> str:
        """What the state view says."""
        return self.ledger.inform(None, sealed=True).text


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """An agent whose folder holds a few files and scripts."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(LINES)
    late = LATE.format(gate=tmp_path / "gate")
    (folder / "late.sh").write_text(f"( {late} ) > /dev/null 2>&1 &\n")
    (folder / "late.py").write_text(
        f"import subprocess\nsubprocess.Popen(['sh', '-c', {late!r}], stdout=subprocess.DEVNULL, stderr=-3, stdin=-3)\n"
    )
    (folder / "Makefile").write_text("all:\n\tsh late.sh\n")
    (folder / "hard.txt").hardlink_to(folder / "a.txt")
    with SteadyShell(folder) as shell:
        yield Agent(folder, shell)
    # A job that still waits for it comes to its end.
    (tmp_path / "gate").touch()


def wait_for_change(path: Path) -> None:
    """Wait until a job has written to ``path``."""
    until = time.monotonic() + 60
    while path.read_text() == LINES:
        assert time.monotonic() < until, "the job has not written"
        time.sleep(0.01)


@pytest.mark.parametrize(
    "command",
    ["bash late.sh", "sh ./late.sh", ". ./late.sh", "python3 late.py", "eval 'sh late.sh'", "sh -c 'sh late.sh' | cat"],
)
def test_a_job_that_a_script_leaves_behind(agent: Agent, tmp_path: Path, command: str) -> None:
    """Whatever a script's text says, something of it may still run: later reads are neither reused nor current."""
    agent.do(command)
    agent.do("cat a.txt")
    (tmp_path / "gate").touch()
    wait_for_change(agent.folder / "a.txt")
    assert not isinstance(agent.ask("cat a.txt"), Reuse)
    assert "current" not in agent.view()
    assert agent.do("cat a.txt").shown.kind != "reference"


def test_a_process_substitution_outlives_its_command(agent: Agent, tmp_path: Path) -> None:
    """Nobody waits for what runs in one, in a word or as the target of a redirection."""
    late = LATE.format(gate=tmp_path / "gate")
    for command in (f"echo > >( {late} )", f"cat b.txt 2> >( {late} )"):
        agent.ledger = Ledger()
        assert agent.ledger.classify(Action(command, str(agent.folder))).background
    agent.do(f"echo x > >( ( {late} ) > /dev/null 2>&1 )")
    agent.do("cat a.txt")
    (tmp_path / "gate").touch()
    wait_for_change(agent.folder / "a.txt")
    assert not isinstance(agent.ask("cat a.txt"), Reuse)


HIDDEN = (
    "x='a[$(echo y >> a.txt)]'; echo $((x))",
    "x='a[$(echo y >> a.txt)]'; echo ${b[x]}",
    "x='a[$(echo y >> a.txt)]'; (( x ))",
    "x='a[$(echo y >> a.txt)]'; [[ x -eq 0 ]]",
    "x='a[$(echo y >> a.txt)]'; echo ${b:x}",
    "x='a[$(echo y >> a.txt)]'; for ((i = x; i < 1; i++)); do :; done",
    "x='a[$(echo y >> a.txt)]'; echo ${!x}",
    "x='$(echo y >> a.txt)'; echo \"${x@P}\"",
    "x='a[$(echo y >> a.txt)]'; cat <<E\n$((x))\nE",
    "[[ -v 'a[$(echo y >> a.txt)]' ]]",
    "test -v 'a[$(echo y >> a.txt)]'",
    "printf -v 'a[$(echo y >> a.txt)]' z",
    "read 'a[$(echo y >> a.txt)]' < b.txt",
    "unset 'a[$(echo y >> a.txt)]'",
    "declare 'a[$(echo y >> a.txt)]=1'",
    "declare -i z='a[$(echo y >> a.txt)]'",
    "let 'a[$(echo y >> a.txt)]=1'",
    "a[$(echo y >> a.txt)]=1",
    "awk 'BEGIN { system(\"echo y >> a.txt\") }'",
    'awk \'BEGIN { print "y" >> "a.txt" }\'',
    "awk 'BEGIN { \"echo y >> a.txt\" | getline }'",
    "sed -n '1w a.txt' b.txt",
    "sed '1e echo y >> a.txt' b.txt",
    "sed 's/line/echo y >> a.txt; echo/e' b.txt",
    "echo '-o a.txt late.sh' | xargs sort",
    "echo '-delete' | xargs find a.txt",
    "echo '-i 1d a.txt' | xargs sed",
    "x='-o a.txt late.sh'; sort $x",
    "uniq late.sh a.txt",
    "find b.txt -fprint a.txt",
    "find b.txt -exec tee a.txt ';'",
    "cat() { echo y >> a.txt; }; cat b.txt",
    "trap 'echo y >> a.txt' EXIT",
    "mkdir d; printf '#!/bin/sh\\necho y >> a.txt\\n' > d/cat; chmod +x d/cat; PATH=d:$PATH cat b.txt",
    "mkdir d; printf '#!/bin/sh\\necho y >> a.txt\\n' > d/cat; chmod +x d/cat; ./d/cat b.txt",
    "mkdir d; printf '#!/bin/sh\\necho y >> a.txt\\n' > d/cat; chmod +x d/cat; hash -p ./d/cat cat; cat b.txt",
    "cat <(echo y >> a.txt)",
    "tee >(cat > a.txt) < b.txt",
)
"""Commands that write to a.txt where no redirection of their own says so."""


@pytest.mark.parametrize("command", HIDDEN)
def test_what_writes_in_hiding_is_not_called_harmless(agent: Agent, command: str) -> None:
    """The read before it is not reused behind it, and not called current."""
    agent.do("cat a.txt")
    step = agent.do(command)
    record = agent.ledger.results[-1].record
    assert step.shown.kind == "full"
    assert record.effects != "none" and not record.comparable, command
    assert not isinstance(agent.ask("cat a.txt"), Reuse)
    assert "current" not in agent.view()


def test_the_attacks_are_real(agent: Agent) -> None:
    """Most of these commands do change the file here; a few need another version of the shell."""
    changed = 0
    for command in HIDDEN:
        (agent.folder / "a.txt").write_text(LINES)
        agent.shell.run(f"rm -rf d; {command}; wait; sleep 0.01")
        changed += not (agent.folder / "a.txt").exists() or (agent.folder / "a.txt").read_text() != LINES
    assert changed > 0.8 * len(HIDDEN)


@pytest.mark.parametrize(
    "command",
    [
        "cat /proc/uptime",
        "cat //proc/uptime",
        "cat /./proc/uptime",
        "cat /proc/../proc/uptime",
        "cat /usr/../proc/uptime",
        "cat < /proc/uptime",
        "cd / && cat proc/uptime",
        "cd /proc && cat uptime",
        "cat /proc/self/root/etc/passwd",
        "cat /dev/stdin",
        "cat /dev/fd/0",
        "head -c 3 /dev/urandom",
        "cat ../work/a.txt",
        "ls /",
        "grep -r uptime /proc/uptime",
        "date",
        "echo $RANDOM",
        "echo $SECONDS",
        "stat a.txt",
        "ls -l",
        "ls -lu",
        "ls -t --time=atime",
        "find . -mmin -1",
        "find . -newermt now",
        "find . -printf '%A@'",
        "shuf a.txt",
        "sort -R a.txt",
        "git log --since=yesterday",
        "git status",
        "du -s .",
        "df .",
        "ps",
        "env",
        "rg line",
        "jq now a.txt",
        "bat a.txt",
        "FOO=1 cat a.txt",
        "time cat a.txt",
        "cat a.txt & wait",
        "cat $(ls a.txt)",
        "cat *.txt",
        "cat ~/a.txt",
        "if true; then cat a.txt; fi",
        "bash -c 'cat a.txt'",
        "cat a.txt missing | sort",
        "grep -r line . | head -3",
        "tail -f a.txt",
        "cat",
        "cat -",
        "cat --frobnicate a.txt",
    ],
)
def test_what_depends_on_more_than_files_is_never_reused_before_running(agent: Agent, command: str) -> None:
    """Volatile files under any name, clocks, processes, computed words, options that nobody knows."""
    action = Action(command, str(agent.folder))
    assert not provable(action, agent.ledger.classify(action))


@pytest.mark.parametrize(
    "command",
    [
        "cat a.txt",
        "cat -n a.txt | sed -n '3,9p'",
        "sed -n '3,9p' a.txt",
        "sed -n '/line 3/,$p' ./a.txt",
        "head -20 a.txt | tail -5",
        "grep -rn line . --include='*.txt'",
        "grep -c line a.txt b.txt",
        "awk 'NR>=3 && NR<=9' a.txt",
        "ls -a",
        "find . -name '*.txt' -type f",
        "wc -l a.txt b.txt",
        "cat a.txt 2>/dev/null",
        "sort -u a.txt | uniq -c",
        "cat < a.txt",
        "cat a.txt && echo --- && cat b.txt",
    ],
)
def test_plain_readers_are_reused_while_the_seal_holds(agent: Agent, command: str) -> None:
    """They are what agents repeat, and a fresh run prints the same."""
    agent.do("sed -i 1d b.txt")
    agent.do(command)
    decision = agent.ask(command)
    assert isinstance(decision, Reuse), decision
    before, _ = agent.shell.run(command)
    assert agent.ledger.compare(Action(command, str(agent.folder)), decision, Observation(before, exit_status=0))


def test_another_name_for_a_file_is_never_called_current_after_a_write(agent: Agent) -> None:
    """A hard link, a link and a way around: a write through one name makes the others doubtful at least."""
    (agent.folder / "soft.txt").symlink_to("a.txt")
    for name in ("hard.txt", "soft.txt", "b.txt"):
        agent.do(f"cat {name}")
    agent.do("echo more >> a.txt")
    assert "current" not in agent.view()
    for name in ("hard.txt", "soft.txt"):
        assert not isinstance(agent.ask(f"cat {name}"), Reuse)


def test_a_link_made_in_the_run_ends_the_seal(agent: Agent) -> None:
    """Behind it anything may stand, also what changes by itself."""
    for command in ("ln -s /proc/uptime up", "ln a.txt c.txt", "cp -l a.txt d.txt", "cp -s $PWD/a.txt e.txt"):
        agent.ledger = Ledger()
        agent.do(command)
        agent.do("cat b.txt")
        assert not isinstance(agent.ask("cat b.txt"), Reuse), command


@pytest.mark.parametrize(
    "path",
    [
        ".gitattributes",
        ".git/config",
        ".gitignore",
        ".bashrc",
        ".config/git/config",
        "bin/tool",
        "cat",
        "hook.so",
        "etc/x",
    ],
)
def test_a_file_that_steers_programs_ends_the_seal(agent: Agent, path: str) -> None:
    """From then on plain readers may do something else."""
    (agent.folder / path).parent.mkdir(parents=True, exist_ok=True)
    agent.do(f"echo x > {path}")
    agent.do("cat b.txt")
    assert not isinstance(agent.ask("cat b.txt"), Reuse)


@pytest.mark.parametrize("status", [126, 127, -9, 124, 130, 137, 139])
def test_a_program_that_did_not_end_by_itself_is_not_reused(status: int) -> None:
    """It is not there yet, or was stopped; what was stopped may have left something running as well."""
    story = Story(sealed=True)
    story.do("ls -a", "a.txt\n", status)
    assert not isinstance(story.ask("ls -a"), Reuse)
    story.do("cat a.py", text(20))
    assert isinstance(story.ask("cat a.py"), Reuse) == (status in (126, 127))


def test_a_reader_whose_reader_went_away_ended_as_it_should() -> None:
    """A broken pipe is how ``head`` ends what stands before it, so it leaves the seal alone."""
    story = Story(sealed=True)
    story.do("grep -rn x .", "", 141)
    story.do("cat a.py", text(20))
    assert isinstance(story.ask("cat a.py"), Reuse)


def test_our_own_words_change_nothing(agent: Agent) -> None:
    """A file that holds a reference of ours, a view or a tool's answer is a file like any other."""
    (agent.folder / "a.txt").write_text(LINES * 2)
    reference = None
    for _ in range(2):
        reference = agent.do("nl -ba a.txt").shown
    assert reference is not None and reference.kind == "reference"
    for words in (reference.text, agent.view(), "<returncode>0</returncode>\n<output>\nx\n</output>\n"):
        (agent.folder / "b.txt").write_text(f"{words}\n" * 9)
        agent.ledger = Ledger()
        first, again = agent.do("cat b.txt"), agent.do("cat b.txt")
        assert (first.shown.kind, first.observation.output) == ("full", f"{words}\n" * 9)
        assert (again.shown.kind, again.shown.refers_to) == ("reference", (0,))
        (agent.folder / "b.txt").write_text(f"{words}!\n" * 9)
        agent.do("touch a.txt")
        assert agent.do("cat b.txt").shown.kind == "full"


@pytest.mark.parametrize(
    "command",
    [
        "uniq b.txt a.*",
        "sort b.txt -{u,oa.txt}",
        "find . -name a.txt -exec sort b.txt -o{} \\;",
        "for x in $'1wa.txt\\n1'; do sed -n \"${x}p\" b.txt; done",
        "sed -n '\\,l\\,p;#,w a.txt' b.txt",
        'awk \'/[/"]|e/ { print "a;" > "a.txt" }\' b.txt',
        "test $(echo -v) 'a[$(echo >a.txt)]'",
    ],
)
def test_a_look_that_writes_in_disguise(agent: Agent, command: str) -> None:
    """Whatever its effects are thought to be, what was seen before it proves nothing behind it."""
    agent.do("cat a.txt")
    agent.do(command)
    assert "a.txt: whole, 30 lines (current" not in agent.view()
    assert not isinstance(agent.ask("cat a.txt"), Reuse)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("[ -d x ] && cd x; cat a.txt", "cat x/a.txt"),
        ("! true && cd x; cat a.txt", "cat x/a.txt"),
        ("ln -s loop loop; cd loop; cat a.txt", "cat loop/a.txt"),
        ("cat a.txt", "cat a.txt >/dev/null | head -3"),
        ("cat a.txt", "sed '#n' a.txt"),
        ("cat a.txt", "awk 'NR==0,NR==3' a.txt"),
        ("cat a.txt", "cat a.txt/."),
        ("cat a.txt", "cat < a.txt/"),
        ("set +o; cat a.txt", "sed -n '41,42p' a.txt"),
    ],
)
def test_a_read_of_something_else(agent: Agent, first: str, second: str) -> None:
    """A folder that was not entered, an output that went elsewhere, lines that no line has: none is what was seen."""
    agent.do(first)
    assert not isinstance(agent.ask(second), Reuse)
