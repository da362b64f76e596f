"""OpenAI Codex: its tools, its recorded sessions, its launcher, and its runner of evaluations."""

from execledger.agents.places import RunPlace
from execledger.agents.plan_keys import DOCKER, REPOS, TASK_PROMPT, PlanKey, variables
from execledger.agents.registry import PROXY_OPTIONS, Agent, Option
from execledger.session.adapter import Signs

AGENT = Agent(
    folder=__name__,
    name="Codex",
    programs=("codex",),
    names=("codex-cli",),
    use="run",
    extra="codex",
    modules=("aiohttp", "zstandard", "tree_sitter_javascript"),
    install="npm install -g @openai/codex",
    oldest=(0, 80, 0),
    tested=("0.125.0", "0.166.0"),
    options=(
        *PROXY_OPTIONS,
        Option(name="--direct-tools", help="have tools called directly, not by scripts of the model."),
    ),
    launcher=".launch:start",
    adapter=".tools",
    dialects=("responses",),
    signs=Signs(headers={"user-agent": "(?i)codex", "originator": "(?i)codex", "x-codex-turn-metadata": "."}),
    standing=".standing",
    formats=".recorded:FORMATS",
    places=tuple(RunPlace(".codex", folder, (("CODEX_HOME", ""),)) for folder in ("sessions", "archived_sessions")),
    journal_names=".recorded:journal_names",
    batch=".batch:RUNNER",
    batch_program="codex",
    plan_keys=(
        TASK_PROMPT,
        PlanKey(name="direct_tools", kind=bool, default=False, help="a model catalog with direct tools."),
        REPOS,
        DOCKER,
        variables("OPENAI_API_KEY", "CODEX_API_KEY"),
    ),
    # Where earlier versions of Ledger kept them.
    records=("rollout-*.jsonl",),
    isolation="cache key",
    offers=frozenset({"exec_command"}),
    free_text=frozenset({"apply_patch", "exec"}),
    framed=r"(?:Command: |Chunk ID: \w+\nWall time: |Wall time: |Exit code: -?\d+\nWall time: )",
)
"""Codex in the registry."""
