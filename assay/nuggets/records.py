"""Frozen lists of nuggets in archives."""

import json
from dataclasses import asdict, dataclass

from assay.nuggets.lists import Nugget


@dataclass(frozen=True)
class NuggetListRecord:
    """A frozen version of the nuggets of a topic."""

    topic: str
    version: int
    frozen_at: str
    nuggets: list[Nugget]


def line_of_nuggets(record: NuggetListRecord) -> str:
    """The line of a list of nuggets, in which only criteria have a weight, and only others' keys are in `more`."""
    fields = asdict(record)
    for nugget in fields["nuggets"]:
        for key in ("more", "weight", "kind", "made_from"):
            if nugget[key] in ({}, None, ""):
                del nugget[key]
    return json.dumps(fields, ensure_ascii=False) + "\n"
