"""Runs are what others wrote: whatever is in them, the page gets it as text in JSON, and the server goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execledger.viewer.encoding import encoded
from execledger.viewer.export import element, export
from tests.viewer.stage import DEMO, api, journal_bytes, served, shown, told

SCRIPT = "</script><script>alert(1)</script><img src=x onerror=alert(1)><!--"
ANSI = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J \u202e backwards \u0000 nul"
LONE = "\ud800 half a character \udcff"
LONG = "x" * 3_000_000


@pytest.mark.parametrize("text", [SCRIPT, ANSI, LONE, LONG], ids=["script", "ansi", "surrogate", "long"])
def test_whatever_an_output_holds_is_text(tmp_path: Path, text: str) -> None:
    """In commands, outputs, names of files and of conversations; a page that parses the answer has the same text."""
    path = tmp_path / "evil.ledger.jsonl"
    step = shown(f"echo '{text[:3000]}' > '{text[:50]}.py'", text, thread=text[:50])
    path.write_bytes(journal_bytes(told([step, shown(f"cat '{text[:50]}.py'", text)])))
    # A journal keeps no half characters; what it keeps instead is a mark.
    kept = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    with served(path) as page:
        step_answer = page.get(f"{api(path)}/steps/1")
        assert step_answer["output"]["characters"] == len(kept)
        half = step_answer["output"]["head"]
        assert step_answer["output"]["text"][:half] == kept[:half]
        assert len(page.ask(f"{api(path)}/steps/1")[2]) < 1_000_000
        status, headers, body = page.ask(f"{api(path)}/output/1")
        assert (status, headers["content-type"], body) == (200, "text/plain; charset=utf-8", kept.encode())
        assert page.get(api(path))["line"]["steps"] == 2
        assert page.ask(f"{api(path)}/map?at=1")[0] == 200


def test_a_name_that_is_no_text_reaches_the_page_as_an_escape(tmp_path: Path) -> None:
    """Files may be called by any bytes."""
    path = tmp_path / "half \udcff.json"
    path.write_bytes(DEMO.read_bytes())
    with served(tmp_path) as page:
        assert page.get(api(path))["line"]["name"] == str(path)
        (line,) = page.listed("sort=name&q=half")["runs"]
        assert line["name"] == str(path)
    target = tmp_path / "out.html"
    assert export((str(path),), target, None, None, lambda _: None) == (1, True)
    assert rb"half \udcff.json" in target.read_bytes()


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\x00broken",
        b'{"event":"start"}\n\xff\xff\n',
        b"[" * 100_000,
        b'{"messages": ' + b"[" * 50_000,
        b'{"trajectory_format": "mini-swe-agent-1.1", "messages": 3}',
        b"\n" * 1000,
    ],
)
def test_a_file_that_is_no_run_is_named_and_no_more(tmp_path: Path, content: bytes) -> None:
    """The others are listed and shown."""
    (tmp_path / "bad.jsonl").write_bytes(content)
    (tmp_path / "good.traj.json").write_bytes(DEMO.read_bytes())
    with served(tmp_path) as page:
        answer = page.listed()
        assert [Path(one["name"]).name for one in answer["unreadable"]] == ["bad.jsonl"]
        assert page.error(api(tmp_path / "bad.jsonl"))[0] == 404
        assert page.get(api(tmp_path / "good.traj.json"))["line"]["steps"] == 14


def test_bytes_that_are_no_text_cut_nothing_off(tmp_path: Path) -> None:
    """A mark stands for them, in the first line of a journal too; a line that is no event even so is damage."""
    lines = [journal_bytes([event]) for event in told([shown("ls", "OUT"), shown("pwd")])]
    path = tmp_path / "one.ledger.jsonl"
    head, step = lines[0].replace(b"Mend it", b"Mend \xff"), lines[1].replace(b"OUT", b"a\xff\xfeb")
    path.write_bytes(b"".join((head, step, b'{"event":"step","x":"\xff"}\n', lines[2])))
    with served(path) as page:
        answer, first = page.get(api(path)), page.get(f"{api(path)}/steps/0")
        (line,) = page.listed()["runs"]
    assert (answer["steps"]["label"], answer["trouble"]) == (["ls", "pwd"], ["lines that are no events: 1"])
    assert (first["output"]["text"], line["task"], line["steps"]) == ("a\ufffd\ufffdb", "Mend \ufffd.", 2)


@pytest.mark.parametrize("text", [SCRIPT, LONE, "\u2028 \u2029 &lt; \\u003c"])
def test_no_text_leaves_its_element(text: str) -> None:
    """In an exported page a text can neither end its element nor begin another, and parses to itself."""
    markup = element(f'/api/runs/"{text[:3]}', {"text": text})
    assert markup.count("<") == 2 and markup.endswith("</script>\n")
    _, _, inner = markup.partition(">")
    assert json.loads(inner.removesuffix("</script>\n")) == {"text": text}


def test_answers_are_one_line_each() -> None:
    """Also those with half characters, so that an event is one line."""
    for text in (SCRIPT, ANSI, LONE, "a\r\nb"):
        assert b"\n" not in encoded({"text": text}) and json.loads(encoded({"text": text})) == {"text": text}
