"""The figures that Ledger's paper prints, as data, and rows that have its counts."""

from __future__ import annotations

from typing import NamedTuple

from execledger.evaluate.records import RunRow
from execledger.journal.events import Counts
from execledger.runs.usage import Tokens

INSTANCES = 500


class Totals(NamedTuple):
    """One arm over the 500 instances, as far as the paper prints it."""

    resolved: int
    cost: float
    input_tokens: int
    """Printed in millions, with one decimal."""
    model_calls: int | None = None
    """Exact for the base and the full system; for the ablations only thousands are printed."""
    rereads: int = 0
    """Printed for the base and the full system."""


class Compared(NamedTuple):
    """What the paper prints about the base against the full system."""

    agent: str
    model: str
    base: Totals
    ledger: Totals
    recovered: int | None
    regressed: int | None
    """Recoveries and regressions; not printed for Codex."""
    below: float
    """The bound under which the paper says that p lies."""
    pass_at_1: str
    difference: str
    rru: str
    cost: tuple[str, str, str]
    cost_per_resolved: tuple[str, str, str]
    input_tokens: tuple[str, str, str]
    model_calls: tuple[str, str, str]
    rereads: tuple[str, str, str]


GPT = Compared(
    agent="mini-swe-agent 2",
    model="GPT-5 mini",
    base=Totals(281, 23.60, 131_700_000, 10_171, 1_875),
    ledger=Totals(321, 16.78, 110_700_000, 8_986, 1_421),
    recovered=59,
    regressed=19,
    below=0.001,
    pass_at_1="56.2 → 64.2",
    difference="+8.0",
    rru="18.3%",
    cost=("$23.60", "$16.78", "-28.9%"),
    cost_per_resolved=("$0.084", "$0.052", "-37.8%"),
    input_tokens=("131.7M", "110.7M", "-15.9%"),
    model_calls=("10,171", "8,986", "-11.7%"),
    rereads=("1,875", "1,421", "-24.2%"),
)
MINIMAX = Compared(
    agent="mini-swe-agent 2",
    model="MiniMax M2.5",
    base=Totals(379, 34.31, 616_700_000, 30_219, 5_840),
    ledger=Totals(405, 23.39, 289_400_000, 20_566, 3_790),
    recovered=38,
    regressed=12,
    below=0.01,
    pass_at_1="75.8 → 81.0",
    difference="+5.2",
    rru="21.5%",
    cost=("$34.31", "$23.39", "-31.8%"),
    cost_per_resolved=("$0.091", "$0.058", "-36.2%"),
    input_tokens=("616.7M", "289.4M", "-53.1%"),
    model_calls=("30,219", "20,566", "-31.9%"),
    rereads=("5,840", "3,790", "-35.1%"),
)
CODEX = Compared(
    agent="codex",
    model="MiniMax M2.5",
    base=Totals(374, 30.18, 636_500_000, 25_271, 5_097),
    ledger=Totals(391, 22.82, 425_600_000, 20_736, 4_784),
    recovered=None,
    regressed=None,
    below=0.05,
    pass_at_1="74.8 → 78.2",
    difference="+3.4",
    rru="13.5%",
    cost=("$30.18", "$22.82", "-24.4%"),
    cost_per_resolved=("$0.081", "$0.058", "-27.7%"),
    input_tokens=("636.5M", "425.6M", "-33.1%"),
    model_calls=("25,271", "20,736", "-17.9%"),
    rereads=("5,097", "4,784", "-6.1%"),
)
COMPARED = (GPT, MINIMAX, CODEX)

ABLATION = {
    "GPT-5 mini": {
        "inform": Totals(320, 16.09, 106_200_000),
        "govern": Totals(321, 15.67, 149_700_000),
    },
    "MiniMax M2.5": {
        "inform": Totals(385, 25.71, 336_400_000),
        "govern": Totals(402, 30.80, 589_200_000),
    },
}
"""The arms of the ablation that the other tables lack."""

ABLATION_PRINTED = {
    "GPT-5 mini": [
        ("281/500", "56.2", "131.7M", "$23.60"),
        ("320/500", "64.0", "106.2M", "$16.09"),
        ("321/500", "64.2", "149.7M", "$15.67"),
        ("321/500", "64.2", "110.7M", "$16.78"),
    ],
    "MiniMax M2.5": [
        ("379/500", "75.8", "616.7M", "$34.31"),
        ("385/500", "77.0", "336.4M", "$25.71"),
        ("402/500", "80.4", "589.2M", "$30.80"),
        ("405/500", "81.0", "289.4M", "$23.39"),
    ],
}
"""Resolved, Pass@1, input tokens and cost of base, inform, govern and both."""

ABLATION_CALLS = {"GPT-5 mini": ("10.1K", "8.9K"), "MiniMax M2.5": ("30.2K", "20.6K")}
"""Model calls of the base and of the full system, as the ablation prints them."""

ABLATION_COST_CHANGES = {"govern": "-10.2%", "inform": "-25.1%"}
"""With MiniMax M2.5, as the text prints them."""

PUBLISHED = [
    ("SWE-Pruner", "Claude Sonnet 4.5", "70.6 → 72.0", "+1.4", "4.8%"),
    ("SWE-Pruner", "GLM-4.6", "55.4 → 56.6", "+1.2", "2.7%"),
    ("LaMR", "Claude Sonnet 4.5", "70.6 → 71.8", "+1.2", "4.1%"),
    ("LaMR", "Claude Opus 4.6", "75.6 → 76.0", "+0.4", "1.6%"),
]

CACHE_HITS = {"GPT-5 mini": {"govern": 0.807, "both": 0.734}, "MiniMax M2.5": {"base": 0.947}}
"""The only cache-hit rates that are printed."""


def compared_rows(compared: Compared) -> list[RunRow]:
    """500 instances in both arms with the paper's counts; where it prints no paired counts, no instance regresses."""
    regressed = compared.regressed or 0
    before = set(range(compared.base.resolved))
    after = set(range(regressed, regressed + compared.ledger.resolved))
    return [
        *arm_rows(compared, "base", compared.base, before),
        *arm_rows(compared, "both", compared.ledger, after),
    ]


def ablation_rows(compared: Compared) -> list[RunRow]:
    """The two arms of the ablation that the other tables lack; which instances they resolved is not printed."""
    arms = ABLATION[compared.model].items()
    return [row for arm, totals in arms for row in arm_rows(compared, arm, totals, set(range(totals.resolved)))]


def arm_rows(compared: Compared, arm: str, totals: Totals, resolved: set[int]) -> list[RunRow]:
    """One arm: its totals spread over the instances."""
    tokens = shares(totals.input_tokens)
    calls, rereads = shares(totals.model_calls or 0), shares(totals.rereads)
    return [
        RunRow(
            run=f"{arm}/{number}",
            instance=f"instance-{number:03}",
            arm=arm,
            agent=compared.agent,
            model=compared.model,
            preset="" if arm == "base" else "paper",
            resolved=number in resolved,
            model_calls=calls[number],
            counts=Counts(rereads=rereads[number]),
            tokens=Tokens(uncached=tokens[number]),
            cost=totals.cost / INSTANCES,
        )
        for number in range(INSTANCES)
    ]


def shares(total: int) -> list[int]:
    """A whole number as 500 whole numbers, as even as can be."""
    whole, rest = divmod(total, INSTANCES)
    return [whole + (number < rest) for number in range(INSTANCES)]
