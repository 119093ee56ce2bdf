"""The forms that a run may have, by the names that protocols give them."""

from typing import NamedTuple

from assay.protocols.schema import RunFormat


class LineForm(NamedTuple):
    """A form in lines of columns. Each number is the place of a column, counted from 0."""

    name: RunFormat
    title: str
    width: int
    topic: int
    docno: int
    rank: int
    score: int
    tag: int
    post: int | None = None  # of the post that contains the formula
    filler: int | None = None  # a column without meaning
    has_ranks: bool = True
    keeps_ties: bool = False  # True: ties keep the order of the file; False: trec_eval's order

    def line(self, topic: bytes, docno: bytes, rank: int, score: float, tag: bytes, post: bytes) -> bytes:
        """A row in this form: tabs, the score to its last bit, LF."""
        words = [b""] * self.width
        for column, word in ((self.post, post), (self.filler, b"Q0")):
            if column is not None:
                words[column] = word
        words[self.topic], words[self.docno], words[self.tag] = topic, docno, tag
        words[self.rank], words[self.score] = b"%d" % rank, repr(score).encode()
        return b"\t".join(words) + b"\n"


class XmlForm(NamedTuple):
    """A form in XML, detected from its first element. `xml` has the class that reads its elements."""

    name: RunFormat
    title: str
    roots: tuple[str, ...]
    has_ranks: bool
    keeps_ties: bool


RunForm = LineForm | XmlForm
FORMS: dict[RunFormat, RunForm] = {
    form.name: form
    for form in (
        LineForm("arqmath-5", "Query_Id Post_Id Rank Score Run_Number", 5, 0, 1, 2, 3, 4),
        LineForm("arqmath-6", "Query_Id Formula_Id Post_Id Rank Score Run_Number", 6, 0, 1, 3, 4, 5, post=2),
        LineForm("trec-6", "topic Q0 docno rank score tag", 6, 0, 2, 3, 4, 5, filler=1),
        XmlForm(
            name="ntcir-xml",
            title="XML: results > run[runtag] > result[for] > hit[xref, score, rank]",
            roots=("results", "run", "result"),
            has_ranks=True,
            keeps_ties=False,
        ),
        XmlForm(
            name="bolt-xml",
            title="XML: bolt-ir-submission > response[number] > cite[score, thread, post, offset, length]",
            roots=("bolt-ir-submission",),
            has_ranks=False,
            keeps_ties=True,
        ),
    )
}
