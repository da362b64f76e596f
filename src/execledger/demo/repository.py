"""A small repository with a real bug, its task, and the commands of a scripted agent that mends it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

INVENTORY = '''"""Stock of a small warehouse."""

from __future__ import annotations


class OutOfStock(Exception):
    """Raised when more is taken than there is."""


class Inventory:
    """How many of each item are on the shelves."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def add(self, item: str, count: int = 1) -> None:
        """Put ``count`` of ``item`` on the shelf."""
        if count < 1:
            raise ValueError(f"count is {count}, expected at least 1")
        self._counts[item] = self._counts.get(item, 0) + count

    def take(self, item: str, count: int = 1) -> None:
        """Take ``count`` of ``item`` from the shelf."""
        if self._counts.get(item, 0) <= count:
            raise OutOfStock(f"{item}: {self._counts.get(item, 0)} left, {count} asked for")
        self._counts[item] -= count

    def count(self, item: str) -> int:
        """How many of ``item`` there are."""
        return self._counts.get(item, 0)

    def report(self) -> str:
        """One line per item, by name."""
        return "\\n".join(f"{item}: {count}" for item, count in sorted(self._counts.items()))
'''
TESTS = """import unittest

from warehouse.inventory import Inventory, OutOfStock


class InventoryTest(unittest.TestCase):
    def test_takes_some(self):
        stock = Inventory()
        stock.add("bolt", 5)
        stock.take("bolt", 2)
        self.assertEqual(stock.count("bolt"), 3)

    def test_takes_the_last_one(self):
        stock = Inventory()
        stock.add("nut", 1)
        stock.take("nut", 1)
        self.assertEqual(stock.count("nut"), 0)

    def test_refuses_more_than_there_is(self):
        stock = Inventory()
        stock.add("nut", 1)
        with self.assertRaises(OutOfStock):
            stock.take("nut", 2)


if __name__ == "__main__":
    unittest.main()
"""
README = "# Warehouse\n\nA tiny stock keeper.\nRun its tests with `python3 -m unittest`.\n"

TASK = """<pr_description>
Taking the last item of a kind fails.
With one nut on the shelf, `take("nut", 1)` raises OutOfStock, although there is exactly one left.
</pr_description>

When you are done, write the repair to patch.txt with `git diff > patch.txt` and show it."""
"""The task that goes with the repository."""

COMMANDS = (
    "ls -R warehouse tests",
    "cat warehouse/inventory.py",
    "grep -n OutOfStock -r warehouse tests",
    "sed -n '22,28p' warehouse/inventory.py",
    "cat warehouse/inventory.py",
    "cat tests/test_inventory.py",
    "python3 -m unittest -q 2>&1",
    "nl -ba warehouse/inventory.py | sed -n '1,28p'",
    "sed -i '24s/<= count/< count/' warehouse/inventory.py",
    "sed -n '10,35p' warehouse/inventory.py",
    "python3 -m unittest -q 2>&1",
    "python3 -m unittest -q 2>&1",
    "cat tests/test_inventory.py",
    "git diff > patch.txt && cat patch.txt",
)
"""The commands of the scripted agent."""


def make_repository(folder: Path) -> None:
    """Write the repository into ``folder`` and commit it."""
    files = {
        "README.md": README,
        "warehouse/__init__.py": "",
        "warehouse/inventory.py": INVENTORY,
        "tests/__init__.py": "",
        "tests/test_inventory.py": TESTS,
    }
    write_repository(folder, files)


def write_repository(folder: Path, files: Mapping[str, str]) -> None:
    """Write files into ``folder``, by name, and commit them."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    identity = ("-c", "user.name=Ledger", "-c", "user.email=ledger@localhost", "-c", "commit.gpgsign=false")
    for arguments in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-q", "-m", "Start")):
        subprocess.run(("git", *arguments), cwd=folder, check=True, capture_output=True)
