"""Checks, before an evaluation starts anything, whether its runs can succeed on this machine.

All problems are found at once, so that they can be mended at once. With Ray the runs are on other machines, so
containers, images and keys are not looked at.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from execledger.agents.evaluation import (
    START_DOCKER,
    Instance,
    Needs,
    Problem,
    Setup,
    complaint,
    container_needs,
    image_here,
    unanswered,
)
from execledger.errors import LedgerError
from execledger.evaluate.experiment import runner_of
from execledger.evaluate.plan import EngineName, Plan
from execledger.runs.prices import load_prices

_Result = TypeVar("_Result")
ROOM = 2_000_000_000
"""Bytes that must be free for the output."""
ROOM_FOR_IMAGES = 120_000_000_000
"""Bytes that the harness of SWE-bench asks for, where images are still to be pulled."""
SAMPLE = 3
"""Number of missing images for which the registry is asked."""
SECONDS = 60
"""Seconds after which the registry is not waited for any longer."""


class Checks:
    """Collects the problems of an evaluation."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        """The problems so far."""

    def tried(self, do: Callable[[], _Result]) -> _Result | None:
        """Return the result of a step; None if it raises ``LedgerError``, which is a problem then."""
        try:
            return do()
        except LedgerError as error:
            self.problems.append(Problem(error.message, error.hint))
            return None

    def look(self, plan: Plan, setup: Setup | None, tasks: Sequence[Instance], folder: Path) -> None:
        """Look for what would make the runs of these tasks fail; ``folder`` is the one for the output.

        Without a ``setup``, as where the agent's program refuses the plan, containers are not looked at.
        """
        self.problems += _room(folder)
        if plan.engine is not EngineName.LOCAL:
            return
        if setup is None:
            self.problems += _price(plan.model)
            return
        needs: Needs = getattr(runner_of(plan), "needs", container_needs)(setup, tasks)
        self.problems += [*needs.problems, *_price(needs.model, needs.model_checked), *_containers(needs)]

    @property
    def warnings(self) -> list[str]:
        """The problems that stop nothing, in words."""
        told = (one for one in self.problems if one.warning)
        return [f"warning: {one.message}" + (f"; {one.hint}" if one.hint else "") for one in told]

    def refuse(self) -> None:
        """Raise ``LedgerError`` with all problems that are not mere warnings, if there are any."""
        serious = [one for one in self.problems if not one.warning]
        if len(serious) == 1:
            raise LedgerError(f"found one problem, and started nothing: {serious[0].message}", hint=serious[0].hint)
        if serious:
            lines = [f"- {one.message}" + (f"\n  hint: {one.hint}" if one.hint else "") for one in serious]
            raise LedgerError("\n".join([f"found {len(serious)} problems, and started nothing:", *lines]))


def _room(folder: Path) -> Iterator[Problem]:
    free = _free(folder)
    if free < ROOM:
        yield Problem(f"{folder}: {free / 1e9:.1f} GB are free, expected {ROOM / 1e9:.0f}", hint="make room")


def _free(folder: Path) -> int:
    """Return the bytes that are free where a folder is, or would be."""
    return shutil.disk_usage(next(one for one in (folder, *folder.parents) if one.exists())).free


def _price(model: str, checked: bool = True) -> Iterator[Problem]:
    if model and load_prices().price(model) is None:
        unchecked = "" if checked else ", which was not checked: its client has no list of models that could be asked"
        hint = f"check its name{unchecked}; `eval report --prices FILE` takes prices of your own"
        yield Problem(f"the model `{model}` has no price in Ledger's table: its cost is unknown", hint, warning=True)


def _containers(needs: Needs) -> Iterator[Problem]:
    """Look for the container program, and for the images."""
    if not needs.docker:
        return
    program = shutil.which(needs.docker)
    if program is None:
        hint = "install Docker, or name another program: --set environment.executable=podman (mini), --docker podman"
        yield Problem(f"{needs.docker}: not found, expected the container program", hint=hint)
    elif silent := unanswered(program):
        yield Problem(silent, hint=START_DOCKER)
    else:
        try:
            yield from _images(program, needs.images)
        except LedgerError as error:
            yield Problem(error.message, error.hint)


def _images(docker: str, images: Sequence[str]) -> Iterator[Problem]:
    missing = [] if image_here(docker, *images) else [image for image in images if not image_here(docker, image)]
    built = [image for image in missing if image.startswith("localhost/")]
    pulled = [image for image in missing if not image.startswith("localhost/")]
    if built:
        yield Problem(f"{_some(built)}: not in the local store", hint="build it: docs/own-tasks.md")
    refused = {image: said for image in pulled[:SAMPLE] if (said := _refused(docker, image))}
    if refused:
        said = next(iter(refused.values()))
        # The client asks the registry itself; a pull is done by the daemon, which may have mirrors.
        hint = "check the network and the dataset; `docker pull` tells whether it can be pulled"
        found = f"{_some(list(refused))}: not in the local store, and not found in its registry: {said}"
        yield Problem(found, hint, warning=True)
    elif pulled and (free := _free(_graph_root(docker))) < ROOM_FOR_IMAGES:
        found = f"{len(pulled)} images are to be pulled, and {free / 1e9:.0f} GB are free"
        yield Problem(found, hint="the harness of SWE-bench asks for 120 GB", warning=True)


def _refused(docker: str, image: str) -> str:
    """Return why the registry does not have an image, as far as it can be asked; "" if it has."""
    try:
        asked = _answer([docker, "manifest", "inspect", image])
    except subprocess.TimeoutExpired:
        return f"the registry did not answer within {SECONDS} seconds"
    return complaint(asked.stderr) if asked.returncode else ""


def _graph_root(docker: str) -> Path:
    """Return the folder in which the container program stores images, or else the root."""
    for field in ("{{.DockerRootDir}}", "{{.Store.GraphRoot}}"):
        try:
            asked = _answer([docker, "info", "--format", field])
        except subprocess.TimeoutExpired:
            break
        if not asked.returncode and asked.stdout.startswith("/"):
            return Path(asked.stdout.strip())
    return Path("/")


def _answer(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False)


def _some(names: Sequence[str]) -> str:
    """Return the first of several names, and how many there are beside it."""
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")
