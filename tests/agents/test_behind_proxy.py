"""Agents behind the proxy: whether a run reached a model through Ledger, or past it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = f"""#!{sys.executable}
import os, urllib.error, urllib.request
for method, path in {{requests}}:
    address = os.environ["GOOGLE_GEMINI_BASE_URL"] + path
    try:
        data = b"{{{{}}}}" if method == "POST" else None
        urllib.request.urlopen(urllib.request.Request(address, data, method=method))
    except urllib.error.HTTPError as error:
        assert error.code == 502, error
"""
SIDE_CALLS = [
    ("HEAD", "/api/hello"),
    ("POST", "/v1internal:retrieveUserQuota"),
    ("POST", "/v1/messages/count_tokens"),
    ("GET", "/v1/responses"),
]
TURN = ("POST", "/v1beta/models/m:streamGenerateContent")


@pytest.mark.parametrize("options", [(), ("--pass-through",)])
@pytest.mark.parametrize(("requests", "bypassed"), [(SIDE_CALLS, True), ([*SIDE_CALLS, TURN], False)])
def test_side_calls_do_not_hide_a_bypass(
    tmp_path: Path, requests: list[tuple[str, str]], bypassed: bool, options: tuple[str, ...]
) -> None:
    """Only a request that asks a model shows that the models are asked through Ledger."""
    program = tmp_path / "gemini"
    program.write_text(PROGRAM.format(requests=requests))
    program.chmod(0o755)
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini/settings.json").write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    done = subprocess.run(
        [sys.executable, "-m", "execledger", "run", *options, "--upstream", "http://127.0.0.1:9", "--", str(program)],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ("Ledger saw no request of gemini" in done.stderr) is bypassed
