"""Harbor from PyPI in an environment of its own, and an environment for its trials without a container engine."""

PATH = "OVERLAY_PATH"
"""The variable of Harbor's process that holds the path in overlays, if it is not that of the process."""
