"""Scripts of code mode: which are one call, and which are not certain to be."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.agents.codex import scripts
from execledger.agents.codex.scripts import Script, Shows, read_script
from execledger.session.adapter import ToolCall


def runs(shows: Shows, **arguments: object) -> Script:
    return Script(ToolCall("exec_command", json.dumps(arguments, separators=(",", ":"))), shows)


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ('const r = await tools.exec_command({cmd: "ls"});\ntext(r.output);', runs(Shows.OUTPUT, cmd="ls")),
        ("let out = await tools.exec_command({'cmd': 'ls',})\ntext(out.output)", runs(Shows.OUTPUT, cmd="ls")),
        ("var r = await tools.exec_command({cmd: `ls`}); text(r.output);;", runs(Shows.OUTPUT, cmd="ls")),
        ('text((await tools.exec_command({cmd: "ls"})).output)', runs(Shows.OUTPUT, cmd="ls")),
        ('const o = (await tools.exec_command({cmd: "ls"})).output; text(o);', runs(Shows.OUTPUT, cmd="ls")),
        ('const {output} = await tools.exec_command({cmd: "ls"}); text(output);', runs(Shows.OUTPUT, cmd="ls")),
        (
            'const { exit_code: e, output: o } = await tools.exec_command({cmd: "ls"}); text(o);',
            runs(Shows.OUTPUT, cmd="ls"),
        ),
        ('const cmd = "ls";\nconst r = await tools.exec_command({cmd});\ntext(r.output)', runs(Shows.OUTPUT, cmd="ls")),
        (
            'const r = await tools.exec_command({cmd: "ls", workdir: "/x", yield_time_ms: 1000, tty: false,'
            ' prefix_rule: ["git", "log"], login: null}); text(r.output);',
            runs(
                Shows.OUTPUT,
                cmd="ls",
                workdir="/x",
                yield_time_ms=1000,
                tty=False,
                prefix_rule=["git", "log"],
                login=None,
            ),
        ),
        (
            '// look\nconst r = /* now */ await tools.exec_command({ // here\n cmd: "ls" });\ntext(r.output); // done',
            runs(Shows.OUTPUT, cmd="ls"),
        ),
        ('const r = await tools.exec_command({cmd: "ls"}); text(r);', runs(Shows.RESULT, cmd="ls")),
        ('text(JSON.stringify(await tools.exec_command({cmd: "ls"}), null, 2));', runs(Shows.RESULT, cmd="ls")),
        ('await tools.exec_command({cmd: "ls"});', runs(Shows.NOTHING, cmd="ls")),
        (
            "text(await tools.apply_patch('*** x\\n'));",
            Script(ToolCall("apply_patch", "*** x\n", custom=True), Shows.RESULT),
        ),
        (
            "const p = String.raw`*** x\n+\\d`;\nawait tools.apply_patch(p);",
            Script(ToolCall("apply_patch", "*** x\n+\\d", custom=True), Shows.NOTHING),
        ),
    ],
)
def test_one_call_in_a_thin_wrapping_is_that_call(text: str, script: Script) -> None:
    """In the spellings that models write."""
    assert read_script(text) == script


@pytest.mark.parametrize(
    "text",
    [
        "",
        "text('hello');",
        'const r = await tools.exec_command({cmd: "ls"}); text(r.output.trim());',
        'const r = await tools.exec_command({cmd: "ls"}); text(r.output.slice(0, 9));',
        'const r = await tools.exec_command({cmd: "ls"}); text(`${r.output}`);',
        'const r = await tools.exec_command({cmd: "ls"}); text(r.output + "x");',
        'const r = await tools.exec_command({cmd: "ls"}); text("a"); text(r.output);',
        'const r = await tools.exec_command({cmd: "ls"}); text(r.output); text(r.output);',
        'const r = await tools.exec_command({cmd: "ls"}); text(r.exit_code);',
        'const {exit_code} = await tools.exec_command({cmd: "ls"}); text(exit_code);',
        'const r = await tools.exec_command({cmd: "ls"}) text(r.output);',
        'const r = tools.exec_command({cmd: "ls"}); text(r.output);',
        'const r = await tools.exec_command({cmd: "ls"}); if (r.exit_code) text(r.output);',
        'await tools.exec_command({cmd: "ls"}); const b = await tools.exec_command({cmd: "ls"}); text(b.output);',
        "for (const c of ['a']) { text((await tools.exec_command({cmd: c})).output); }",
        "const r = await tools.exec_command({cmd: `ls ${x}`}); text(r.output);",
        "const r = await tools.exec_command({cmd: String.raw`ls ${x}`}); text(r.output);",
        'const r = await tools.exec_command({cmd: "a" + "b"}); text(r.output);',
        "const r = await tools.exec_command({cmd: name}); text(r.output);",
        'const r = await tools.exec_command({...x, cmd: "ls"}); text(r.output);',
        'const r = await tools.exec_command({["cmd"]: "ls"}); text(r.output);',
        'const r = await tools.exec_command({cmd: "ls", cmd: "pwd"}); text(r.output);',
        'const r = await tools.exec_command({__proto__: "x", cmd: "ls"}); text(r.output);',
        'const r = await tools.exec_command({cmd: "ls"}, 1); text(r.output);',
        'const r = await tools["exec_command"]({cmd: "ls"}); text(r.output);',
        "const r = await tools.write_stdin({session_id: 1}); text(r.output);",
        'const text = "x"; const r = await tools.exec_command({cmd: "ls"}); text(r.output);',
        'const tools = "x"; await tools.exec_command({cmd: "ls"});',
        'const r = "x"; const {output: r} = await tools.exec_command({cmd: "ls"}); text(r);',
        'text(r.output); const r = await tools.exec_command({cmd: "ls"});',
        'const r = await tools.exec_command({cmd: "ls"});\n(text)(r.output)',
        'const r = await tools.exec_command({cmd: "ls"})\n.then(f); text(r.output);',
        'await tools.apply_patch("a", "b");',
        "await tools.apply_patch();",
        'const r = await tools.exec_command({cmd: "ls"}); /* open',
        'const r = await tools.exec_command({cmd: "l\ns"}); text(r.output);',
        "text(JSON.stringify(" * 5000,
        "await tools.exec_command({a: " + "[" * 5000,
    ],
)
def test_anything_else_is_opaque(text: str) -> None:
    """What is not certain is not read."""
    assert read_script(text) is None


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r'"a\n\t\\\"\/\'b"', "a\n\t\\\"/'b"),
        (r"'\x41\u0042\u{43}\u{1F600}'", "ABC\U0001f600"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        ('"a\\\nb"', "ab"),
        ('"${HOME}"', "${HOME}"),
        (r"`a\`b\${c}`", "a`b${c}"),
        ("`a\r\nb\rc`", "a\nb\nc"),
        ("String.raw`\\n\\``", "\\n\\`"),
        (r'"\ud83d"', None),
        (r'"\u12"', None),
        (r'"\u{110000}"', None),
        (r'"\xg1"', None),
        (r'"\1"', None),
        (r'"\0"', None),
    ],
)
def test_literals_mean_what_the_language_says(literal: str, value: str | None) -> None:
    """Escapes of every kind; those that mean nothing, or something else in an old dialect, are not read."""
    found = read_script(f"await tools.apply_patch({literal});")
    assert (found.call.text if found else None) == value


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_text_in_json_is_a_literal(text: str) -> None:
    """Most models write strings as JSON does, which the language reads the same."""
    found = read_script(f"const r = await tools.exec_command({json.dumps({'cmd': text})}); text(r.output);")
    assert found is not None and json.loads(found.call.text) == {"cmd": text}


@given(st.text(alphabet="const r=await tools.exec_command({cmd:'`\"ls\\$ \n;/*}).output"))
def test_no_text_breaks_the_reader(text: str) -> None:
    """It is a script or it is not."""
    assert isinstance(read_script(text), Script | None)


def test_without_the_grammar_every_script_is_opaque(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tree-sitter-javascript is not installed, nothing is known of a script, and nothing fails."""
    monkeypatch.setitem(sys.modules, "tree_sitter_javascript", None)
    scripts._parser.cache_clear()
    try:
        assert scripts.read_script.__wrapped__('await tools.exec_command({cmd: "ls"});') is None
    finally:
        scripts._parser.cache_clear()
