"""What every test shares: how hypothesis searches.

``ci`` is the default and draws the same examples on every run, so that a red run is red for everyone.
``long`` searches afresh and further; choose it with ``--hypothesis-profile=long``.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.register_profile(
    "long", max_examples=1000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci")
