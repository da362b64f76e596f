"""mini-swe-agent: the wrapped model, its recorded trajectories, its launcher, and its runner of evaluations."""

from execledger.agents.places import RunPlace
from execledger.agents.plan_keys import PlanKey, at_least_one, finite_limit
from execledger.agents.registry import SEALED, Agent, Option

AGENT = Agent(
    folder=__name__,
    name="mini-swe-agent",
    programs=("mini", "mini-extra"),
    aliases=("mini-swe-agent", "mini-e"),
    use="run",
    package="mini-swe-agent",
    extra="mini",
    modules=("minisweagent", "litellm"),
    oldest=(2, 0, 0),
    tested=("2.4.6",),
    options=(
        Option(name="--placement", choices=("auto", "message", "inside"), help="where the view is placed."),
        SEALED,
    ),
    instead={
        "--pass-through": "EXECLEDGER=off starts the agent without Ledger",
        "--upstream": (
            "mini-swe-agent has the model's address in its configuration: -c model.model_kwargs.api_base=URL"
        ),
    },
    launcher=".launch:start",
    problems=".launch:problems",
    formats=".recorded:FORMATS",
    places=(
        RunPlace(
            ".config/mini-swe-agent",
            "*.traj.json",
            (("MSWEA_GLOBAL_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "mini-swe-agent")),
        ),
    ),
    journal_names=".recorded:journal_names",
    batch=".batch",
    batch_program="mini-extra",
    plan_keys=(
        PlanKey(
            name="config",
            kind=tuple[str, ...],
            default=("swebench.yaml",),
            help="configuration file; may be repeated.",
            metavar="FILE",
        ),
        PlanKey(name="step_limit", kind=int | None, default=None, help="model calls per instance.", fault=finite_limit),
        PlanKey(name="cost_limit", kind=float | None, default=None, help="dollars per instance.", fault=finite_limit),
        PlanKey(
            name="threads",
            kind=int,
            default=1,
            help="parallel instances in one process.",
            fault=at_least_one,
            distributes=True,
        ),
    ),
    isolation="salt",
    records=("*.traj.json",),
    calls=".adapter:ADAPTER",
    framed=r"\s*(?:<exception>|<returncode>|\{\s*\"returncode\")",
)
"""mini-swe-agent in the registry."""
