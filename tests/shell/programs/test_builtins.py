"""What the shell does by itself."""

from __future__ import annotations

from execledger.shell.facts import Part
from execledger.vocabulary.records import Category, Effects
from tests.shell.programs.calling import kinds, understand

NEUTRAL = Part(comparable=True)


def test_cd() -> None:
    """A literal directory is known, anything else is not."""
    assert understand("cd src") == Part(comparable=True, moves_to="src")
    assert understand("cd -P -- src").moves_to == "src"
    assert understand("pushd src").moves_to == "src"
    for line in ("cd", "cd -", "cd $x", "cd a b", "popd", "pushd", "pushd +1"):
        assert understand(line).moves_to == "", line


def test_neutral_builtins() -> None:
    """They add nothing to a command."""
    for line in ("true", ":", "test -f a", "[ -f a ]", "set -e", "exit 1", "trap - EXIT"):
        assert understand(line) == NEUTRAL, line


def test_submission() -> None:
    """The agent's mark of submission, in whatever quotes."""
    for line in (
        "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
        "echo ' MINI_SWE_AGENT_FINAL_OUTPUT'",
        "printf 'COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\\n'",
    ):
        assert understand(line) == Part(category=Category.SUBMIT), line
    assert kinds("submit") == {("submit", "unknown")}


def test_environment() -> None:
    """Variables are set-up; a sourced file may do anything."""
    assert understand("export A=1") == Part(category=Category.SETUP, volatile=True)
    assert kinds("source a.sh", ". a.sh") == {("setup", "unknown")}


def test_text_that_is_run_later() -> None:
    """Traps, aliases and eval run text that we don't follow."""
    assert kinds("trap 'rm a' EXIT", "mapfile -C x a") == {("other", "unknown")}
    assert understand("alias ll='ls -l'").opaque == "function"
    assert understand("eval x") == Part(category=Category.OTHER, effects=Effects.UNKNOWN, opaque="eval")
