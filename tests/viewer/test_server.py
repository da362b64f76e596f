"""What the page is answered, and who is answered nothing."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from msgspec.structs import replace

from execledger.core.fingerprint import fingerprint
from execledger.core.policy import Policy, Preset
from execledger.errors import LedgerError
from execledger.local_server.server import LocalServer
from execledger.viewer.compare import common, pairs
from execledger.viewer.counting import ADDED, run_id
from execledger.viewer.live import Pace
from execledger.viewer.reading import JournalReading
from execledger.viewer.responses import POLICY
from execledger.viewer.runs import reading_of
from execledger.viewer.server import Activity, Viewer, ViewerSettings
from execledger.vocabulary.decisions import Shown
from tests.journal.runs import plain_step, start
from tests.support.long_journal import write_long_run
from tests.viewer.stage import DEMO, PATIENCE, Page, api, eventually, journal_bytes, served, shown, told


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A viewer on the demo's run."""
    with served(DEMO) as asked:
        yield asked


def test_the_list_is_the_shelfs(page: Page) -> None:
    """One run, whole, and nothing that can't be read."""
    answer = page.listed()
    sums = {name: answer["runs"][0][name] for name in ADDED}
    known = {name: int(value is not None) for name, value in sums.items()}
    assert {name: value for name, value in answer.items() if name != "runs"} == {
        "totals": [
            {
                "shadow": False,
                "replayed": True,
                "took_part": False,
                "runs": 1,
                "sums": sums,
                "known": known,
                "estimated": {"uncached_tokens": 1, "run_cost": 1},
                "beside": {"uncached_tokens": sums, "run_cost": sums},
                "prices": {
                    "date": answer["runs"][0]["price_date"],
                    "models": ["gpt-5 (assumed)"],
                    "assumed": 1,
                    "recorded": 0,
                    "assumed_costs": 1,
                },
            }
        ],
        "unreadable": [],
        "total": 1,
        "pending": 0,
        "listed": True,
        "choices": answer["choices"],
        "comparable": True,
    }
    assert [run["id"] for run in answer["runs"]] == [run_id(str(DEMO))]
    assert page.get("/api/runs?q=nothing+like+it")["runs"] == []
    assert page.get("/api/runs?sort=name&desc=1&offset=1&limit=5")["runs"] == []


def test_the_run_its_steps_and_its_map_are_the_models(page: Page) -> None:
    """The answers are those of the reading, as JSON."""
    reading = reading_of(str(DEMO), DEMO.read_bytes(), None, None)
    reading.read()
    own = msgspec.json.decode(msgspec.json.encode(reading.answer()))
    assert page.get(api(DEMO)) == own
    for step in range(len(reading.model)):
        assert page.get(f"{api(DEMO)}/steps/{step}") == msgspec.json.decode(msgspec.json.encode(reading.step(step)))
        files = msgspec.json.decode(msgspec.json.encode(reading.map_at(step)))
        assert page.get(f"{api(DEMO)}/map?at={step}") == {"files": files}


def test_an_output_is_given_in_parts_as_plain_text(page: Page) -> None:
    """By characters, with the number of them all."""
    whole = page.get(f"{api(DEMO)}/steps/1")["output"]["text"]
    status, headers, body = page.ask(f"{api(DEMO)}/output/1?offset=3&length=20")
    assert (status, headers["content-type"], body) == (200, "text/plain; charset=utf-8", whole[3:23].encode())
    assert headers["x-total-characters"] == str(len(whole))
    assert page.ask(f"{api(DEMO)}/output/1")[2] == whole.encode()


def test_a_run_compared_with_itself_is_the_same(page: Page) -> None:
    """Step by step, with the same numbers on both sides."""
    same = run_id(str(DEMO))
    answer = page.get(f"/api/compare?a={same}&b={same}")
    assert answer["pairs"] == [[step, step, "same"] for step in range(14)]
    assert answer["totals"]["steps"] == [14, 14]
    assert answer["a"] == answer["b"] == page.get(api(DEMO))["line"]


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/api/runs?sort=size", 400, "`sort` is none of rereads,"),
        ("/api/runs?limit=-1", 400, "`limit` is not a number, expected one from 0 on"),
        ("/api/runs?offset=%D9%A3", 400, "`offset` is not a number"),
        (f"{api(DEMO)}/map", 400, "`at` is not a number"),
        (f"{api(DEMO)}/map?at=14", 404, "there is no step 14 in this run, which has 14"),
        (f"{api(DEMO)}/steps/99", 404, "there is no step 99"),
        (f"{api(DEMO)}/steps/x", 404, "not found"),
        ("/api/runs/0123456789abcdef", 404, "there is no such run here"),
        (f"/api/compare?a={run_id(str(DEMO))}", 404, "there is no such run here"),
        ("/nothing.js", 404, "not found"),
    ],
)
def test_what_makes_no_sense_is_answered_in_one_sentence(page: Page, path: str, status: int, words: str) -> None:
    """As JSON, with a status that says whose mistake it is."""
    found, error = page.error(path)
    assert (found, error[: len(words)]) == (status, words)


@pytest.mark.parametrize(
    "path",
    [
        "/../server.py",
        "/%2e%2e/server.py",
        "/..%2fserver.py",
        "//etc/passwd",
        "/page/../../server.py",
        "/.",
        "/index.html%00.js",
        "/api/runs/..%2f..%2f..%2fetc%2fpasswd",
        f"/api/runs/{'../' * 8}etc/passwd",
        f"/api/runs/{DEMO}",
        "/api/runs/0123456789abcdef/../../x",
    ],
)
def test_no_path_leads_out(page: Page, path: str) -> None:
    """Only what was given is there, under names that it was given."""
    status, headers, body = page.ask(path)
    assert (status, headers["content-type"], b"root:" in body) == (404, "application/json", False)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_a_foreign_page_is_turned_away(page: Page, headers: dict[str, str]) -> None:
    """By the name that it called us by, and by where it says that it comes from."""
    status, answered, body = page.ask("/api/runs", **headers)
    assert (status, answered["content-type"]) in ((403, "application/json"), (400, "text/plain; charset=utf-8"))
    assert b"runs" not in body


@pytest.mark.parametrize(
    "request_", [b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nA B\r\n\r\n"], ids=["no-host", "broken"]
)
def test_a_bad_request_is_answered_and_not_told(
    page: Page, request_: bytes, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """The client is told; the terminal of the viewer stays as it is."""
    with socket.create_connection(("127.0.0.1", page.port), timeout=PATIENCE) as connection:
        connection.sendall(request_)
        assert connection.recv(100).startswith(b"HTTP/1.0 400 ")
    assert (caplog.messages, capfd.readouterr().err) == ([], "")


def test_a_fault_of_the_server_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """It is not the client's."""

    async def broken(_: web.Request) -> web.Response:
        raise ZeroDivisionError

    def application() -> web.Application:
        made = web.Application()
        made.router.add_get("/", broken)
        return made

    with LocalServer(0, application) as serving:
        assert Page(serving.port).ask("/")[0] == 500
    assert [record.exc_info and record.exc_info[0] for record in caplog.records] == [ZeroDivisionError]


def test_our_own_page_is_welcome(page: Page) -> None:
    """By each name of this machine, also with the headers that a browser adds."""
    for host in (f"127.0.0.1:{page.port}", f"localhost:{page.port}", f"[::1]:{page.port}", "localhost"):
        status, _, _ = page.ask("/api/runs", Host=host, Origin=f"http://{host}", Sec_Fetch_Site="same-origin")
        assert status == 200, host
    assert page.ask("/", Sec_Fetch_Site="cross-site")[0] == 200, "a link may lead to the page itself"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_there_is_nothing_to_change(page: Page, method: str) -> None:
    """Only looking is allowed."""
    assert page.ask("/api/runs", method)[0] == 405


@pytest.mark.parametrize("path", ["/", "/style.css", "/main.js", "/api/runs", "/nothing", f"{api(DEMO)}/output/1"])
def test_every_answer_is_locked_up(page: Page, path: str) -> None:
    """No script but our own files, no guessing of types, no frame, no referrer, no copy in a cache."""
    _, headers, _ = page.ask(path)
    assert headers["content-security-policy"] == POLICY
    assert "require-trusted-types-for 'script'; trusted-types 'none'" in POLICY and "unsafe" not in POLICY
    assert {name: headers[name] for name in ("x-content-type-options", "referrer-policy", "cache-control")} == {
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
    }
    assert (headers["cross-origin-opener-policy"], headers["x-frame-options"]) == ("same-origin", "DENY")


def test_large_answers_are_packed_for_those_who_can_unpack_them(page: Page) -> None:
    """And only for them."""
    plain, packed = (page.ask(api(DEMO), Accept_Encoding=coding) for coding in ("identity", "gzip"))
    assert ("content-encoding" in plain[1], packed[1]["content-encoding"]) == (False, "gzip")
    assert plain[2] == packed[2]


def test_a_policy_of_ones_own_replays_journals_too(tmp_path: Path) -> None:
    """What was done is not shown then, but what would be."""
    path = tmp_path / "one.ledger.jsonl"
    path.write_bytes(journal_bytes(told([shown("cat a.py", "x\n" * 300), shown("cat a.py", "x\n" * 300)])))
    with served(path) as page:
        governed = page.get(api(path))
    with served(path, policy=Policy(preset=Preset.PAPER)) as page:
        replayed = page.get(api(path))
    assert _decided(governed) == (False, False, False, ["allow", "allow"], ["", ""])
    assert _decided(replayed) == (True, True, True, ["allow", "reuse"], ["", "would-reuse"])


def _decided(answer: Any) -> tuple[bool, bool, bool, list[str], list[str]]:
    """Whose decisions a run has, and what they are."""
    line, steps = answer["line"], answer["steps"]
    return line["replayed"], line["took_part"], line["hypothetical"], steps["decision"], steps["mark"]


def test_a_long_run_is_answered_before_it_is_read(tmp_path: Path) -> None:
    """With its first steps, and the word that more is to come; a step far ahead can be asked for all the same."""
    path = tmp_path / "long.ledger.jsonl"
    write_long_run(path, steps=60, size=60_000)
    with served(path, pace=Pace(first=0.0)) as page:
        first = page.get(api(path))
        assert (len(first["steps"]["label"]), first["more"]) == (1, True)
        assert page.get(f"{api(path)}/steps/59")["index"] == 59
        assert len(page.get(api(path))["steps"]["label"]) == 60


def test_slow_runs_keep_nobody_waiting(tmp_path: Path) -> None:
    """While many pages wait for a run that takes long to open, the list and other runs are there."""
    journal, slow = tmp_path / "one.ledger.jsonl", tmp_path / "slow.traj.json"
    journal.write_bytes(journal_bytes(told([shown("ls")])))
    slow.write_bytes(DEMO.read_bytes())
    gate = threading.Event()
    with served(tmp_path, resolver=lambda: gate.wait(PATIENCE) and None) as page, ThreadPoolExecutor(8) as pool:
        try:
            eventually(lambda: page.get("/api/runs")["total"] == 2)
            waiting = [pool.submit(page.get, api(slow)) for _ in range(8)]
            assert page.get(api(journal))["line"]["steps"] == 1
            assert page.get("/api/runs")["total"] == 2
            assert not any(one.done() for one in waiting)
        finally:
            gate.set()
        assert {one.result()["line"]["steps"] for one in waiting} == {14}


def test_reading_makes_way_for_questions(tmp_path: Path) -> None:
    """Whoever asks for a step while a long run is being read waits for one more step, and not for all of them."""
    path = tmp_path / "long.ledger.jsonl"
    write_long_run(path, steps=60, size=60_000)
    reading = JournalReading("long", lambda: path.open("rb"))
    reading._asking.append(None)
    reading.read(seconds=3600.0)
    assert len(reading.model) == 1
    reading._asking.clear()
    reading.read(seconds=3600.0)
    assert len(reading.model) == 60


def test_whether_anybody_looks_is_known() -> None:
    """Nobody at first; while somebody is answered it is not quiet, and from then on the time is counted."""
    now = [100.0]
    activity = Activity(lambda: now[0])
    assert activity.quiet() is None
    with activity.answering():
        now[0] += 5
        assert activity.quiet() == 0.0
    now[0] += 7
    assert activity.quiet() == 7.0


def test_a_page_that_is_open_says_so(page: Page) -> None:
    """It is answered nothing, and that is all."""
    assert page.ask("/api/here")[::2] == (204, b"")


def test_a_file_that_vanishes_is_a_sentence(tmp_path: Path) -> None:
    """Between the list and the look, and while it is open."""
    path = tmp_path / "one.ledger.jsonl"
    path.write_bytes(journal_bytes(told([shown("ls")])))
    with served(tmp_path) as page:
        assert page.listed()["total"] == 1
        page.get(api(path))
        os.unlink(path)
        for asked in (api(path), f"{api(path)}/steps/0"):
            status, error = page.error(asked)
            assert (status, error) == (404, "the file of this run is not there any more")


def test_a_journal_that_breaks_the_ledger_ends_there(tmp_path: Path) -> None:
    """Others write what they like: what stands before a reference to nowhere is shown and listed, the rest is said."""
    path = tmp_path / "one.ledger.jsonl"
    sound = shown("cat a.py", "a\n")
    mark = fingerprint(sound.observation, steady=False)
    evil = replace(sound, shown=Shown("reference", "[as above]", (77,), result=mark))
    path.write_bytes(
        journal_bytes([start(), *(replace(plain_step(at), step=one) for at, one in enumerate((sound, evil)))])
    )
    with served(path) as page:
        answer = page.get(api(path))
        assert (answer["steps"]["label"], answer["trouble"]) == (["cat a.py"], ["lines that are no events: 1"])
        assert page.listed()["runs"] == [answer["line"]]


def test_only_this_machine_can_reach_it(tmp_path: Path) -> None:
    """The viewer listens on loopback, and a port that is taken is named."""
    with Viewer(ViewerSettings(paths=(str(tmp_path),))) as viewer:
        assert viewer.url == f"http://127.0.0.1:{viewer.port}/"
        with pytest.raises(LedgerError, match=f"port {viewer.port} can't be listened on"):
            Viewer(ViewerSettings(paths=(str(tmp_path),), port=viewer.port))


def test_steps_are_aligned_by_their_commands() -> None:
    """As many as possible in the order of both; equal results are told from others."""
    one = [("ls", "1"), ("cat", "1"), ("test", "1"), ("edit", ""), ("test", "2")]
    other = [("cat", "1"), ("grep", "1"), ("edit", ""), ("test", "3"), ("submit", "")]
    assert pairs(one, other) == [
        (0, None, "removed"),
        (1, 0, "same"),
        (2, None, "removed"),
        (None, 1, "added"),
        (3, 2, "same"),
        (4, 3, "changed"),
        (None, 4, "added"),
    ]
    assert pairs([], other[:1]) == [(None, 0, "added")]


def test_the_alignment_is_a_longest_one() -> None:
    """Against the textbook's table, on words that repeat."""
    one, other = "abcabbacbaabcbca" * 3, "cbabacaabbcacbab" * 3
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, left in enumerate(one):
        for j, right in enumerate(other):
            table[i + 1][j + 1] = table[i][j] + 1 if left == right else max(table[i][j + 1], table[i + 1][j])
    chain = common(one, other)
    assert len(chain) == table[-1][-1]
    assert all(one[i] == other[j] for i, j in chain)
    assert chain == sorted(chain) and len({i for i, _ in chain}) == len({j for _, j in chain}) == len(chain)
