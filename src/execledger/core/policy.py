"""The policy: two presets, three switches, and the numbers behind rules and safeguards."""

from __future__ import annotations

import tomllib
from enum import StrEnum

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr

from execledger.errors import BadPolicy


class Preset(StrEnum):
    """The proof that a reuse before running needs."""

    PAPER = "paper"
    """The published rules: change counters, advanced by recognised writes alone; nothing is compared after running."""
    VERIFIED = "verified"
    """Suppress only what is proven in a sealed environment; otherwise run, then compare."""


RETIRED = {"second_look": 3}
"""Settings of earlier versions that are part of the digest, with the value that live runs had."""
DIGESTED = (
    "preset inform govern shadow max_interventions max_nudges nudge_cooldown repeat_window second_look error_window "
    "view_budget anchor_budget min_output max_share min_run max_results"
).split()
"""The settings that are part of the digest of a ledger's state, in this order: those of the first journals."""
EARLIER: dict[str, str | int | float | bool] = {"cadence": "every", "second_look_rate": 0.0, "partial": False}
"""Settings that came later, with the value by which runs decided that do not record them."""

BYTES_PER_TOKEN = 4
"""Bytes of text that are taken for one token, wherever no provider has counted."""
CACHED_PRICE = 0.1
"""Price of a cached token, in new ones: a tenth or less at Anthropic, Google, OpenAI (GPT-5) and DeepSeek."""
PROMPT_TOKENS = 1_500
"""Tokens of a context before the first result: in recorded runs of mini-swe-agent, system prompt and task take 1,400 to
1,700 (medians). Other agents send several times as many: there a second look is dearer than is estimated."""
CALL_TOKENS = 250
"""Tokens that each call adds to the context besides its result: what the model wrote, and the wrapping of the result.
Medians of recorded runs: 200 to 340."""
LOOK_TOKENS = 600
"""Price of the call that a second look takes, besides reading the context: about 100 tokens of output (the median of
recorded calls is 90 to 350) at six times the price of input (four to eight in the table of prices)."""
RATE_WEIGHT = 10
"""References that ``second_look_rate`` counts for when it is averaged with the run's own: until ten are settled, chance
has more say in a run's rate than the model has."""
LOOK_WINDOW = 3
"""Calls after a reference within which a request for the same content is a second look: a later one has other reasons.
"""
MIN_REFERENCES = 4
"""Settled references before eliding may be stopped (``max_second_looks``). If one reference in ten is looked at again,
three of the first four are in 0.4 % of runs, and 1 % of runs are ever stopped; if two in three are, 93 % are by the
twelfth reference."""


class WitnessSetting(StrEnum):
    """Whether files are looked at before a model call."""

    AUTO = "auto"
    """Wherever the adapter can reach them; never under ``paper``, which has no witness."""
    OFF = "off"
    """Never."""


class Cadence(StrEnum):
    """When a state view is sent, and how much of the state it lists."""

    AUTO = "auto"
    """``focused``; ``every`` under ``paper``, as published."""
    EVERY = "every"
    """The whole view, with every model call."""
    FOCUSED = "focused"
    """The files at hand, only while views cost less than references save."""


class Policy(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The parameters of the rules, each with its default and the reason for it."""

    preset: Preset = Preset.VERIFIED
    """The proof that a reuse needs: ``verified`` asks for one, ``paper`` is as published."""
    inform: bool = True
    """Place the state view at the end of the model's input."""
    govern: bool = True
    """Judge proposed actions and compare their results."""
    shadow: bool = False
    """Record what would be done, and change nothing."""
    witness: WitnessSetting = WitnessSetting.AUTO
    """Look at the files that the state view lists, and at the working tree behind tests and scripts."""
    cadence: Cadence = Cadence.AUTO
    """When a state view is sent: ``focused`` on the files at hand within a budget, or with ``every`` call."""
    max_interventions: int = 200
    """Reuses, references and nudges per task: more than ordinary runs need, and a bound for runs that ignore them."""
    max_nudges: int = 10
    """Nudges per task: a remark that did not help ten times will not help the eleventh time."""
    nudge_cooldown: int = 5
    """Calls between two nudges: a model needs a few steps to act on one."""
    repeat_window: int = 8
    """How many calls back a repeat counts as a loop: short enough that the model can still see both."""
    error_window: int = 3
    """How many results back an error counts as new."""
    view_budget: int = 1600
    """Bytes of the state view: about 400 tokens, uncached at every call, so it must stay small."""
    view_credit: int = 700
    """Tokens that focused views may cost before references have saved any: about 0.3 % of an ordinary run."""
    caches_output: bool = True
    """The provider also caches what the model writes, so that every view keeps an answer out of the cache; runs with a
    model whose provider caches only what it is sent set it to false."""
    anchor_budget: int = 360
    """Bytes of the task anchor within the view: enough to recall the task, not to repeat it."""
    second_look_rate: float = 0.1
    """Share of references after which the model is expected to look again, until the run shows its own; 0: no price."""
    later_calls: int = 10
    """Later calls that read an output from the cache: three of four references in recorded runs had more to come."""
    max_second_looks: float = 0.5
    """Share of a run's references that may be looked at again: above it, eliding costs more than it saves, and ends."""
    min_output: int = 0
    """Bytes of output below which nothing is elided, whatever the price; 300 in versions that had no price."""
    max_share: float = 0.5
    """How large a reference may be, as a share of the output that it replaces."""
    partial: bool = True
    """Omit longer runs of visible lines from a read that also shows others; never under ``paper``."""
    min_omitted: int = 300
    """Bytes that each of these omissions saves: a short gap makes an output harder to read, and saves little."""
    min_run: int = 3
    """Lines of a contiguous run that count as seen: shorter ones match by chance."""
    max_results: int = 3
    """Results that one reference may point at: more are hard to follow."""

    def __post_init__(self) -> None:
        """Convert settings that are given by their names."""
        force_setattr(self, "preset", Preset(self.preset))
        force_setattr(self, "cadence", Cadence(self.cadence))
        force_setattr(self, "witness", WitnessSetting(self.witness))

    @property
    def looks(self) -> bool:
        """Files are looked at where that is possible: for the state view, and for remarks on repeated commands."""
        return (self.inform or self.govern) and self.witness is WitnessSetting.AUTO and self.preset is not Preset.PAPER

    @property
    def priced(self) -> bool:
        """References have to be worth the second looks at them, before and after running; never under ``paper``."""
        return self.preset is not Preset.PAPER and self.second_look_rate > 0

    @property
    def focused(self) -> bool:
        """State views are focused, and not sent with every call."""
        if self.cadence is Cadence.AUTO:
            return self.preset is not Preset.PAPER
        return self.cadence is Cadence.FOCUSED

    @classmethod
    def from_toml(cls, text: str, where: str = "policy") -> Policy:
        """Read a policy from TOML text; ``where`` names it in errors."""
        try:
            values = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadPolicy(f"{where} is not TOML: {error}") from None
        unknown = [key for key in values if key not in cls.__struct_fields__]
        if unknown:
            allowed = ", ".join(cls.__struct_fields__)
            raise BadPolicy(f"{where} has the unknown key `{unknown[0]}`", hint=f"allowed are: {allowed}")
        try:
            policy = msgspec.convert(values, cls)
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            presets = ", ".join(preset.value for preset in Preset)
            hint = f"presets are: {presets}; switches are true or false; numbers are whole, but for shares and rates"
            raise BadPolicy(f"{where}: {error}", hint=hint) from None
        return policy.checked(where)

    def checked(self, where: str = "policy") -> Policy:
        """Return the policy itself if its numbers are valid; raise ``BadPolicy`` otherwise."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0:
                raise BadPolicy(f"{where}: `{name}` is {value}, expected 0 or more")
        if not 0 < self.max_share <= 1:
            raise BadPolicy(f"{where}: `max_share` is {self.max_share}, expected above 0 and at most 1")
        for name in ("second_look_rate", "max_second_looks"):
            if getattr(self, name) > 1:
                raise BadPolicy(f"{where}: `{name}` is {getattr(self, name)}, expected at most 1")
        if self.view_budget < 200:
            raise BadPolicy(f"{where}: `view_budget` is {self.view_budget}, expected at least 200")
        for name in ("min_run", "max_results"):
            if getattr(self, name) < 1:
                raise BadPolicy(f"{where}: `{name}` is {getattr(self, name)}, expected at least 1")
        return self

    def digest_text(self) -> str:
        """Return the policy in one fixed spelling, for digests: the same as in the first journals."""
        values = msgspec.to_builtins(self)
        return msgspec.json.encode({name: values.get(name, RETIRED.get(name)) for name in DIGESTED}).decode()
