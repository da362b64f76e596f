"""One shell for many commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.simulation.steady_shell import SteadyShell


def test_each_command_has_a_shell_of_its_own(tmp_path: Path) -> None:
    """Output, error output and status come back; nothing but files is left behind."""
    with SteadyShell(tmp_path, {"GREETING": "hello"}) as shell:
        assert shell.run("echo $GREETING; echo oops >&2; exit 3") == ("hello\noops\n", 3)
        assert shell.run("cd /; x=1; f() { :; }; printf 'no newline'") == ("no newline", 0)
        assert shell.run("echo ${x-unset}; pwd; type -t f") == (f"unset\n{tmp_path}\n", 1)
        assert shell.run("cat <<'E'\nit's \"quoted\"\nE") == ('it\'s "quoted"\n', 0)
        assert shell.run("if")[1] == 2
        assert shell.run("echo x > made; cat") == ("", 0)
    assert (tmp_path / "made").read_text() == "x\n"


def test_a_shell_that_ends_says_so(tmp_path: Path) -> None:
    """It does not leave its caller waiting."""
    with SteadyShell(tmp_path) as shell, pytest.raises(EOFError, match="the shell has ended"):
        shell.run("kill -9 $$")
