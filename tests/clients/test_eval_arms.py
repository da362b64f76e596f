"""Evaluations of agents behind the proxy: real clients, a scripted model, an arm without Ledger and one with."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from execledger.agents.copilot import AGENT as COPILOT
from execledger.agents.gemini import AGENT as GEMINI
from execledger.agents.opencode import AGENT as OPENCODE
from execledger.agents.openhands import AGENT as OPENHANDS
from execledger.agents.pi import AGENT as PI
from execledger.agents.qwen import AGENT as QWEN
from execledger.demo.repository import make_repository
from execledger.evaluate.collect import collect
from execledger.evaluate.experiment import Salted
from execledger.evaluate.plan import ArmName
from execledger.evaluate.study import Study
from execledger.runs.prices import load_prices
from tests.clients import test_openhands
from tests.support.agents.claude import CURRENT, MODEL, ClaudeHome, claude
from tests.support.agents.native import native
from tests.support.agents.node_clients import node_client
from tests.support.agents.pypi import environment_with
from tests.support.agents.sessions import AgentHome, leaves, or_skip
from tests.support.agents.swebench import make_instances, write_dataset
from tests.support.containers import userland
from tests.support.containers.engine import Engine
from tests.support.servers.scripted import REFUSAL, Request, Script, ScriptedServer, Turn, played

pytestmark = pytest.mark.clients

EVAL = (sys.executable, "-m", "execledger", "eval")
READ = "cat warehouse/inventory.py"
REPAIR = "sed -i 's/<= count/< count/' warehouse/inventory.py && echo new > new.txt"
PATIENCE = 600.0
"""Seconds after which an evaluation is given up; some clients take half a minute to start on a busy machine."""
SALT = re.compile(r"Run (\d{18})\. The working directory")
LOST = b"cat warehouse/inventory.py\\nDirectory: (root)\\nOutput: (empty)"
"""What Qwen Code sends, within a JSON text, of a command whose output it lost."""


class Client(NamedTuple):
    """A client, and how it is led to the scripted model."""

    program: Callable[[], Path]
    """Installs it."""
    variables: Callable[[str], dict[str, str]]
    """The variables of its user, for the address of a server."""
    shell: Callable[[str], tuple[str, dict[str, Any]]]
    """The call that runs a command."""
    ended: str
    """How its runs end."""
    model: str = ""
    """The model in the plan."""
    files: Callable[[str], Mapping[str, Any]] = lambda _: {}
    """Files of its user, in JSON, by their paths below the home folder."""


def _opencode(url: str) -> dict[str, str]:
    models = {"m1": {"limit": {"context": 200_000, "output": 8000}}}
    options = {"baseURL": f"{url}/v1", "apiKey": "dummy"}
    mine = {"npm": "@ai-sdk/openai-compatible", "models": models, "options": options}
    config = {"provider": {"mine": mine}, "share": "disabled"}
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _openhands(url: str) -> dict[str, str]:
    return test_openhands.variables(url, "chat")


def _qwen(url: str) -> dict[str, str]:
    return {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{url}/v1", "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"}


def _pi(url: str) -> dict[str, Any]:
    mine = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "dummy", "models": [{"id": "m1"}]}
    return {".pi/agent/models.json": {"providers": {"mine": mine}}}


def _copilot(url: str) -> dict[str, str]:
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": "dummy",
        "COPILOT_PROVIDER_WIRE_API": "completions",
    }


CLIENTS = {
    "claude": Client(
        program=lambda: claude(CURRENT),
        variables=ClaudeHome.own_variables,
        shell=lambda command: ("Bash", {"command": command}),
        ended="success",
        model=MODEL,
    ),
    "copilot": Client(
        program=lambda: native("@github/copilot", COPILOT.tested[-1], "@github/copilot", "copilot"),
        variables=_copilot,
        shell=lambda command: ("bash", {"command": command, "description": "do it"}),
        ended="status 0",
        model="gpt-5.2",
    ),
    "opencode": Client(
        program=lambda: native("opencode-ai", OPENCODE.tested[-1], "opencode", "bin/opencode"),
        variables=_opencode,
        shell=lambda command: ("bash", {"command": command}),
        ended="stop",
        model="mine/m1",
    ),
    "qwen": Client(
        program=lambda: node_client("@qwen-code/qwen-code", QWEN.tested[-1], "cli-entry.js", "qwen"),
        variables=_qwen,
        shell=lambda command: ("run_shell_command", {"command": command, "is_background": False}),
        ended="success",
        model="qwen3-coder-plus",
        files=lambda _: {
            ".qwen/settings.json": {
                "security": {"auth": {"selectedType": "openai"}},
                # In a terminal of its own the client sometimes loses the output of a short command.
                "tools": {"shell": {"enableInteractiveShell": False}},
            }
        },
    ),
    "gemini": Client(
        program=lambda: node_client("@google/gemini-cli", GEMINI.tested[-1], "bundle/gemini.js", "gemini"),
        variables=lambda url: {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": url},
        shell=lambda command: ("run_shell_command", {"command": command}),
        ended="success",
        model="gemini-2.5-pro",
        files=lambda _: {".gemini/settings.json": {"security": {"auth": {"selectedType": "gemini-api-key"}}}},
    ),
    "openhands": Client(
        program=lambda: (
            environment_with(
                f"openhands-{OPENHANDS.tested[-1]}", test_openhands.PYTHON, f"openhands=={OPENHANDS.tested[-1]}"
            )
            / "bin"
            / "openhands"
        ),
        variables=_openhands,
        shell=test_openhands.terminal,
        ended="finished",
        model="openai/m1",
    ),
    "pi": Client(
        program=lambda: node_client("@mariozechner/pi-coding-agent", PI.tested[-1], "dist/cli.js", "pi"),
        variables=lambda _: {"PI_OFFLINE": "1"},
        shell=lambda command: ("bash", {"command": command}),
        ended="stop",
        model="mine/m1",
        files=_pi,
    ),
}
FAST = ("claude", "copilot")
"""Clients that start in a second or two; the others are left to the long form."""
every = pytest.mark.parametrize(
    "key", [pytest.param(key, marks=[] if key in FAST else [pytest.mark.long]) for key in CLIENTS]
)


class Bench:
    """A folder to evaluate one client in, and the model that it asks."""

    def __init__(self, key: str, folder: Path, script: Script, *, tasks: int = 1) -> None:
        self.key, self.client, self.folder = key, CLIENTS[key], folder
        self.program = or_skip(self.client.program)
        self.server = ScriptedServer(script)
        self.home, self.study = AgentHome(folder), Study(folder / "out")
        instances = make_instances(tasks)
        write_dataset(folder / "dataset", instances)
        for instance in instances:
            make_repository(folder / "repos" / instance.instance_id)

    def __enter__(self) -> Bench:
        self.server.__enter__()
        for path, content in self.client.files(self.server.url).items():
            file = self.home.user / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(content))
        return self

    def __exit__(self, *_: object) -> None:
        self.server.__exit__()

    def plan(self, *lines: str, where: str = 'repos = "repos"') -> None:
        """Write the plan of an evaluation, by default over prepared repositories, with further lines."""
        given = {"agent": self.key, "program": str(self.program), "model": self.client.model, "subset": "dataset"}
        fixed = [f'{name} = "{value}"' for name, value in given.items()]
        (self.folder / "plan.toml").write_text("\n".join([*fixed, where, *lines]))

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start ``execledger eval``."""
        return subprocess.Popen(
            [*EVAL, *words],
            cwd=self.folder,
            env={**self.home.variables(), **self.client.variables(self.server.url)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def call(self, *words: str) -> tuple[int, str, str]:
        """Run ``execledger eval`` to its end; its exit status, and what it printed."""
        process = self.start(*words)
        try:
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        return process.returncode, out, err


def story(client: Client) -> list[Turn]:
    """A file is read twice, and repaired."""
    return [*([client.shell(command)] for command in (READ, READ, REPAIR)), "Repaired."]


def salt_of(request: Request) -> str:
    """The salt of a request; what the model or a tool has said comes after it."""
    for leaf in leaves(request):
        if found := SALT.search(json.dumps(leaf)):
            return found[1]
        assert leaf.get("role") not in ("assistant", "model", "tool")
    raise AssertionError("a request without a salt")


def salt_of_run(study: Study, arm: ArmName) -> str:
    """The salt of the first task's run in the first trial of an arm."""
    recorded, instance = study.recorded(), make_instances(1)[0].instance_id
    assert recorded is not None
    return Salted(study=recorded.salt, template="").salt(arm, instance, 1)


@every
def test_an_evaluation_of_two_arms(key: str, tmp_path: Path) -> None:
    """The repair is what was changed, the recorded session is kept and counted, and the report has both runs."""
    with Bench(key, tmp_path, played(story(CLIENTS[key]))) as bench:
        bench.plan('arms = ["base", "both"]', "workers = 1")
        status, _, err = bench.call("run", "plan.toml", "-o", "out")
        assert status == 0, err
        requests = bench.server.turns
        status, _, err = bench.call("report", "out", "-o", "report", "--format", "md")
        assert status == 0, err
    for arm in (ArmName.BASE, ArmName.BOTH):
        (result,) = bench.study.trial(arm, 1).results().values()
        changed = [line[6:] for line in result.model_patch.splitlines() if line.startswith("+++ b/")]
        assert (changed, result.ended) == (["new.txt", "warehouse/inventory.py"], bench.client.ended)
    # These words are the client's: a reference of Ledger replaces an output as a whole.
    if any(LOST in request.raw for request in requests):
        pytest.skip("the client lost the output of a command")
    unreadable: list[str] = []
    rows = [row for _, row in collect([str(bench.study.root)], load_prices(), unreadable)]
    names = ("proposed", "ran", "elided", "rereads")
    assert unreadable == []
    assert [(row.arm, row.model_calls, *(row.count(name) for name in names)) for row in rows] == [
        ("base", 4, 3, 3, 0, 1),
        ("both", 4, 3, 3, 1, 1),
    ]
    assert not any(row.estimated for row in rows)
    assert {salt_of(request) for request in requests} == {
        salt_of_run(bench.study, arm) for arm in (ArmName.BASE, ArmName.BOTH)
    }
    # Nothing that the agent sees names its arm.
    assert not any(b"/both" in request.raw or b"/base" in request.raw for request in requests)
    report = (tmp_path / "report" / "report.md").read_text()
    assert "the task's prompt begins with a salt in each run" in report and "inform + govern" in report
    assert not bench.study.scratch.exists()


def test_what_is_finished_is_not_run_again_after_a_kill(tmp_path: Path) -> None:
    """Killed in the third of four runs, the same command starts that one over, and runs the last."""
    reached, release = threading.Event(), threading.Event()

    def script(request: Request) -> Turn | int:
        if len({salt_of(one) for one in bench.server.turns}) == 3 and not release.is_set():
            reached.set()
            release.wait(PATIENCE)
        return played(story(CLIENTS["claude"]))(request)

    with Bench("claude", tmp_path, script, tasks=2) as bench:
        bench.plan('arms = ["base", "both"]', "workers = 1")
        running = bench.start("run", "plan.toml", "-o", "out")
        assert reached.wait(PATIENCE)
        running.kill()
        running.communicate()
        release.set()
        before = {path: path.read_bytes() for path in bench.study.root.glob("*/*/*/.result.json")}
        asked = [salt_of(request) for request in bench.server.turns]
        status, _, err = bench.call("run", "-o", "out")
        assert status == 0, err
        after = [salt_of(request) for request in bench.server.turns[len(asked) :]]
    assert (len(before), len(set(asked)), len(set(after))) == (2, 3, 2)
    # The killed client may have sent one more request before it ended.
    assert set(after) & set(asked) <= {asked[-1]}
    assert all(path.read_bytes() == data for path, data in before.items())
    assert [len(bench.study.trial(arm, 1).results()) for arm in (ArmName.BASE, ArmName.BOTH)] == [2, 2]


@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=[] if key == FAST[0] else pytest.mark.long) for key in CLIENTS]
)
def test_the_reason_of_a_failing_client_is_reported(key: str, tmp_path: Path) -> None:
    """A run that no model has answered is not finished, and the client's own words say why."""
    with Bench(key, tmp_path, lambda _: 400) as bench:
        bench.plan('arms = ["base", "both"]', "workers = 1")
        status, _, err = bench.call("run", "plan.toml", "-o", "out")
    told = [line for line in err.splitlines() if "ledger__warehouse-1: " in line]
    assert (status, len(told)) == (1, 2), err
    assert all(REFUSAL in line for line in told), told
    assert "0 of 2 runs finished" in err


@pytest.mark.parametrize("key", ["claude", pytest.param("opencode", marks=pytest.mark.long)])
def test_an_evaluation_in_the_tasks_own_containers(key: str, tmp_path: Path, containers: Engine) -> None:
    """The program is the one file that a container needs; there nothing else writes, so a repeated read is not run."""
    with Bench(key, tmp_path, played(story(CLIENTS[key]))) as bench:
        (instance,) = make_instances(1)
        image = tmp_path / "image"
        make_repository(image / "testbed")
        # What images of the benchmark have of the system's libraries.
        for library in userland.libraries([bench.program]):
            copy = image / (library.parent.resolve() / library.name).relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, copy)
        containers.image(instance.image, image)
        docker = containers.docker(tmp_path)
        bench.plan('arms = ["base", "govern"]', "workers = 1", where=f'docker = "{docker.executable}"')
        status, _, err = bench.call("run", "plan.toml", "-o", "out")
        assert status == 0, err
    for arm in (ArmName.BASE, ArmName.GOVERN):
        (result,) = bench.study.trial(arm, 1).results().values()
        changed = [line[6:] for line in result.model_patch.splitlines() if line.startswith("+++ b/")]
        assert (changed, result.ended) == (["new.txt", "warehouse/inventory.py"], bench.client.ended)
    rows = [row for _, row in collect([str(bench.study.root)], load_prices(), [])]
    assert [(row.arm, row.count("ran"), row.count("suppressed")) for row in rows] == [("base", 3, 0), ("govern", 2, 1)]
    assert docker.gone() and not bench.study.scratch.exists()
