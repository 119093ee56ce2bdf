"""A row of a file of judgments, with what its words mean in a track."""

from dataclasses import dataclass

from assay.formats.judgments.rows import JudgmentRow
from assay.protocols.schema import Grade, NonAnswer
from assessment.imports.campaign import Stored
from pooling.models import Pool


@dataclass(frozen=True, slots=True)
class BatchKey:
    """A batch, which may not exist yet."""

    pool_id: int
    name: str
    kind: str


@dataclass(slots=True)
class Planned:
    """A judgment to import, and the id that it gets.

    `seat` is 0 until it is known; `stored` is the equal judgment that the track has.
    """

    pk: int
    row: JudgmentRow
    pool: Pool
    batch: BatchKey
    topic: int
    entry: int
    assessor: int
    choice: Grade | NonAnswer
    is_current: bool
    guidelines: int | None = None
    seat: int = 0
    replaces: "Planned | None" = None
    stored: Stored | None = None

    @property
    def key(self) -> tuple[BatchKey, int, str, int, bool]:
        """Of an assessor's judgments of a document in a batch."""
        return self.batch, self.topic, self.row.docno, self.assessor, self.row.is_check
