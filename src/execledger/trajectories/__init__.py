"""Recorded runs of coding agents, read into one shape."""

from execledger.trajectories.find import Source, find_runs
from execledger.trajectories.formats import read_run
from execledger.trajectories.recording import Recorded, Run

__all__ = ["Recorded", "Run", "Source", "find_runs", "read_run"]
