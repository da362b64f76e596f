"""The proxy's benchmarks run, small: what they print is there; whether their bounds hold is theirs to say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def printed(*module: str) -> str:
    done = subprocess.run([sys.executable, "-m", *module], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


@pytest.mark.long
def test_the_proxy_is_measured_against_the_direct_way() -> None:
    """A quick run without peers measures every stack of ours in every dialect, and judges what it can."""
    text = printed("benchmarks.proxy", "--quick", "--without-peers")
    for name in ("direct", "pass-through", "full (paper)", "full (verified)"):
        # In the tables of first bytes and in those of rates.
        assert text.count(f"\n{name}  ") == 2 * 4, text
    for dialect in ("responses", "messages", "chat", "gemini"):
        assert len(re.findall(rf"^{dialect} +not measured +not measured +-?[\d.]+   (?:NOT )?held$", text, re.M)) == 1
    assert text.splitlines()[-1].startswith("proxy: ")


@pytest.mark.long
def test_a_small_crowd_soaks_without_faults_and_cross_talk() -> None:
    """Under either preset some results are references, under one of them because calls did not run."""
    lines = printed("benchmarks.proxy_soak", "--sessions", "6", "--steps", "30").splitlines()
    verified, paper = (next(line for line in lines if line.startswith(preset)) for preset in ("verified", "paper"))
    assert " 0 faults; 0 calls did not run; " in verified and " by a reference" in verified
    assert " 0 faults; " in paper and " 0 calls did not run" not in paper
    assert ": 0 faults, no cross-talk, " in lines[-1]
