"""Jobs: the salts that keep the prompts of runs apart."""

from __future__ import annotations

from execledger.evaluate.jobs import DIGITS, Salted


def test_each_run_has_a_salt_of_its_own() -> None:
    """By evaluation, arm, instance and trial; none is shorter than another."""
    salts = [
        Salted(study=study, template="").salt(arm, instance, trial)
        for study in ("a", "b")
        for arm in ("base", "both")
        for instance in ("x", "y")
        for trial in range(1, 100)
    ]
    assert len(set(salts)) == len(salts)
    assert {len(salt) for salt in salts} == {DIGITS}
    assert all(salt.isdecimal() for salt in salts)
