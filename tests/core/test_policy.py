"""The policy: defaults, TOML, and errors that name what is wrong."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot
from msgspec import to_builtins
from msgspec.structs import replace

from execledger.core.policy import Policy, Preset
from execledger.errors import BadPolicy
from tests.core.stories import wrapped


def error(text: str) -> str:
    with pytest.raises(BadPolicy) as caught:
        Policy.from_toml(text, "my.toml")
    return str(caught.value)


def test_an_empty_file_is_the_default_policy() -> None:
    """Everything has a default."""
    assert Policy.from_toml("") == Policy()


def test_settings_are_taken_from_toml() -> None:
    """What is not named keeps its default."""
    text = 'preset = "paper"\ninform = false\nview_budget = 800\nmax_share = 1\n'
    assert Policy.from_toml(text) == Policy(preset=Preset.PAPER, inform=False, view_budget=800, max_share=1.0)


def test_a_preset_may_be_given_by_its_name() -> None:
    """In code too, where nothing decodes it; a name that no preset has is an error."""
    assert Policy(preset="paper").preset is Preset.PAPER  # type: ignore[arg-type]
    assert replace(Policy(), preset="paper") == Policy(preset=Preset.PAPER)
    with pytest.raises(ValueError, match="papers"):
        Policy(preset="papers")  # type: ignore[arg-type]


def test_the_defaults_are_those_of_the_design() -> None:
    """A change of a default is a change of behaviour, to be made on purpose."""
    assert to_builtins(Policy()) == snapshot(
        {
            "preset": "verified",
            "inform": True,
            "govern": True,
            "shadow": False,
            "witness": "auto",
            "cadence": "auto",
            "max_interventions": 200,
            "max_nudges": 10,
            "nudge_cooldown": 5,
            "repeat_window": 8,
            "error_window": 3,
            "view_budget": 1600,
            "view_credit": 700,
            "caches_output": True,
            "anchor_budget": 360,
            "second_look_rate": 0.1,
            "later_calls": 10,
            "max_second_looks": 0.5,
            "min_output": 0,
            "max_share": 0.5,
            "partial": True,
            "min_omitted": 300,
            "min_run": 3,
            "max_results": 3,
        }
    )


def test_the_digest_is_that_of_the_first_journals() -> None:
    """Settings that came later or are gone change no digest: an old journal rebuilds the state that it recorded."""
    assert Policy(preset=Preset.PAPER, max_share=0.25, min_output=300).digest_text() == (
        '{"preset":"paper","inform":true,"govern":true,"shadow":false,"max_interventions":200,"max_nudges":10,'
        '"nudge_cooldown":5,"repeat_window":8,"second_look":3,"error_window":3,"view_budget":1600,"anchor_budget":360,'
        '"min_output":300,"max_share":0.25,"min_run":3,"max_results":3}'
    )


def test_an_unknown_key_is_named_with_those_that_are_allowed() -> None:
    """A typing error is found at once."""
    assert wrapped(error("max_nudgs = 3")) == snapshot("""\
my.toml has the unknown key `max_nudgs`
hint: allowed are: preset, inform, govern, shadow, witness,
cadence, max_interventions, max_nudges, nudge_cooldown, repeat_window, error_window, view_budget,
view_credit, caches_output, anchor_budget, second_look_rate, later_calls, max_second_looks,
min_output, max_share, partial, min_omitted, min_run, max_results\
""")


@pytest.mark.parametrize("name", ["presets", "policy", "Inform"])
def test_every_unknown_key_is_an_error(name: str) -> None:
    """Nothing that was meant as a setting is ignored."""
    assert f"`{name}`" in error(f"{name} = 3")


def test_an_unknown_preset_is_named_with_those_that_exist() -> None:
    """The hint lists the presets."""
    assert error('preset = "strict"') == snapshot("""\
my.toml: Invalid enum value 'strict' - at `$.preset`
hint: presets are: paper, verified; switches are true or false; numbers are whole, but for shares and rates\
""")


def test_a_value_of_the_wrong_type_is_named() -> None:
    """A number is no switch and a text no number."""
    assert (error("inform = 1"), error('max_nudges = "ten"')) == snapshot(
        (
            """\
my.toml: Expected `bool`, got `int` - at `$.inform`
hint: presets are: paper, verified; switches are true or false; numbers are whole, but for shares and rates\
""",
            """\
my.toml: Expected `int`, got `str` - at `$.max_nudges`
hint: presets are: paper, verified; switches are true or false; numbers are whole, but for shares and rates\
""",
        )
    )


@pytest.mark.parametrize(
    "text",
    [
        "max_nudges = -1",
        "max_share = 0.0",
        "max_share = 1.5",
        "max_share = nan",
        "view_budget = 199",
        "min_run = 0",
        "max_results = 0",
    ],
)
def test_a_number_out_of_range_is_named(text: str) -> None:
    """The message has the key in it."""
    assert f"`{text.partition(' ')[0]}`" in error(text)


def test_what_is_not_toml_says_where() -> None:
    """The file is named, and the place in it."""
    assert error("max_nudges =\n") == snapshot("my.toml is not TOML: Invalid value (at line 1, column 13)")
