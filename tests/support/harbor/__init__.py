"""Harbor from PyPI in an environment of its own, and an environment for its trials without a container engine."""
