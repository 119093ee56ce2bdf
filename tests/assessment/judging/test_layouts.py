"""The layouts of the judging page and the units of the library."""

from assay.protocols.units import BY_LAYOUT
from assessment.judging.layouts import LAYOUTS


def test_each_layout_of_a_protocol_has_a_page() -> None:
    assert LAYOUTS.keys() == BY_LAYOUT.keys()
