"""What a protocol asks of scoring."""

from collections.abc import Sequence

from assay.errors import InputError
from assay.protocols.measures import Measure, parse_measures
from assay.protocols.schema import Protocol


class NotComputed(InputError):
    """A protocol whose scores cannot be computed from what was given: slug, key, and what is wanted."""


def measures_of(protocol: Protocol, names: Sequence[str] = ()) -> list[Measure]:
    """The measures to compute: those named, or else the protocol's.

    Raises
    ------
    MeasureError
        A given name is not in the notation.
    """
    return parse_measures(names or protocol.scoring.measures)


def check_units(protocol: Protocol, *, has_formulas: bool, how: str) -> None:
    """Refuse to score instances one by one where the protocol scores distinct formulas; `how` says what to do.

    Raises
    ------
    NotComputed
        The protocol has `collapse_instances`, and no formulas are at hand.
    """
    if protocol.scoring.collapse_instances and not has_formulas:
        raise NotComputed(
            f"{protocol.slug}: scoring.collapse_instances: each instance counts as its visually distinct formula; {how}"
        )
