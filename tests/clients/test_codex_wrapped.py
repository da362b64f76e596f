"""The real codex behind the proxy: what it runs, what the model is shown of that, and that it stays so for ever."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from execledger.agents.codex import AGENT as CODEX
from execledger.agents.codex.config import direct_tools
from execledger.testing.scripted_model import Usage
from tests.clients.conftest import crossed, installed
from tests.clients.stage import (
    COVERED,
    INVENTORY,
    NOT_RUN,
    RAN,
    REMARK,
    TESTS,
    Json,
    Stage,
    cat,
    ran,
    reference,
    results,
    shell,
    view,
)
from tests.support.agents.codex import CodexHome, Provider, run_codex, start_codex
from tests.support.partial_references import expanded
from tests.support.servers.responses import answer, call, custom, refuse, say, tries, turns

pytestmark = pytest.mark.clients

DONE = say("All done.")
TEST = "python3 -m unittest -q 2>&1 | tail -1"
"""Its last line, which says nothing of the time it took."""
TOO_MUCH = Usage(150_000, 0, 0, 10)
KEY = {"CODEX_API_KEY": "dummy"}
CODE_MODE = "gpt-6.1-sol"
NOWHERE_ELSE = {"chatgpt_base_url": "http://127.0.0.1:9/"}
LIMIT = {"model_auto_compact_token_limit": 100_000}
PATCH = f'''*** Begin Patch
*** Update File: {INVENTORY}
@@ class Inventory:
     def take(self, item: str, count: int = 1) -> None:
         """Take ``count`` of ``item`` from the shelf."""
-        if self._counts.get(item, 0) <= count:
+        if self._counts.get(item, 0) < count:
*** End Patch
'''


def token(claims: Json) -> str:
    """A login's token, signed by nobody."""
    parts = ({"alg": "none", "typ": "JWT"}, claims, "")
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)


ACCOUNT = {"chatgpt_plan_type": "pro", "chatgpt_user_id": "me", "chatgpt_account_id": "mine"}
TOKEN = token({"email": "me@localhost", "exp": 4_000_000_000, "https://api.openai.com/auth": ACCOUNT})
LOGIN = {
    "auth_mode": "chatgpt",
    "tokens": {"id_token": TOKEN, "access_token": TOKEN, "refresh_token": "none", "account_id": "mine"},
    "last_refresh": "2026-01-01T00:00:00Z",
}


def lines(path: str) -> Json:
    """A script of code mode that shows a file."""
    return custom("exec", f'const r = await tools.exec_command({{cmd: "cat {path}"}});\ntext(r.output);')


def looking(binary: Path, home: CodexHome) -> Path:
    """A catalog of models in which each may list folders with a tool."""
    path = direct_tools(str(binary), home.codex)
    catalog = json.loads(path.read_text())
    for model in catalog["models"]:
        model["experimental_supported_tools"] = ["list_dir"]
    path.write_text(json.dumps(catalog))
    return path


def test_what_stands_above_is_run_and_not_shown_again(binary: Path, home: CodexHome) -> None:
    """By default every command runs; an output that stands above, whole or in part, is shown as a reference."""
    part = f"sed -n '5,20p' {INVENTORY}"
    script = turns(cat(INVENTORY), cat(TESTS), shell(part), cat(TESTS), DONE)
    with Stage(binary, home, script) as stage:
        run = stage.run("Fix it.")
    stage.check()
    shown = results(stage.requests[-1])
    texts = [(home.repository / name).read_text() for name in (INVENTORY, TESTS)]
    assert (run.answer, shown[:2]) == ("All done.", texts)
    assert [reference(text) for text in shown[2:]] == [COVERED, RAN]
    assert ran(run) == [f"cat {INVENTORY}", f"cat {TESTS}", part, f"cat {TESTS}"]
    assert stage.counts == (4, 0, 2, 0)


@crossed("preset,sealed", ("verified", True), ("paper", False))
def test_what_is_proven_is_not_run(preset: str, sealed: bool, binary: Path, home: CodexHome) -> None:
    """Codex runs a shim; the model sees its own call and a reference, and what it then asks for again, it is shown."""
    part = f"sed -n '5,20p' {TESTS}"
    script = turns(cat(INVENTORY), cat(TESTS), cat(INVENTORY), shell(part), cat(INVENTORY), DONE)
    with Stage(binary, home, script, preset, sealed=sealed) as stage:
        run = stage.run("Fix it.")
    stage.check()
    shown = results(stage.requests[-1])
    assert [reference(text) for text in shown] == ["", "", NOT_RUN, NOT_RUN, ""]
    assert shown[4] == shown[0] == (home.repository / INVENTORY).read_text()
    assert ran(run) == [
        f"cat {INVENTORY}",
        f"cat {TESTS}",
        f"Instead of cat {INVENTORY}",
        f"Instead of sed -n 5,20p {TESTS}",
        f"cat {INVENTORY}",
    ]
    assert stage.counts == (5, 2, 0, 0)


def test_a_repeated_test_gets_one_remark(binary: Path, home: CodexHome) -> None:
    """Behind the second of three equal results stands a remark, and it stays."""
    with Stage(binary, home, turns(shell(TEST), shell(TEST), shell(TEST), shell("ls"), DONE)) as stage:
        run = stage.run("Fix it.")
    stage.check()
    shown = results(stage.requests[-1])
    assert [REMARK in text for text in shown] == [False, True, False, False]
    assert shown[1].splitlines()[-1].startswith(REMARK)
    assert ran(run) == [TEST, TEST, TEST, "ls"]
    assert stage.counts == (4, 0, 0, 1)


def test_a_script_that_fails_again_in_an_unchanged_tree_gets_one_remark(binary: Path, home: CodexHome) -> None:
    """Other programs ran in between; behind one that wrote a file, nothing is said."""
    script, quiet, writing = "python3 -c 'exit(3)'", "python3 -c 'print(1)'", 'python3 -c \'open("new.txt", "w")\''
    commands = [script, quiet, script, writing, *(f"echo {number}" for number in range(5)), script, quiet]
    with Stage(binary, home, turns(*map(shell, commands), DONE), local_files=True) as stage:
        run = stage.run("Fix it.")
    stage.check()
    shown = results(stage.requests[-1])
    said = [at for at, text in enumerate(shown) if "no file of the working tree has changed since" in text]
    assert said == [2]
    assert ran(run) == commands


def test_the_view_is_the_last_word(binary: Path, home: CodexHome) -> None:
    """From the first request on, the model input ends with the state view, which Codex does not record."""
    with Stage(binary, home, turns(cat(INVENTORY), shell(f"head -n 5 {TESTS}"), DONE)) as stage:
        stage.run("Fix it.")
    stage.check()
    task = "<execution_state>\nTask: Fix it.\n"
    begin = f"{task}Seen, most recent first:\n"
    assert [view(request) for request in stage.requests] == [
        f"{task}</execution_state>",
        f"{begin}- {INVENTORY}: whole, 34 lines (in context)\n</execution_state>",
        f"{begin}- {TESTS}: 1-5 (in context)\n- {INVENTORY}: whole, 34 lines (in context)\n</execution_state>",
    ]


def test_calls_of_one_turn_are_judged_one_by_one(binary: Path, home: CodexHome) -> None:
    """Of two reads at once, the repeated one is not run, wherever it starts; codex runs the shim beside the other."""
    again = call("exec_command", cmd="cat inventory.py", workdir="warehouse")
    script = turns(cat(INVENTORY), [again, cat(TESTS)], DONE)
    with Stage(binary, home, script, "paper") as stage:
        run = stage.run("Fix it.")
    stage.check()
    assert [reference(text) for text in results(stage.requests[-1])] == ["", NOT_RUN, ""]
    assert sorted(ran(run)) == ["Instead of cat inventory.py", f"cat {TESTS}", f"cat {INVENTORY}"]
    assert stage.counts == (3, 1, 0, 0)


@pytest.mark.parametrize("preset", ["paper", "verified"])
def test_tools_of_older_versions(preset: str, old: Path, home: CodexHome) -> None:
    """What one shell tool has shown is not shown again by another, nor is a listing; a swapped one is refused."""
    read, other = call("shell_command", command=f"cat {INVENTORY}"), call("shell", command=["cat", TESTS])
    listed = call("list_dir", dir_path=str(home.repository), limit=100, depth=9)
    again = call("shell", command=["bash", "-lc", f"cat {INVENTORY}"])
    script = turns(read, other, listed, again, cat(TESTS), listed, DONE)
    with Stage(old, home, script, preset) as stage:
        run = stage.run("Fix it.", config={"model_catalog_json": str(looking(old, home))})
    stage.check()
    reused = NOT_RUN if preset == "paper" else RAN
    shown = results(stage.requests[-1])
    assert [reference(text) for text in shown] == ["", "", "", reused, reused, reused]
    assert shown[2].startswith(f"Absolute path: {home.repository}\n.git/\n")
    assert stage.counts == ((6, 3, 0, 0) if preset == "paper" else (6, 0, 3, 0))
    assert len(ran(run)) == 4


@pytest.mark.long
@pytest.mark.parametrize("preset", ["paper", "verified"])
def test_tools_that_look_at_files(preset: str, home: CodexHome) -> None:
    """The oldest version has them for a model of its own tests: lines that one shows, it does not show again."""
    binary = installed(".".join(map(str, CODEX.oldest)))
    path = str(home.repository / INVENTORY)
    read, part = call("read_file", file_path=path), call("read_file", file_path=path, offset=2, limit=30)
    beyond, search = (
        call("read_file", file_path=path, offset=35),
        call("grep_files", pattern="Inventory", include="*.py"),
    )
    shell_read = call("shell_command", command=f"sed -n '2,33p' {INVENTORY}")
    script = turns(read, search, part, beyond, search, shell_read, DONE)
    with Stage(binary, home, script, preset) as stage:
        search_path = f"{binary.parent.parent / 'path'}:{home.environment()['PATH']}"
        stage.run("Fix it.", model="test-gpt-5-codex", extra={"PATH": search_path})
    stage.check()
    shown = results(stage.requests[-1])
    numbered = (f"L{number}: {line}" for number, line in enumerate(Path(path).read_text().splitlines(), 1))
    assert (shown[0], shown[3]) == ("\n".join(numbered), "offset exceeds file length")
    assert sorted(shown[1].splitlines()) == sorted(str(home.repository / name) for name in (INVENTORY, TESTS))
    kinds = [reference(shown[at]) for at in (2, 4)]
    assert kinds == ([NOT_RUN, NOT_RUN] if preset == "paper" else [COVERED, ""])
    assert f"- {INVENTORY}: " in view(stage.requests[-1])


@crossed("preset,sealed", ("verified", True), ("paper", False))
def test_a_read_beside_a_write_proves_nothing(preset: str, sealed: bool, binary: Path, home: CodexHome) -> None:
    """A read behind a write of the same turn is run, and as it may be older than the write, it is run again."""
    read, write = cat(INVENTORY), f"sed -i 's/<= count/< count/' {INVENTORY}"
    script = turns(read, [shell(write), read], read, DONE)
    with Stage(binary, home, script, preset, sealed=sealed) as stage:
        run = stage.run("Fix it.")
    stage.check()
    # The read may have met the file before or after the write; then only the lines that changed were shown again.
    seen = view(stage.requests[2])
    assert any(f"- {INVENTORY}: {lines} (possibly stale, in context)" in seen for lines in ("whole, 34 lines", "1-34"))
    # Of two calls of one turn an old codex tells now and then only one; that none was left out, the counts say.
    assert set(ran(run)) == {f"cat {INVENTORY}", write}
    assert stage.counts[:2] == (4, 0)


BY_TOOL, BY_COMMAND = custom("apply_patch", PATCH), shell(f"apply_patch <<'EOF'\n{PATCH}EOF\n")


@crossed("preset,patch", ("verified", BY_TOOL), ("paper", BY_TOOL), ("paper", BY_COMMAND), ("verified", BY_COMMAND))
def test_a_patch_makes_what_was_read_stale(preset: str, patch: Json, binary: Path, home: CodexHome) -> None:
    """After a patch, by the tool or in a command, what it changed is shown; the view names file and symbol."""
    script = turns(cat(INVENTORY), patch, cat(INVENTORY), shell("ls"), cat(INVENTORY), DONE)
    with Stage(binary, home, script, preset) as stage:
        run = stage.run("Fix it.")
    stage.check()
    shown = results(stage.requests[-1])
    after = (home.repository / INVENTORY).read_text()
    assert ("(item, 0) < count:" in after, expanded(shown[2], shown[0])) == (True, after)
    assert "(item, 0) < count:" in shown[2]
    assert f"Modified, most recent first:\n- {INVENTORY}: Inventory.take\n" in view(stage.requests[2])
    assert f"- {INVENTORY}: whole, 34 lines (stale, in context)" in view(stage.requests[2])
    # A part of the second read was a reference: the third is shown in full.
    assert [reference(text) for text in shown] == ["", "", "", "", NOT_RUN if preset == "paper" else ""]
    assert preset == "paper" or shown[4] == after
    assert [item["type"] for item in run.items].count("file_change") == 1


@pytest.mark.guarantee("witness")
def test_the_view_says_what_the_files_hold(binary: Path, home: CodexHome) -> None:
    """Where the proxy may read the agent's files, lines are current behind any program, and a patch is located."""
    script = turns(cat(INVENTORY), shell("python3 -c 'print(1)'"), BY_TOOL, shell(f"sed -i 1d {INVENTORY}"), DONE)
    with Stage(binary, home, script, local_files=True) as stage:
        stage.run("Fix it.")
    stage.check()
    said = [line for one in stage.requests[1:] for line in view(one).split("\n") if line.startswith(f"- {INVENTORY}: ")]
    assert [line.partition(": ")[2] for line in said if ")" in line] == snapshot(
        [
            "whole, 34 lines (current)",
            "whole, 34 lines (current)",
            "1-23, 25-34 (current); 24 (changed)",
            "1, 24 (changed); 2-23 (now at 1-22); 25-34 (now at 24-33)",
        ]
    )


@pytest.mark.parametrize(("preset", "provider"), [("paper", "custom"), ("verified", "openai")])
def test_after_a_compaction_nothing_that_vanished_is_referred_to(
    preset: str, provider: Provider, binary: Path, home: CodexHome
) -> None:
    """Reuse, reuse, compaction, allow, reuse; the view says what was seen and is no longer in context."""
    read, other = cat(INVENTORY), cat(TESTS)
    script = turns(read, other, read, other, answer(shell("ls"), usage=TOO_MUCH), read, read, DONE)
    with Stage(binary, home, script, preset) as stage:
        run = stage.run("Fix it.", config=LIMIT, provider=provider, extra=KEY)
    stage.check()
    assert [request.kind for request in stage.requests] == [*["turn"] * 5, "compaction", *["turn"] * 3]
    reused = NOT_RUN if preset == "paper" else RAN
    kinds = [[reference(text) for text in results(request)] for request in stage.requests]
    assert kinds[5:] == [["", "", reused, reused, ""], [], [""], ["", reused]]
    status, words = ("current, ", " (current, seen, no longer in context)") if preset == "paper" else ("", "")
    assert view(stage.requests[6]).splitlines()[-4:-1] == [
        "Seen, most recent first:" if preset == "paper" else "Seen, no longer in context:",
        f"- {TESTS}: whole, 27 lines{words}",
        f"- {INVENTORY}: whole, 34 lines{words}",
    ]
    assert f"- {INVENTORY}: whole, 34 lines ({status}in context)" in view(stage.requests[7])
    not_run = [command.startswith("Instead of") for command in ran(run)]
    assert not_run == [kind == NOT_RUN for kind in ("", "", reused, reused, "", "", reused)]
    assert stage.counts == ((7, 3, 0, 0) if preset == "paper" else (7, 0, 3, 0))


@pytest.mark.guarantee("witness")
@pytest.mark.parametrize("provider", ["custom", "openai"])
def test_after_a_compaction_the_view_is_what_remains(provider: Provider, binary: Path, home: CodexHome) -> None:
    """What was seen is separate from what is in context, by where its lines are now; edits are named by their lines."""
    script = turns(
        cat(INVENTORY),
        cat(TESTS),
        # By a command: an old codex tells the result of the tool in another form when it compacts.
        BY_COMMAND,
        shell(f"sed -i '1i # A shop.' {INVENTORY}"),
        answer(shell("python3 -c 'print(1)'"), usage=TOO_MUCH),
        cat(TESTS),
        shell(f"sed -n '20,30p' {INVENTORY}"),
        DONE,
    )
    with Stage(binary, home, script, local_files=True) as stage:
        stage.run("Fix it.", config=LIMIT, provider=provider, extra=KEY)
    stage.check()
    assert [request.kind for request in stage.requests] == [*["turn"] * 5, "compaction", *["turn"] * 3]
    assert view(stage.requests[6]) == snapshot("""\
<execution_state>
Task: Fix it.
Modified, most recent first:
- warehouse/inventory.py: Inventory.take; new lines 1, 25
Seen, no longer in context:
- tests/test_inventory.py: whole, 27 lines (current)
- warehouse/inventory.py: 1-23 (now at 2-24); 24 (changed); 25-34 (now at 26-35)
</execution_state>\
""")
    assert view(stage.requests[8]) == snapshot("""\
<execution_state>
Task: Fix it.
Modified, most recent first:
- warehouse/inventory.py: Inventory.take; new lines 1, 25
Seen, most recent first:
- warehouse/inventory.py: 20-30 (current)
- tests/test_inventory.py: whole, 27 lines (current)
Seen, no longer in context:
- warehouse/inventory.py: 1-19 (now at 2-20); 31-34 (now at 32-35)
</execution_state>\
""")


def approved(binary: Path, home: CodexHome, guard: tuple[str, ...], beyond: Json) -> None:
    """A session on the terminal in which the user is asked about ``beyond``, and about nothing else."""
    script = turns(cat(INVENTORY), cat(INVENTORY), beyond, say("Answer-one."))
    with (
        Stage(binary, home, script, "paper") as stage,
        start_codex(binary, "Start.", url=stage.url, home=home, guard=guard) as screen,
    ):
        screen.wait_for("Would you like to run")
        assert [reference(text) for text in results(stage.requests[-1])] == ["", NOT_RUN]
        screen.press_until("y", "Answer-one.")
    stage.check()
    assert (stage.counts, (home.repository / "made").exists()) == ((3, 1, 0, 0), True)


def test_nobody_is_asked_about_a_shim(binary: Path, home: CodexHome) -> None:
    """With approvals on and nothing writable, the shim runs at once."""
    ask = {"sandbox_permissions": "require_escalated", "justification": "May I?"}
    guard = ("-s", "read-only", "-a", "on-request")
    approved(binary, home, guard, call("exec_command", cmd="touch made", **ask))


def test_nobody_is_asked_about_a_shim_where_little_is_trusted(old: Path, home: CodexHome) -> None:
    """The shim is among the few commands that run without a question under the strictest rule of older versions."""
    approved(old, home, ("-s", "workspace-write", "-a", "untrusted"), shell("touch made"))


@pytest.mark.parametrize("preset", ["paper", "verified"])
def test_scripts_that_make_one_call_are_understood(preset: str, current: Path, home: CodexHome) -> None:
    """In code mode, a script that shows the output of one command is that command; any other runs as it is."""
    measure = f'const r = await tools.exec_command({{cmd: "cat {INVENTORY}"}});\ntext(r.output.length);'
    script = turns(lines(INVENTORY), lines(TESTS), lines(INVENTORY), custom("exec", measure), lines(TESTS), DONE)
    with Stage(current, home, script, preset) as stage:
        run = stage.run("Fix it.", model=CODE_MODE)
    stage.check()
    shown = results(stage.requests[-1])
    text = (home.repository / INVENTORY).read_text()
    reused = NOT_RUN if preset == "paper" else RAN
    assert [reference(one) for one in shown] == ["", "", reused, "", reused]
    assert (shown[0], shown[3]) == (text, str(len(text)))
    reads = {"paper": [INVENTORY, TESTS, INVENTORY], "verified": [INVENTORY, TESTS, INVENTORY, INVENTORY, TESTS]}
    assert ran(run) == [f"cat {name}" for name in reads[preset]]
    shims = [line for line in home.rollouts()[0].read_text().splitlines() if 'text(\\"[ledger:' in line]
    assert len(shims) == (2 if preset == "paper" else 0)


def test_failures_of_the_upstream_are_passed_on(binary: Path, home: CodexHome) -> None:
    """Codex asks again after failures and cut streams: it is shown the same, and what it had received counts."""
    read, write = cat(INVENTORY), shell("echo once >> made.txt")
    cut = answer(read, cut_after=-2)
    script = turns(read, tries(refuse(500), refuse(503), cut, read), answer(write, cut_after=-1), read, DONE)
    with Stage(binary, home, script, "paper") as stage:
        run = stage.run("Fix it.")
    stage.check()
    first, *again, last = stage.requests[1:5]
    assert [request.plain for request in again] == [first.plain] * 2
    assert view(last) == view(first)
    assert [reference(text) for text in results(stage.requests[-1])] == ["", NOT_RUN, "", ""]
    commands = [f"cat {INVENTORY}", f"Instead of cat {INVENTORY}", "echo once >> made.txt", f"cat {INVENTORY}"]
    assert (ran(run), (home.repository / "made.txt").read_text()) == (commands, "once\n")
    assert stage.counts == (4, 1, 0, 0)


def test_the_built_in_provider_goes_through_plain_http(binary: Path, home: CodexHome) -> None:
    """What codex sends to OpenAI's own address, with a login, over a WebSocket or compressed, is understood."""
    (home.codex / "auth.json").write_text(json.dumps(LOGIN))
    script = turns(cat(INVENTORY), cat(INVENTORY), DONE)
    with Stage(binary, home, script, "paper") as stage:
        run = stage.run("Fix it.", provider="openai", config=NOWHERE_ELSE)
        assert stage.server.websockets == 0
        bare = run_codex(binary, "Fix it.", url=stage.server.url, home=home, provider="openai", config=NOWHERE_ELSE)
    stage.check()
    through, direct = stage.requests[:3], stage.requests[3:]
    assert (bare.status, stage.server.websockets > 0) == (0, True)
    tried = run.errors.count("ERROR codex_api::endpoint::responses_websocket")
    assert (tried, [event for event in run.events if event["type"] == "error"]) == (1, [])
    assert [request.headers.get("content-encoding") for request in direct] == ["zstd"] * 3
    assert [request.headers.get("content-encoding") for request in through] == [None] * 3
    assert [reference(text) for text in results(through[-1])] == ["", NOT_RUN]
    assert all(request.authorized for request in stage.requests)
