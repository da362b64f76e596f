"""OpenAI Codex: its tools, its recorded sessions, its launcher, and its runner of evaluations."""

from execledger.agents.plan_keys import DOCKER, REPOS, TASK_PROMPT, PlanKey, variables
from execledger.agents.registry import Agent, Option

AGENT = Agent(
    folder=__name__,
    name="Codex",
    programs=("codex",),
    use="run",
    extra="codex",
    install="npm install -g @openai/codex",
    oldest=(0, 80, 0),
    tested=("0.125.0", "0.166.0"),
    options=(
        Option(name="--upstream", metavar="URL", help="a server that speaks the Responses API, in place of its own."),
        Option(name="--sealed", help="it has this machine to itself, as in a container."),
        Option(name="--direct-tools", help="have tools called directly, not by scripts of the model."),
        Option(name="--pass-through", help="change nothing, not a byte."),
    ),
    launcher=".launch:start",
    adapter=".tools",
    dialects=("responses",),
    formats=".recorded:FORMATS",
    journal_names=".recorded:journal_names",
    batch=".batch",
    batch_program="codex",
    plan_keys=(
        TASK_PROMPT,
        PlanKey(name="direct_tools", kind=bool, default=False, help="a model catalog with direct tools."),
        REPOS,
        DOCKER,
        variables("OPENAI_API_KEY", "CODEX_API_KEY"),
    ),
    records=("rollout-*.jsonl",),
)
"""Codex in the registry."""
