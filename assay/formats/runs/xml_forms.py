"""The forms of run in XML, by the names that protocols give them."""

from assay.formats.runs.bolt import BoltElements
from assay.formats.runs.ntcir import NtcirElements
from assay.formats.runs.xml import XmlForm

XML_FORMS = {
    form.name: form
    for form in (
        XmlForm(
            name="ntcir-xml",
            title="XML: results > run[runtag] > result[for] > hit[xref, score, rank]",
            roots=("results", "run", "result"),
            elements=NtcirElements,
            has_ranks=True,
            ties_stay=False,
        ),
        XmlForm(
            name="bolt-xml",
            title="XML: bolt-ir-submission > response[number] > cite[score, thread, post, offset, length]",
            roots=("bolt-ir-submission",),
            elements=BoltElements,
            has_ranks=False,
            ties_stay=True,
        ),
    )
}
