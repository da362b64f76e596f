"""What the model was shown, taken from rendered results."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.agents.mini.messages import RenderedOutput, observed, rendered_output
from execledger.vocabulary.actions import Observation
from tests.runs.samples import tagged

LONG = "".join(f"line {number}\n" for number in range(2000))


@given(st.text(max_size=60), st.integers(0, 255))
def test_a_tagged_output_is_recovered_exactly(output: str, status: int) -> None:
    """Whatever a command printed comes back as it was, final line break or none, from the text alone."""
    assert observed(tagged(output, status), "x") == Observation(output, exit_status=status)


def test_an_output_that_holds_the_tags_is_recovered_exactly() -> None:
    """The outermost tags count, so a file about the template itself is no trap."""
    output = "<output>\na\n</output>\n<output_head>\nb\n</output_head>\n"
    assert observed(tagged(output), "cat config") == Observation(output, exit_status=0)


@pytest.mark.parametrize("raw", [None, LONG])
def test_a_long_output_is_its_head_and_tail(raw: str | None) -> None:
    """Of a long output the pieces are the first and the last 5,000 characters, with the raw output beside it or not."""
    assert rendered_output(tagged(LONG), raw) == RenderedOutput(LONG[:5000] + LONG[-5000:], 5000, truncated=True)


def test_ten_thousand_characters_are_two_pieces() -> None:
    """At exactly 10,000 characters nothing is missing, but the text is cut in two."""
    assert rendered_output(tagged("x" * 10000)) == RenderedOutput("x" * 10000, 5000, truncated=True)


@given(st.text(max_size=60))
def test_the_json_template_shows_the_whole(output: str) -> None:
    """The JSON template escapes the output; unescaped it is the raw output."""
    escaped = json.dumps({"returncode": 0, "output": output}).replace("<", "\\u003c")
    assert rendered_output(escaped, output) == RenderedOutput(output)


def test_the_json_template_shows_head_and_tail() -> None:
    """The JSON template has its own form of leaving out the middle; text may follow it."""
    fields = {"returncode": 0, "output_head": LONG[:5000], "output_tail": LONG[-5000:], "elided_chars": 9}
    expected = RenderedOutput(LONG[:5000] + LONG[-5000:], 5000, truncated=True)
    assert rendered_output(json.dumps(fields) + "\na remark", LONG) == expected


@pytest.mark.parametrize(
    ("rendered", "raw"),
    [
        ("3 lines were printed", "a\nb\nc\n"),
        (tagged("a\nB\nc\n"), "a\nb\nc\n"),
        (tagged(LONG), LONG.replace("line 7\n", "line seven\n")),
        ('{"output": 3}', "abc"),
        ('{"output"', "abc"),
        ("<output>\nno end", "abc"),
        ("</output> <output>\nwrong way round", None),
    ],
)
def test_what_is_not_known_to_be_shown_is_not_claimed(rendered: str, raw: str | None) -> None:
    """Where text and recorded output disagree, or the marks are not known, no piece of the output is claimed."""
    assert rendered_output(rendered, raw) == RenderedOutput(rendered, None, truncated=True)


def test_a_timeout_keeps_its_partial_output() -> None:
    """The timeout template quotes the command and adds a line break of its own behind the output."""
    command = "cat <<E\n<output>\nE"
    text = (
        f"The last command <command>{command}</command> timed out and has been killed.\n"
        "The output of the command was:\n <output>\n1 passed\n\n</output>\nPlease try another command."
    )
    assert observed(text, command) == Observation("1 passed\n", timed_out=True)


def test_a_long_timeout_is_its_head_and_tail() -> None:
    """A timeout template without the command, with the middle of the output left out."""
    text = (
        "The last action timed out and has been killed.\nThe output of the action was:\n<warning>Long.</warning>\n"
        "<output_head>\naa\n</output_head>\n<elided_chars>7 characters elided</elided_chars>\n"
        "<output_tail>\nbb\n\n</output_tail>\nPlease try another command."
    )
    assert observed(text, "pytest") == Observation("aabb\n", cut=2, truncated=True, timed_out=True)


@pytest.mark.parametrize(
    "text", ["", "diff --git a/x b/x\n", "Please always provide EXACTLY ONE action", "<output>\n</output>"]
)
def test_other_texts_are_no_results(text: str) -> None:
    """Complaints, patches and empty messages are not taken for results."""
    assert observed(text, "ls") is None


def test_a_result_in_an_unknown_form_claims_no_output() -> None:
    """A return code followed by anything else is a result whose output is not known."""
    rendered = "<returncode>1</returncode>\nsee the log"
    assert observed(rendered, "make") == Observation("\nsee the log", exit_status=1, truncated=True)
