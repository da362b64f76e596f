"""opencode: its tools, its launcher, and its recorded sessions."""

from execledger.agents.places import RunPlace
from execledger.agents.plan_keys import DOCKER, REPOS, TASK_PROMPT, variables
from execledger.agents.registry import HOOKS, PROXY_OPTIONS, Agent
from execledger.session.adapter import Signs

AGENT = Agent(
    folder=__name__,
    name="opencode",
    programs=("opencode",),
    use="run",
    extra="proxy",
    install="npm install -g opencode-ai",
    oldest=(1, 14, 34),
    tested=("1.14.34", "1.18.33"),
    options=(*PROXY_OPTIONS, HOOKS),
    launcher=".launch:start",
    adapter=".tools:ADAPTER",
    dialects=("chat", "messages", "responses"),
    signs=Signs(headers={"user-agent": r"\Aopencode/"}),
    formats=".recorded:FORMATS",
    kept=".kept:KEPT",
    places=(RunPlace(".local/share/opencode", "opencode*.db", (("XDG_DATA_HOME", "opencode"),)),),
    offers=frozenset({"bash", "read", "edit", "todowrite"}),
    batch=".batch:RUNNER",
    batch_program="opencode",
    plan_keys=(
        TASK_PROMPT,
        REPOS,
        DOCKER,
        variables("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"),
    ),
)
"""opencode in the registry."""
