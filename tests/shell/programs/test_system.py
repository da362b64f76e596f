"""The machine, the clock, processes, the network."""

from __future__ import annotations

from execledger.shell.facts import Part
from execledger.vocabulary.records import Category
from tests.shell.programs.calling import changes, kinds, understand, writing

VOLATILE = Part(category=Category.OTHER, volatile=True)


def test_volatile_programs() -> None:
    """What they print depends on more than files."""
    for line in (
        "date",
        "date +%s",
        "ps aux",
        "env",
        "hostname",
        "free -m",
        "whoami",
        "docker ps",
        "systemctl status x",
    ):
        assert understand(line) == VOLATILE, line


def test_setting_what_is_shown() -> None:
    """The same programs can change what they show."""
    lines = ("date -s x", "hostname new", "history -c", "mount /a /b", "jobs -x rm a")
    assert kinds(*lines) == {("other", "unknown")}


def test_printers() -> None:
    """A sequence of numbers is neutral; waiting is, but its time is not."""
    assert understand("seq 3") == Part(comparable=True)
    assert understand("sleep 3") == Part(volatile=True)


def test_transfers() -> None:
    """Only the file that they are told to write is certain."""
    assert changes("curl -sL -o a.tgz https://x") == ("unknown", "FILES", ["a.tgz"])
    assert changes("curl -o /dev/null https://x") == ("unknown", "NONE", [])
    assert changes("wget -O - https://x") == ("unknown", "NONE", [])
    assert changes("wget --output-document=a https://x") == ("unknown", "FILES", ["a"])


def test_ctags() -> None:
    """It writes its index."""
    assert understand("ctags -R .") == writing("tags", category=Category.OTHER)
    assert understand("ctags -f x -R .") == writing("x", category=Category.OTHER)
    assert understand("ctags -x a.c") == Part(category=Category.OTHER)


def test_services_stay() -> None:
    """Services and sessions leave something running."""
    for line in ("service postgresql start", "redis-server", "tmux new -d", "docker run -d x", "docker start x"):
        assert understand(line).background, line


def test_tools_that_may_do_anything() -> None:
    """They are known, and unknown in their effects."""
    assert kinds("kill 1", "openssl x", "sqlite3 a.db", "ffmpeg -i a b", "ssh h", "sphinx-build a b", "mktemp") == {
        ("other", "unknown")
    }


def test_downloads_name_their_file() -> None:
    """Also where the option stands in a cluster."""
    for line in ("curl -o f u", "curl -sSLo f u", "curl --output=f u", "wget -O f u", "wget -qO f u"):
        assert changes(line) == ("unknown", "FILES", ["f"]), line
    for line in ("wget -qO- u", "wget -O - u", "curl u", "curl -o /dev/null u"):
        assert changes(line) == ("unknown", "NONE", []), line
