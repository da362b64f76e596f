"""Claude Code: its tools, its adapter for the proxy, its launcher, and its recorded transcripts."""

from execledger.agents.places import RunPlace
from execledger.agents.plan_keys import DOCKER, REPOS, TASK_PROMPT, variables
from execledger.agents.registry import HOOKS, PROXY_OPTIONS, Agent
from execledger.session.adapter import Signs

AGENT = Agent(
    folder=__name__,
    name="Claude Code",
    programs=("claude",),
    names=("claude-code",),
    use="run",
    extra="proxy",
    install="npm install -g @anthropic-ai/claude-code",
    oldest=(2, 0, 0),
    tested=("2.1.197", "2.1.325"),
    options=(*PROXY_OPTIONS, HOOKS),
    launcher=".launch:start",
    adapter=".adapter",
    dialects=("messages",),
    # Not the user agent: Qwen Code sends one of the same form.
    signs=Signs(headers={"x-claude-code-session-id": "."}),
    standing=".standing",
    formats=".recorded:FORMATS",
    kept=".recorded:KEPT",
    places=(
        RunPlace(".claude", "projects", (("CLAUDE_CONFIG_DIR", ""),)),
        RunPlace(".config/claude", "projects", (("CLAUDE_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "claude"))),
    ),
    offers=frozenset({"Bash", "Read", "Edit"}),
    batch=".batch:RUNNER",
    batch_program="claude",
    plan_keys=(
        TASK_PROMPT,
        REPOS,
        DOCKER,
        variables("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    ),
)
"""Claude Code in the registry."""
