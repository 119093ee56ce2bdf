"""Words and classes that several tables of a protocol share."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from assay.protocols import units

Separator = Literal["white-space", "tab", "comma", "semicolon"]
SEPARATORS = {"white-space": "white space", "tab": "tab", "comma": "comma", "semicolon": "semicolon"}
# When a key can have an effect: each key here has one of its values. A key after a dot is in the same table.
OF_ANSWERS = {"unit": ("generated-answer",)}
OF_FORMULAS = {"unit": ("formula", "visually-distinct-formula")}
OF_FORMS = {"judging.layout": ("form",)}
OF_PAIRS = {"judging.layout": tuple(name for name, unit in units.BY_LAYOUT.items() if unit.has_votes)}
GRADED = "graded"  # the words of a table name: the choices that a set of qrels grades
CONDITION = "condition"  # what a key names: the key of a grade, `question:choice`, or `topic.LABEL:value`


def nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


class Titled:
    """A part of a protocol with a key and a title."""

    __slots__ = ()
    key: str
    title: str

    @property
    def name(self) -> str:
        """The name on pages."""
        return self.title or self.key
