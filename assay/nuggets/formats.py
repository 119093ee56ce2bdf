"""The forms of files of nuggets, by name. Listing commands imports this module, so it imports no reader."""

from dataclasses import dataclass

from assay.extensions import Point, Reference, Registry


@dataclass(frozen=True, kw_only=True)
class NuggetForm(Point):
    """A form of files of nuggets, one object for each topic.

    Attributes:
        title: the program or the campaign that has it.
        writes: reference of `write(nuggets)`, which returns the object of a `NuggetList`.
        reads: reference of `read(record)`, which returns the `NuggetList` of a `Record`, for a form with a key.
        key: the key with the nuggets, by which objects of the form are recognized; empty for those of Assay.
        has_weights: whether its nuggets are criteria of rubrics.
    """

    noun = "form of nuggets"

    writes: Reference
    reads: Reference = ""
    key: str = ""
    has_weights: bool = False


_WRITE = "assay.nuggets.files:_as_"
FORMS = Registry(
    NuggetForm,
    [
        NuggetForm("nuggetizer", "nuggetizer", writes=f"{_WRITE}nuggetizer"),
        NuggetForm("nugget-bank", "AutoJudge", writes=f"{_WRITE}bank"),
        NuggetForm("ragtime", "RAGTIME", writes=f"{_WRITE}ragtime"),
    ],
)
