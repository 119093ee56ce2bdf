"""What a protocol asks of scoring, or a refusal where it asks for what is not computed."""

from collections.abc import Sequence

from protocols.measure_names import Measure, parse_measures
from protocols.schema import Protocol


class NotComputed(ValueError):
    """A protocol whose scores cannot be computed: file, key, and why."""


def measures_of(protocol: Protocol, names: Sequence[str] = ()) -> list[Measure]:
    """The measures to compute: those named, or else the protocol's.

    Raises
    ------
    MeasureError
        A given name is not in the notation.
    NotComputed
        The protocol scores something else than the documents that runs rank.
    """
    for key in ("collapse_instances", "duplicates_are_false_alarms"):
        if getattr(protocol.scoring, key):
            raise NotComputed(
                f"{protocol.slug}: scoring.{key}: runs are scored by the documents that they rank, one by one; "
                "a protocol with this key cannot be scored yet"
            )
    return parse_measures(names or protocol.scoring.measures)
