"""What Ledger saved, what it spent on state views, and what remains of it, in dollars.

Tokens of one kind are never set against tokens of another: a reference spares an output once when it is new and then,
mostly from the cache, with every later call; a view is never cached. Only prices make the two comparable.
"""

from __future__ import annotations

from msgspec import Struct

from execledger.journal.events import Ended, Event, Started, StepRecorded, ViewRendered
from execledger.runs.caching import charges_for_writes, text_bytes
from execledger.runs.prices import Prices, load_prices
from execledger.runs.replay import output_bytes
from execledger.runs.usage import Tokens, tokens_in
from execledger.vocabulary.actions import Observation
from execledger.vocabulary.decisions import Step


class Net(Struct, frozen=True, kw_only=True):
    """Dollars under one table of prices."""

    saved: float = 0.0
    """What references kept out of the model's input, less the references and remarks themselves."""
    spent: float = 0.0
    """What state views took: their tokens, uncached, and what they keep out of the cached prefix."""
    own: float | None = None
    """What the runs cost as they were, where their tokens are known."""
    models: tuple[str, ...] = ()
    """Whose prices these are; ``assumed`` follows the one that runs of unknown models were given."""
    date: str = ""
    """The day of the prices."""

    def __add__(self, other: Net) -> Net:
        """Both together; what the runs cost is known if it is of both."""
        return Net(
            saved=self.saved + other.saved,
            spent=self.spent + other.spent,
            own=None if self.own is None or other.own is None else self.own + other.own,
            models=tuple(sorted({*self.models, *other.models})),
            date=self.date,
        )

    @property
    def net(self) -> float:
        """What remains; negative where Ledger cost more than it saved."""
        return self.saved - self.spent

    def sentence(self, *, would: bool = False) -> str:
        """All of it in words; ``would``: of a replay, in which nothing was really saved or spent."""
        share = f", {self.net / self.own:+.1%} of the {dollars(self.own)} that the runs cost" if self.own else ""
        lead = "would have saved" if would else "saved"
        return (
            f"References {lead} {dollars(self.saved)}; state views {'would have ' if would else ''}cost"
            f" {dollars(self.spent)}; net {dollars(self.net)}{share}. {self.basis}"
        )

    @property
    def basis(self) -> str:
        """What the dollars rest on."""
        return f"Prices of {self.date} for {', '.join(self.models)}; tokens of both are estimated from bytes."


def dollars(value: float) -> str:
    """A sum of money, with as many digits as it needs to be told from nothing."""
    size = abs(value)
    return f"{'-' if value < 0 else ''}${size:,.{2 if size >= 1 or not size else 4}f}"


def weighed(saved: Tokens, spent: Tokens, own: Tokens | None, model: str, prices: Prices) -> Net:
    """The net of one run, at the price of its model, or at the assumed one where that is not known."""
    name, price = prices.charged(model)
    return Net(
        saved=price.cost(saved),
        spent=price.cost(spent),
        own=None if own is None else price.cost(own),
        models=(name,),
        date=prices.date,
    )


class Balance:
    """One run that Ledger took part in, weighed from its steps and views as they come."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.turns = 0
        """Calls of the model."""
        self.view_bytes = 0
        """What state views added to the model's input."""
        self.model = ""
        """The model, as the journal's start names it."""
        self.own: Tokens | None = None
        """What the run took, as the journal's end tells."""
        self._kept_out: dict[int, int] = {}
        self._said: dict[int, int] = {}
        self._asked: list[tuple[int, int]] = []
        self._view_waits = False

    def add_event(self, event: Event) -> None:
        """Take in an event of a journal."""
        match event:
            case Started():
                self.model = event.model
            case ViewRendered():
                self.add_view(event.text)
            case StepRecorded():
                self.add(event.step, event.turn)
            case Ended():
                self.turns = max(self.turns, event.model_calls or 0)
                if event.input_tokens is not None:
                    self.own = Tokens.of(event.input_tokens, event.cached_tokens, output=event.output_tokens)

    def add_view(self, text: str) -> None:
        """Take in a state view; the next step is the first that the model wrote behind it."""
        self.view_bytes += text_bytes(text)
        self._view_waits = True

    def add(self, step: Step, turn: int, truth: Observation | None = None) -> None:
        """Take in a step; ``truth`` is what it really returned, where that is known otherwise than by the step."""
        shown, size = step.shown, self._size(step, truth)
        self.turns = max(self.turns, turn + 1)
        self._asked.append((_asked(step), size or 0))
        if self._view_waits or turn in self._said:
            self._said[turn] = self._said.get(turn, 0) + text_bytes(step.action.command)
            self._view_waits = False
        if shown.kind != "full" and size is not None:
            spared = (size if shown.kind == "reference" else 0) - text_bytes(shown.text)
            self._kept_out[turn] = self._kept_out.get(turn, 0) + spared

    def _size(self, step: Step, truth: Observation | None) -> int | None:
        """Bytes of the true output. Of a command that did not run they are known only if it ran before as it stands."""
        if truth is not None:
            return output_bytes(truth)
        if step.shown.result is not None or step.shown.kind != "reference":
            return step.shown.result.size if step.shown.result else output_bytes(step.observation)
        same = (
            size for at in step.shown.refers_to for asked, size in self._asked[at : at + 1] if asked == _asked(step)
        )
        return next(same, None)

    @property
    def saved_bytes(self) -> int:
        """What references kept out of the model's input, counted once for every later call of the model."""
        return sum(size * (self.turns - turn - 1) for turn, size in self._kept_out.items())

    def net(self, prices: Prices | None = None, model: str = "") -> Net:
        """What the run comes to so far: what was kept out is new to the next call, and cached in all later ones."""
        name, last = model or self.model, self.turns - 1
        charges = charges_for_writes(name)
        new = tokens_in(sum(size for turn, size in self._kept_out.items() if turn < last))
        again = tokens_in(self.saved_bytes) - new
        saved = Tokens(cached=again, written=new) if charges else Tokens(cached=again, uncached=new)
        # Where the provider caches only what was sent, a view keeps nothing out.
        late = 0 if charges else tokens_in(sum(size for turn, size in self._said.items() if turn < last))
        spent = Tokens(uncached=tokens_in(self.view_bytes) + late, cached=-late)
        return weighed(saved, spent, self.own, name, prices or load_prices())


def _asked(step: Step) -> int:
    """What tells one command from another, without its text being kept."""
    return hash((step.action.command, step.action.cwd))
