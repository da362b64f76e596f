"""Prices: the shipped table, names of models, the user's own file, and what is wrong with it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
from pathlib import Path

import pytest

from execledger.errors import LedgerError
from execledger.runs.prices import Price, Prices, load_prices, names, shipped
from execledger.runs.usage import Tokens

TOKENS = Tokens(uncached=1_000_000, cached=2_000_000, written=3_000_000, output=4_000_000)
LITELLM = {
    "claude-opus-4-6": "claude-opus-4-6",
    "claude-sonnet-4-5": "claude-sonnet-4-5",
    "deepseek-chat": "deepseek-chat",
    "deepseek-reasoner": "deepseek-reasoner",
    "gemini-3-pro": "vertex_ai/gemini-3-pro-preview",
    "gpt-5": "gpt-5",
    "gpt-5-2-codex": "gpt-5.2-codex",
    "gpt-5-3-codex": "gpt-5.3-codex",
    "gpt-5-4": "gpt-5.4",
    "gpt-5-5": "gpt-5.5",
    "gpt-5-codex": "gpt-5-codex",
    "gpt-5-mini": "gpt-5-mini",
    "gpt-5-nano": "gpt-5-nano",
    "minimax-m2-5": "minimax/MiniMax-M2.5",
}
"""The entry of litellm's cost map that each shipped price was carried over from."""


def test_a_cost_is_each_kind_of_tokens_at_its_price() -> None:
    """Uncached, cached, written and output tokens each have a price per million."""
    assert Price(uncached=1, cached=0.1, written=1.25, output=5).cost(TOKENS) == pytest.approx(1 + 0.2 + 3.75 + 20)


def test_a_price_that_is_left_out_is_the_uncached_one() -> None:
    """Without a discount for reading a cache, or a price for writing to it, input is input."""
    assert Price(uncached=1, output=5).cost(TOKENS) == 6 + 20


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("GPT-5 mini", "gpt-5-mini"),
        ("openai/gpt-5-mini", "gpt-5-mini"),
        ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("@google/gemini-3-pro-preview", "gemini-3-pro"),
        ("openrouter/minimax/minimax-m2.5:free", "minimax-m2-5"),
        ("minimax/MiniMax-M2.5", "minimax-m2-5"),
        ("bedrock/us.anthropic.claude-opus-4-6-v1:0", "claude-opus-4-6"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("azure/global/gpt-5.5-2026-04-23", "gpt-5-5"),
        ("gpt-5.5-high", "gpt-5-5"),
    ],
)
def test_a_model_is_known_by_all_its_names(model: str, name: str) -> None:
    """Providers in front, and dates, states and efforts behind, make no other model."""
    assert shipped().price(model) == shipped().models[name]


@pytest.mark.parametrize("model", ["", "gpt-5.5-pro", "MiniMax-M2.5-lightning", "gpt-5-mini-lite", "local/llama"])
def test_a_model_without_a_price_has_no_cost(model: str) -> None:
    """A name that only begins like a known one is another model, and its cost is unknown, not 0."""
    assert shipped().cost(TOKENS, model) is None


def test_a_model_is_charged_under_its_name_in_the_table() -> None:
    """Not under the spelling by which it was found."""
    assert shipped().charged("azure/gpt-5.5-2026-04-23")[0] == "gpt-5.5"
    assert shipped().charged("local/llama")[0] == "gpt-5 (assumed)"


def test_unknown_tokens_have_no_cost() -> None:
    """Where tokens are not known, neither is the cost."""
    assert shipped().cost(None, "gpt-5-mini") is None


def test_the_fullest_name_wins() -> None:
    """A price for one provider's model, or for one of its versions, goes before the plain one."""
    assert list(names("azure/GPT-5.5-2026-04-23")) == ["azure/gpt-5-5-2026-04-23", "gpt-5-5-2026-04-23", "gpt-5-5"]


def test_the_users_prices_lie_over_the_shipped_ones(tmp_path: Path) -> None:
    """A file replaces prices, adds others, and leaves the rest as it is."""
    path = tmp_path / "mine.toml"
    path.write_text(
        'date = 2027-01-31\n[models."GPT-5 mini"]\nuncached = 9\noutput = 9\n[models.mine]\nuncached = 1\noutput = 2\n'
    )
    prices = load_prices(path)
    assert prices == Prices(
        date=f"2027-01-31, {shipped().date}",
        models={
            **shipped().models,
            "gpt-5-mini": Price(uncached=9, output=9),
            "mine": Price(uncached=1, output=2),
        },
        spelled={**shipped().spelled, "gpt-5-mini": "GPT-5 mini", "mine": "mine"},
        dates={**dict.fromkeys(shipped().models, shipped().date), "gpt-5-mini": "2027-01-31", "mine": "2027-01-31"},
    )
    days = [prices.day(model) for model in ("openai/gpt-5-mini", "gpt-5", "unheard-of")]
    assert days == ["2027-01-31", shipped().date, shipped().date]
    assert shipped().day("gpt-5") == shipped().date
    assert load_prices() is shipped()


def test_the_example_in_the_documents_is_a_table_of_prices(tmp_path: Path) -> None:
    """What a user would copy is read as it stands."""
    page = (Path(__file__).parents[2] / "docs" / "reproduce.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```\n(date = .*?)```", page, re.DOTALL)
    path = tmp_path / "mine.toml"
    path.write_text(example)
    expected = Price(uncached=0.25, cached=0.025, written=0.3, output=2.0, source="my provider")
    assert load_prices(path).price("my-model") == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[models.a]\nuncached = 1\noutput = 1", "`date` is missing, expected the day"),
        ('date = "soon"\n[models.a]\nuncached = 1\noutput = 1', "`date` is 'soon', expected the day"),
        ("date = 2026-01-01", "`models` is missing or empty"),
        ("date = 2026-01-01\nmodel = 1", "has the unknown key `model`\nhint: allowed are: date, models"),
        ("date = 2026-01-01\n[models.a]\nuncached = 1", '[models."a"]: `output` is missing, expected dollars'),
        ("date = 2026-01-01\n[models.a]\nuncached = -1\noutput = 1", "`uncached` is -1, expected dollars from 0"),
        ("date = 2026-01-01\n[models.a]\nuncached = nan\noutput = 1", "`uncached` is nan, expected dollars"),
        ('date = 2026-01-01\n[models.a]\nuncached = 1\noutput = "1"', "`output` is '1', expected dollars from 0"),
        (
            "date = 2026-01-01\n[models.a]\nuncached = 1\noutput = 1\ninput = 1",
            "the key `input` is unknown\nhint: keys",
        ),
        ("date = 2026-01-01\n[models.a]\nuncached = 1\noutput = 1\nsource = 1", "`source` is 1, expected a text"),
        ("date = 2026-01-01\n[models]\na = 3", '[models."a"]: is 3, expected a table with the price of a model'),
        (
            'date = 2026-01-01\n[models."a.1"]\nuncached = 1\noutput = 1\n[models.A-1]\nuncached = 1\noutput = 1',
            '[models."A-1"] stands there under another spelling as well',
        ),
        ("date =", "is not TOML"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_the_key(text: str, found: str, tmp_path: Path) -> None:
    """An error names the file and the key, and says what was expected."""
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(LedgerError) as error:
        load_prices(path)
    assert str(error.value).startswith(str(path))
    assert found in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A missing file is an error for the user, not a fault."""
    with pytest.raises(LedgerError, match="No such file or directory, expected a table of prices"):
        load_prices(tmp_path / "none.toml")


def test_the_shipped_prices_are_those_of_the_cost_map_that_they_name() -> None:
    """Every number stands in the cost map of the version of litellm that the file names."""
    found = importlib.util.find_spec("litellm")
    if found is None or not found.origin or importlib.metadata.version("litellm") != "1.105.3":
        pytest.skip("another version of litellm, or none, is installed")
    path = Path(found.origin).with_name("model_prices_and_context_window_backup.json")
    entries = json.loads(path.read_text(encoding="utf-8"))

    def carried(entry: dict[str, float], key: str) -> float | None:
        return round(entry[key] * 1_000_000, 6) if entry.get(key) else None

    assert {name: [p.uncached, p.cached, p.written, p.output] for name, p in shipped().models.items()} == {
        name: [
            carried(entries[key], field)
            for field in (
                "input_cost_per_token",
                "cache_read_input_token_cost",
                "cache_creation_input_token_cost",
                "output_cost_per_token",
            )
        ]
        for name, key in LITELLM.items()
    }
