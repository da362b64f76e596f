"""The reason in what Docker prints."""

from __future__ import annotations

import pytest

from execledger.agents.evaluation import complaint

OFF = "docker: Cannot connect to the Docker daemon at unix:///d.sock. Is the docker daemon running?"


@pytest.mark.parametrize(
    ("errors", "reason"),
    [
        (f"{OFF}\n\nRun 'docker run --help' for more information\n", OFF),
        (f"{OFF}\nSee 'docker run --help'.\n", OFF),
        (
            "Unable to find image 'x:latest' locally\ndocker: pull access denied for x\n",
            "docker: pull access denied for x",
        ),
        ("unknown flag, see --help\n", "unknown flag, see --help"),
        ("\n", "it says nothing"),
    ],
)
def test_the_reason_is_told_and_not_the_advice(errors: str, reason: str) -> None:
    """Which stands last, in older and in newer versions."""
    assert complaint(errors) == reason
