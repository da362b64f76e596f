"""Pitfalls 1 to 9: files change behind one's back, under other names, and by commands that do not look like it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from execledger.core.ledger import Ledger
from execledger.core.policy import Policy
from execledger.core.step import take
from execledger.vocabulary.actions import Action, Observation
from execledger.vocabulary.decisions import Reuse
from tests.guarantees.drivers import CAT, FILE, PRESETS, Shop
from tests.support.guarantees.channels import DISGUISED, STEERED, Channel
from tests.support.guarantees.validity import Verdict, misread, run_channel
from tests.support.recorder import run_command

LONG = "".join(f"line {number} of an output that is long enough to be worth a reference\n" for number in range(12))

WRITERS = (
    "pytest -q tests",
    "python3 -m unittest",
    "tox -e py311",
    "npm test",
    "npm install",
    "pip install -e .",
    "python3 setup.py build_ext --inplace",
    "poetry install",
    "cargo build",
    "cargo fmt",
    "go generate ./...",
    "make",
    "make generate",
    "cmake --build build",
    "./configure",
    "black .",
    "ruff format .",
    "ruff check --fix .",
    "isort src",
    "prettier --write src",
    "eslint --fix src",
    "clang-format -i src/a.c",
    "gofmt -w .",
    "pre-commit run -a",
    "protoc --python_out=. a.proto",
    "alembic upgrade head",
    "python3 manage.py makemigrations",
    "git checkout main",
    "git switch -",
    "git stash",
    "git stash pop",
    "git rebase main",
    "git merge topic",
    "git pull",
    "git reset --hard",
    "git restore src",
    "git clean -fd",
    "git cherry-pick abc",
    "git apply fix.patch",
    "git submodule update",
    "git bisect good",
    "patch -p1 < fix.patch",
    "rsync -t other/ src/",
    "unzip -o src.zip",
    "jupyter nbconvert --inplace a.ipynb",
    "docker compose up",
    "terraform fmt",
)
"""Commands that may write anything, known to the tables or not."""
LEAVERS = (
    "python3 server.py &",
    "nohup python3 watch.py > /dev/null 2>&1 &",
    "setsid ./watch",
    "(sleep 1; touch a) &",
    "npm run dev & sleep 1",
    "tmux new-session -d ./watch",
    "screen -dm ./watch",
    "docker run -d image",
    "docker compose up -d",
    "systemctl start worker",
    "service nginx restart",
    "echo ./job | at now",
    "crontab jobs.txt",
    "coproc ./watch",
    "./watch & disown",
    "gunicorn --daemon app:app",
    "redis-server --daemonize yes",
    "python3 -c 'import subprocess; subprocess.Popen([\"./watch\"])'",
    "python3 - <<'PY'\nimport os\nif os.fork() == 0:\n    os.setsid()\nPY",
    "bash -c './watch &'",
    "inotifywait -d -m src",
    "./unknown-program",
)
"""Commands that may leave something running that writes later."""


@pytest.mark.parametrize("preset", ["sealed", "verified"])
@pytest.mark.guarantee("pitfall-1", "false-reuse")
def test_whatever_may_write_ends_what_was_proven(tmp_path: Path, preset: str, figure: Callable[[str], None]) -> None:
    """Behind each of these, known or not, a read runs again, and nothing seen before is called current."""
    for number, writer in enumerate(WRITERS):
        shop = Shop(tmp_path / "shop", **PRESETS[preset])
        shop.do(CAT)
        shop.do("grep -rn value_1 src")
        shop.do(writer, result=Observation(f"done {number}", exit_status=0))
        assert "(current" not in shop.view(), writer
        for read in (CAT, f"sed -n '5,30p' {FILE}", "grep -rn value_1 src"):
            decision = shop.ledger.govern(Action(read, str(shop.folder)), None, shop.sealed)
            assert not isinstance(decision, Reuse), f"{read} was not run behind {writer}"
    figure(f"0 reuses behind {len(WRITERS)} kinds of writers")


@pytest.mark.guarantee("pitfall-2", "false-reuse")
def test_a_job_left_behind_ends_the_seal_for_good(tmp_path: Path, figure: Callable[[str], None]) -> None:
    """Also what is read after the job was started may change at any moment: it is run, however often."""
    for leaver in LEAVERS:
        shop = Shop(tmp_path / "shop", sealed=True)
        shop.do(leaver, result=Observation("started", exit_status=0))
        for _ in range(6):
            step = shop.do(CAT)
            assert not isinstance(step.decision, Reuse), f"{CAT} was not run behind {leaver}"
        assert "(current" not in shop.view(), leaver
    figure(f"0 reuses behind {len(LEAVERS)} kinds of jobs")


@pytest.mark.parametrize("result", [Observation(timed_out=True), Observation("", exit_status=-9, failed=True)])
@pytest.mark.guarantee("pitfall-2", "pitfall-20")
def test_a_command_that_was_stopped_may_still_be_at_work(tmp_path: Path, result: Observation) -> None:
    """After a timeout or a kill nothing is sealed, whatever the command was."""
    shop = Shop(tmp_path / "shop", sealed=True)
    shop.do("grep -rn value_ src docs", result=result)
    for _ in range(4):
        assert not isinstance(shop.do(CAT).decision, Reuse)


@pytest.mark.parametrize("preset", ["verified", "sealed"])
@pytest.mark.guarantee("pitfall-2", "pitfall-3")
def test_many_rewrites_within_one_second_are_all_seen(tmp_path: Path, preset: str) -> None:
    """Thirty rewrites of equal size, as quick as the machine can, by somebody else or by the agent: all are shown."""
    shop = Shop(tmp_path / "shop", **PRESETS[preset])
    path = shop.folder / FILE
    for number in range(30):
        text = path.read_text().replace(f"value_{40 + (number + 1) % 2}", f"VALUE_{number:02}")
        text = f"# {number:04}\n" + text.removeprefix(f"# {number - 1:04}\n")
        if preset == "sealed":
            shop.do(f"cat > {FILE} <<'EOF'\n{text}EOF")
        else:
            path.write_text(text)
        step = shop.do(CAT)
        assert step.shown.kind != "reference" and shop.read[-1] == text


@pytest.mark.parametrize("moment", [0, 1, 1_000_000_000, 4_000_000_000])
@pytest.mark.guarantee("pitfall-4")
def test_time_stamps_prove_nothing(tmp_path: Path, moment: int) -> None:
    """A change under an old, a future or the same time is shown; another time on equal bytes shows nothing twice."""
    shop = Shop(tmp_path / "shop")
    path = shop.folder / FILE
    shop.do(CAT)
    os.utime(path, (moment, moment))
    assert shop.do(CAT).shown.refers_to == (0,)
    path.write_text(path.read_text().replace("value_21", "VALUE_21"))
    os.utime(path, (moment, moment))
    for number in range(4):
        # So much later that a reference would stand again.
        shop.do(f"grep -c nothing{number} docs/guide.md")
    step = shop.do(CAT)
    assert (step.shown.kind, step.observation.output) == ("full", shop.text())


NAMES = (
    FILE,
    "./src/stock.py",
    "src/../src/stock.py",
    "src//stock.py",
    "{}/src/stock.py",
    "/{}/src/stock.py",
    "linked.py",
    "linked/stock.py",
    "linked/../src/stock.py",
    "twin.py",
)
"""Names of one file: spelled otherwise, through links to it and to its folder, and a hard link."""


@pytest.mark.parametrize("preset", ["sealed", "verified"])
@pytest.mark.guarantee("pitfall-5", "false-reuse")
def test_a_write_under_one_name_is_seen_under_all(tmp_path: Path, preset: str, figure: Callable[[str], None]) -> None:
    """Whichever name is read and whichever is written, the read behind the write is shown as it is."""
    folder = tmp_path / "shop"
    shop = Shop(folder, **PRESETS[preset])
    pairs = 0
    for read in (name.format(folder) for name in NAMES):
        for write in (name.format(folder) for name in NAMES):
            trial = Shop(folder, **PRESETS[preset])
            trial.do(f"cat {read}")
            trial.do(f"echo 'line {pairs}' >> {write}")
            assert "(current" not in trial.view(), f"{read} after a write to {write}"
            step = trial.do(f"cat {read}")
            assert step.shown.kind != "reference" and trial.read[-1] == shop.text(), f"{read} after {write}"
            pairs += 1
    figure(f"0 stale in {pairs} pairs of names")


@pytest.mark.guarantee("pitfall-5")
def test_no_file_is_looked_at_from_outside(tmp_path: Path) -> None:
    """The same steps give the same decisions and the same view, whether or not the files are on this machine."""

    def told(place: str) -> list[str]:
        ledger = Ledger("<issue>Mend it.</issue>", Policy())
        said = []
        for command in (CAT, CAT, "ls src", f"sed -i s/a/b/ {FILE}", CAT, f"sed -n '3,9p' {FILE}"):
            step = take(ledger, Action(command, place), lambda _: Observation(LONG, exit_status=0), None, True)
            said.append(f"{step.decision.rule} {step.shown.text}")
        return [*said, ledger.inform(None, True).text]

    shop = Shop(tmp_path / "shop")
    assert [one.replace(str(shop.folder), "/no/such/place") for one in told(str(shop.folder))] == told("/no/such/place")


APPEARING = (
    "ls -1 src",
    "find src -name '*.py'",
    "grep -rn value_ src",
    "grep -rlE 'value_|nothing' src",
    "cat src/*.py",
    "wc -l src/*.py",
    "ls src/new.py",
    "cat src/new.py",
    "test -e src/new.py && echo yes || echo no",
    "head -n 2 src/new.py src/stock.py",
    "diff src/new.py src/stock.py",
)
"""Reads that tell of a file that was not there."""


@pytest.mark.parametrize("name", ["new.py", "debug_new.py"])
@pytest.mark.parametrize("preset", ["sealed", "verified"])
@pytest.mark.guarantee("pitfall-6", "false-reuse")
def test_a_file_that_appears_is_seen(tmp_path: Path, preset: str, name: str) -> None:
    """What was absent at the first look is told at the second: a source or a scratch file, by whomever it was made."""
    for number, read in enumerate(one.replace("new.py", name) for one in APPEARING):
        shop = Shop(tmp_path / f"shop{number}", **PRESETS[preset])
        before = shop.do(read)
        make = f"echo 'value_new = 1' > src/{name}"
        shop.do(make) if preset == "sealed" else run_command(make, shop.folder)
        after = shop.do(read)
        truth = shop.truth(read)
        assert truth != before.observation and (after.shown.kind, after.observation) == ("full", truth), read


@pytest.mark.guarantee("pitfall-7", "false-reuse")
def test_a_write_in_disguise_is_taken_for_a_write(tmp_path: Path, full: bool, figure: Callable[[str], None]) -> None:
    """However a command hides that it writes, no read behind it is answered with what stood there before."""
    tried = [(command, "") for command in DISGUISED] + [(change, lay) for lay, change in STEERED]
    readers = ("cat", "part of a cat", "grep -r", "glob") if full else ("cat",)
    stale, idle = [], []
    for number, (change, lay) in enumerate(tried):
        channel = Channel(change, change, ("cat",), launch=lay)
        cells = run_channel(channel, tmp_path / str(number), readers, repository="git" in change + lay)
        idle += misread(cells, (channel,))
        stale += [cell for cell in cells if cell.verdict is Verdict.STALE and cell.column != "paper"]
    assert idle == [], "a disguise that writes nothing proves nothing"
    assert stale == []
    figure(f"0 stale behind {len(tried)} disguised writes")


UNRESOLVED = (
    "cat $F",
    'cat "$HOME/stock.py"',
    "cat ${F:-src/stock.py}",
    "cat $(ls src/stock.py)",
    "cat `ls src/stock.py`",
    "cat $(git ls-files | head -3)",
    "cat <(ls src)",
    "cat src/*.py",
    "cat src/st?ck.py",
    "for f in src/*; do cat $f; done",
    "while read f; do cat $f; done < list",
    "show() { cat src/stock.py; }; show",
    "alias show=cat; show src/stock.py",
    "eval 'cat src/stock.py'",
    "cd $D && cat stock.py",
    "pushd $D; cat stock.py",
    "ls src/*.py | xargs cat",
    "xargs cat < list",
    "find src -name '*.py' -exec cat {} +",
    "env F=src/stock.py sh -c 'cat $F'",
    "F=src/stock.py; cat $F",
    ". ./settings.sh; cat src/stock.py",
    'bash -lc "cat $F"',
    "cat ~/stock.py",
    "cat <<< $F",
    "cat - < src/stock.py $X",
    "ssh host cat stock.py",
    "docker exec box cat stock.py",
    "sudo cat src/stock.py",
)
"""Commands of which the words alone do not tell what is read."""


@pytest.mark.guarantee("pitfall-7", "false-reuse")
def test_what_is_not_resolved_is_never_predicted(tmp_path: Path, figure: Callable[[str], None]) -> None:
    """In a sealed place, twice the same, nothing in between: it runs all the same."""
    for command in UNRESOLVED:
        shop = Shop(tmp_path / "shop", sealed=True)
        for _ in range(3):
            step = shop.do(command, result=Observation(LONG, exit_status=0))
            assert not isinstance(step.decision, Reuse), command
    figure(f"{len(UNRESOLVED)} forms, none predicted")


@pytest.mark.guarantee("pitfall-7")
def test_what_is_not_resolved_may_be_spared_after_running(tmp_path: Path) -> None:
    """The bytes of ``cat $(...)`` are compared once they are there."""
    shop = Shop(tmp_path / "shop", sealed=True)
    shop.do(CAT)
    step = shop.do(f"cat $(ls {FILE})")
    assert (step.shown.kind, step.shown.compared, shop.ran) == ("reference", "same", [CAT, f"cat $(ls {FILE})"])


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-8", "false-reuse")
def test_one_name_in_two_folders_is_two_files(tmp_path: Path, preset: str) -> None:
    """The same words in another folder read another file; the same file under two spellings is one."""
    for again, target in (("cd src && cat stock.py", 1), ("cd spare && cat stock.py", 2)):
        shop = Shop(tmp_path / "shop", **PRESETS[preset])
        shop.do("ls -1 docs")
        src, spare = str(shop.folder / "src"), str(shop.folder / "spare")
        shop.do("cat stock.py", cwd=src, result=shop.truth(CAT))
        other = shop.do("cat stock.py", cwd=spare, result=shop.truth("cat spare/stock.py"))
        assert (other.shown.kind, other.observation.output) == ("full", shop.text("spare/stock.py"))
        assert shop.do(again).shown.refers_to == (target,)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.guarantee("pitfall-8", "false-reuse")
def test_in_an_unknown_folder_a_relative_path_names_no_file(tmp_path: Path, preset: str) -> None:
    """Nothing is claimed of it, and nothing is reused by it; an absolute path is the same everywhere."""
    shop = Shop(tmp_path / "shop", **PRESETS[preset])
    shop.do("ls -1 docs")
    for text in (shop.text(), shop.text(), shop.text().upper()):
        step = shop.do("cat stock.py", cwd=None, result=Observation(text, exit_status=0))
        assert not isinstance(step.decision, Reuse)
    # Between the second and the third, the shell may have gone elsewhere.
    assert (shop.ran[1:], step.shown.kind) == (["cat stock.py"] * 3, "full")
    assert "stock.py" not in shop.view()
    absolute = f"cat {shop.folder}/docs/guide.md"
    shop.do(absolute, cwd=None)
    assert "docs/guide.md" in shop.view()
    if preset != "paper":
        assert shop.do(absolute, cwd=None).shown.refers_to == (4,)


CHANGING = (
    "date",
    "date +%s%N",
    "cat src/stock.py; date",
    "echo $RANDOM $SECONDS $$",
    "printf '%(%s)T\\n'",
    "shuf src/stock.py",
    "sort -R src/stock.py",
    "awk 'BEGIN { srand(); print rand() }'",
    "awk 'BEGIN { print systime() }'",
    "ps aux",
    "uptime",
    "free -m",
    "df -h",
    "cat /proc/uptime",
    "cat /proc/self/status",
    "cat //proc/self/../uptime",
    "ls -l /proc/self/fd",
    "cat /var/log/syslog",
    "tail -n 50 server.log",
    "od -An -N8 -tx1 /dev/urandom",
    "curl -s http://localhost:8000/",
    "ss -ltn",
    "docker ps",
    "git log --since=yesterday",
    "git log --format=%ar",
    "git blame --date=relative src/stock.py",
    "git show HEAD@{1.minute.ago}:src/stock.py",
    "git ls-remote",
    "find . -mmin -5",
    "find . -newermt '1 minute ago'",
    "find . -amin -1",
    "ls -lu src",
    "stat src/stock.py",
    "mktemp -u",
    "uuidgen",
    "jobs",
    "pytest -q",
    "python3 -c 'import time; print(time.time())'",
    "cat",
    "cat -",
    "cat /dev/stdin",
)
"""Commands whose output another moment changes."""


@pytest.mark.parametrize("preset", ["sealed", "paper"])
@pytest.mark.guarantee("pitfall-9", "false-reuse")
def test_what_the_moment_decides_is_always_run(tmp_path: Path, preset: str, figure: Callable[[str], None]) -> None:
    """Clock, chance, processes, network: never answered from before, under no preset."""
    for command in CHANGING:
        shop = Shop(tmp_path / "shop", **PRESETS[preset])
        for number in range(4):
            result = Observation(f"{LONG}{number}\n", exit_status=0)
            step = shop.do(command, result=result)
            assert step.observation == result and not isinstance(step.decision, Reuse), command
    figure(f"{len(CHANGING)} commands, each run every time")


@pytest.mark.guarantee("pitfall-9", "false-reuse")
def test_durations_are_set_aside_for_nudges_alone(tmp_path: Path) -> None:
    """A test's time makes no difference to a nudge; in a file that is read, it does."""
    shop = Shop(tmp_path / "shop")
    shop.do("pytest -q", result=Observation("5 passed in 0.12s\n", exit_status=0))
    assert shop.do("pytest -q", result=Observation("5 passed in 0.34s\n", exit_status=0)).shown.kind == "remark"
    shop.do("cat times.txt", result=Observation(f"{LONG}5 passed in 0.12s\n", exit_status=0))
    again = shop.do("cat times.txt", result=Observation(f"{LONG}5 passed in 0.34s\n", exit_status=0))
    assert again.shown.kind != "reference" and "0.34s" in again.observation.output
