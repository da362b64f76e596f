"""mini-swe-agent's own test suite, without and with Ledger: ``python -m tests.support.agents.mini_suite CHECKOUT``.

The checkout is one of the agent's tag that is installed here; it comes from outside and is only read. The same tests
must pass, fail and be skipped in every mode.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

PLUGIN = Path(__file__).parents[1] / "plugins" / "wrap_mini.py"
"""The pytest plug-in that wraps the models; imported from its folder, since a checkout has its own ``tests``."""
MODES: dict[str, dict[str, object] | None] = {
    "unwrapped": None,
    "shadow": {"shadow": True},
    "inform only": {"govern": False},
    "full": {},
}
"""The modes, and the options of the plugin."""
RESULT = re.compile(r"^(PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS) (?:\[\d+\] )?(\S+)", re.MULTILINE)
"""One line of pytest's short summary."""


def outcomes(checkout: Path, options: dict[str, object] | None, arguments: Sequence[str]) -> dict[str, str]:
    """The outcome of every test of the suite, by its name."""
    plugin = [] if options is None else ["-p", PLUGIN.stem]
    with tempfile.TemporaryDirectory() as home:
        environment = {
            **os.environ,
            "EXECLEDGER_PLUGIN": json.dumps({"journal": "off", **(options or {})}),
            "HF_HUB_OFFLINE": "1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "MSWEA_GLOBAL_CONFIG_DIR": home,
            "PYTHONPATH": os.pathsep.join(filter(None, (str(PLUGIN.parent), os.environ.get("PYTHONPATH")))),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        }
        # A module whose own extras are missing is an error in every mode, and no reason to leave the others out.
        quiet = ("-q", "-rA", "--tb=no", "-p", "no:cacheprovider", "--continue-on-collection-errors")
        command = [sys.executable, "-m", "pytest", "tests", *quiet, *plugin]
        done = subprocess.run(
            [*command, *arguments], cwd=checkout, env=environment, capture_output=True, text=True, check=False
        )
    found = {name: outcome for outcome, name in RESULT.findall(done.stdout)}
    if "PASSED" not in found.values():
        sys.exit(f"{checkout}: no test passed, so nothing can be compared:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return found


def main() -> int:
    """Run the suite in every mode, print the counts, and name every test that came out differently."""
    if len(sys.argv) < 2 or not Path(sys.argv[1], "tests").is_dir():
        sys.exit("usage: python -m tests.support.agents.mini_suite CHECKOUT [PYTEST ARGUMENTS], with the tests")
    checkout = Path(sys.argv[1])
    expected: dict[str, str] = {}
    different = 0
    for mode, options in MODES.items():
        found = outcomes(checkout, options, sys.argv[2:])
        expected = expected or found
        counts = {kind: list(found.values()).count(kind) for kind in sorted(set(found.values()))}
        changed = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
        different += len(changed)
        print(f"{mode}: {', '.join(f'{count} {kind.lower()}' for kind, count in counts.items())}", flush=True)
        for name in changed:
            print(f"  {name}: {expected.get(name)} without Ledger, {found.get(name)} with it")
    print(f"upstream: {'the same in every mode' if not different else f'{different} tests differ'}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
