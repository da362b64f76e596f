"""A release's changes: gathered from their fragments, and nothing released that is not described."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from tests.support.release import ReleaseError, gather, stated_version

CHANGELOG = "# Changelog\n\nNewest first.\n\n## 0.1.0 (2026-01-01)\n\n### Added\n\n- It runs.\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with two fragments since its last release."""
    for name, text in {
        "CHANGELOG.md": CHANGELOG,
        "src/execledger/version.py": '"""The version."""\n\n__version__ = "0.1.0"\n',
        "changes/README.md": "# Change fragments\n",
        "changes/views.fixed.md": "Views are short.\nThey were long.\n",
        "changes/on-off.added.md": "There is a switch.\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_fragments_become_the_newest_section(tree: Path) -> None:
    """Grouped by kind, each an entry of the list; they are deleted, and the version is that of the section."""
    gather(tree, "0.2.0")
    assert (tree / "CHANGELOG.md").read_text() == (
        "# Changelog\n\nNewest first.\n\n"
        f"## 0.2.0 ({date.today().isoformat()})\n\n"
        "### Added\n\n- There is a switch.\n\n"
        "### Fixed\n\n- Views are short.\n  They were long.\n\n"
        "## 0.1.0 (2026-01-01)\n\n### Added\n\n- It runs.\n"
    )
    assert [path.name for path in (tree / "changes").iterdir()] == ["README.md"]
    assert stated_version(tree) == "0.2.0"


def test_a_tree_that_is_no_release_is_refused(tree: Path) -> None:
    """Fragments that were not gathered, and a version that the changelog does not describe, are named."""
    with pytest.raises(ReleaseError, match="found 2 fragments, expected none in a release"):
        stated_version(tree)
    gather(tree, "0.2.0")
    (tree / "src/execledger/version.py").write_text('__version__ = "0.3.0"\n')
    with pytest.raises(ReleaseError, match=r"CHANGELOG.md: found 0.2.0 at its top, expected 0.3.0"):
        stated_version(tree)
    with pytest.raises(ReleaseError, match="found no fragment"):
        gather(tree, "0.4.0")


def test_a_fragment_of_another_kind_loses_nothing(tree: Path) -> None:
    """It is named before anything is written."""
    (tree / "changes/views.broken.md").write_text("Nothing works.\n")
    with pytest.raises(ReleaseError, match=r"changes/views.broken.md: found the kind broken, expected one of added,"):
        gather(tree, "0.2.0")
    assert (tree / "CHANGELOG.md").read_text() == CHANGELOG
    assert len([*(tree / "changes").iterdir()]) == 4
