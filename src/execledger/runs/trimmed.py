"""Outputs that an agent trimmed: blank lines at both ends are gone, and nothing tells how many.

A read to the end of a file still shows all that stands there. One that was to stop earlier and shows fewer lines than
were asked for may have met the end of the file, or begun or ended with blank lines: its lines were shown, but which
they are is not claimed. Printed line numbers settle the matter by themselves.
"""

from __future__ import annotations

from msgspec.structs import replace

from execledger.core.classify import classify
from execledger.core.lines import split_lines
from execledger.shell.ranges import size
from execledger.vocabulary.actions import Action, Observation


def trimmed(action: Action, observation: Observation) -> Observation:
    """The result of a shell command whose output was trimmed, marked as cut where that leaves its lines in doubt."""
    if action.call is not None or not observation.output:
        return observation
    view = classify(action).view
    if view is None or view.numbering:
        return observation
    asked = size(view.ranges[0]) if len(view.ranges) == 1 else sum(size(lines) or 0 for lines in view.ranges)
    certain = asked is None or asked == len(split_lines(observation.output))
    if certain and not observation.truncated:
        return observation
    # A gap before all of it: the lines stand in no known place.
    return replace(observation, cut=None if observation.truncated else 0, truncated=True)
