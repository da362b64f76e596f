"""Files that steer programs."""

from __future__ import annotations

import pytest

from execledger.shell.environment import steers

STEERING = """
    /r/.gitconfig /r/.git/config /r/.git/hooks/post-checkout /r/.git/info/exclude /r/.gitattributes /r/.gitignore
    /r/.bashrc /r/.bash_profile /r/.profile /r/.rgignore /r/.ignore /r/.ripgreprc /r/.inputrc /r/.lesskey /r/.toprc
    /r/.config/git/config /etc/gitconfig /etc/profile.d/x.sh /usr/local/bin/x /r/bin/x /r/venv/bin/python /r/tools/grep
    /r/cat /r/libx.so /r/libx.so.6 /r/x.dylib /r/sub/.hidden/x
""".split()
PLAIN = "/r/a.py /r/src/b.txt /r/lib/matplotlib/axes.py /r/setup.py /r/README /r/src /r/cabin/x /r/binary/y".split()


@pytest.mark.parametrize("path", STEERING)
def test_settings_and_programs_steer(path: str) -> None:
    """Start-up files, settings, ignore lists, hooks, libraries and whatever is called like a known program."""
    assert steers(path, "/r")


@pytest.mark.parametrize("path", PLAIN)
def test_other_files_do_not(path: str) -> None:
    """Sources, documents and folders of a project."""
    assert not steers(path, "/r")


def test_folders_above_the_work_are_no_sign() -> None:
    """Work that stands in a hidden folder is work all the same."""
    assert not steers("/w/.cache/work/a.py", "/w/.cache/work")
    assert steers("/w/.cache/work/.x", "/w/.cache/work")
    assert steers("/w/.bashrc", "/w/work")
