"""Imports of battles that were judged elsewhere: their systems are the tags of the runs whose answers met."""

from collections.abc import Iterator
from contextlib import closing
from typing import BinaryIO, NamedTuple

from assay.formats.judgments.reader import JudgmentsError, in_utf8, lines_in
from assay.formats.judgments.rows import JudgmentRow, JudgmentStream
from assay.formats.qrels.reader import COMPLAINTS_KEPT, Complaint
from assay.formats.text import keep_notes
from assay.pools.answers import answers_of
from assay.protocols.units import SIGN, pair_docno
from assay_extensions.battles.records import BOTH_BAD, TIE, A, B, Battle, has_battles, rows_of
from assessment.imports.services import reads_judgments
from assessment.models import JudgmentImport
from pooling.models import Pool, PoolEntry, Run
from scoring.evaluations.stored_runs import columns_of

NO_TOPIC = (
    "the battle has no topic, and the site needs one: add the column topic. The command "
    "“assay battles board” rates systems by battles without topics"
)


class Wrong(Exception):
    """A battle that cannot be a judgment, with the reason."""


@reads_judgments
def battles_in(source: JudgmentImport, file: BinaryIO) -> JudgmentStream | None:
    """The battles of a file as judgments of pairs; None for other files, and in tracks without battles."""
    judged = source.track.protocol.parsed.judged
    if not (judged.has_votes and judged.is_blind):
        return None
    file = in_utf8(file, source.name)
    with closing(lines_in(file)) as lines:
        if not has_battles(next((line for line in lines if line.strip()), "")):
            return None
    return JudgmentStream(source.name, "battles", _rows(source, file))


def _rows(source: JudgmentImport, file: BinaryIO) -> Iterator[JudgmentRow]:
    """The judgments until a line is wrong. Then the others are only checked, and named in an error at the end."""
    answers, complaints, n_failed = _Answers(source), [], 0
    with closing(lines_in(file)) as lines:
        for line, battle in rows_of(lines):
            if battle is None:
                n_failed += 1
            elif isinstance(battle, str):
                complaints.append(Complaint(line, battle))
            elif not battle.topic:
                raise JudgmentsError(source.name, [Complaint(line, NO_TOPIC)])
            else:
                try:
                    row = answers.judgment_of(line, battle)
                except Wrong as wrong:
                    complaints.append(Complaint(line, str(wrong)))
                else:
                    if row is not None and not complaints:
                        yield row
    if n_failed:
        keep_notes([f"battles that failed and are left out: {n_failed:,}"])
    if answers.n_repeats:
        words = "battles judged again in the other order, which show only how consistent their judge is"
        keep_notes([f"{words}: {answers.n_repeats:,}"])
    if complaints:
        raise JudgmentsError(source.name, complaints[:COMPLAINTS_KEPT], n_complaints=len(complaints))


class _Seen(NamedTuple):
    """A battle of the file: its line, the systems, and the answer on the left, and the choice."""

    line: int
    pair: tuple[str, str]
    left: str
    choice: str


class _Answers:
    """The answers of the runs of a track, and the battles of its pools, read when a battle first needs them."""

    def __init__(self, source: JudgmentImport) -> None:
        self.source = source
        track = source.track
        pools = Pool.objects.filter(track=track, status=Pool.Status.READY, protocol=track.protocol_id)
        self.pools = pools.filter(pk=source.pool_id) if source.pool_id else pools
        self.runs = {run.tag: run for run in track.runs.filter(status=Run.Status.SUBMITTED).defer("report")}
        self.topics = {*track.topics.values_list("code", flat=True)}
        self.of_run: dict[str, dict[str, str]] = {}
        self.pool_of: dict[str, dict[str, str]] = {}  # by topic and docno
        self.seen: dict[tuple[str, str, str], list[_Seen]] = {}  # by topic, docno and assessor
        self.n_repeats = 0

    def judgment_of(self, line: int, battle: Battle) -> JudgmentRow | None:
        """The judgment that a battle is; None if it came with another system that has the same answer.

        Raises:
            Wrong: The track has no such battle, or the file has it already.
        """
        if battle.topic not in self.topics:
            raise Wrong(f"the track has no topic {battle.topic}")
        systems = f"{battle.model_a} and {battle.model_b}"
        left, right = (self._answer(system, battle.topic) for system in (battle.model_a, battle.model_b))
        if left == right:
            raise Wrong(f"{systems} have the same answer to {battle.topic}: leave the line out")
        docno = pair_docno(left, right)
        pool = self._pools(battle.topic).get(docno)
        if pool is None:
            raise Wrong(f"no pool has the battle of {systems} on topic {battle.topic}")
        assessor = battle.assessor or self.source.name
        places = dict(zip(docno.split(SIGN), ("first", "second"), strict=True))
        choice = {A: places[left], B: places[right], TIE: "tie", BOTH_BAD: "bad"}[battle.winner]
        before = self.seen.setdefault((battle.topic, docno, assessor), [])
        if any((each.left, each.choice) == (left, choice) and each.pair != battle.pair for each in before):
            return None
        if len(before) == 2 or any(each.left == left for each in before):
            raise Wrong(f"line {before[0].line} has the same battle by {assessor}")
        self.n_repeats += len(before)
        is_check = bool(before)
        before.append(_Seen(line, battle.pair, left, choice))
        return JudgmentRow(
            battle.topic, docno, assessor, line, choice, pool=pool, left=left, is_check=is_check
        )

    def _answer(self, system: str, topic: str) -> str:
        if system not in self.runs:
            raise Wrong(f"the track has no run {system}")
        if system not in self.of_run:
            self.of_run[system] = answers_of(columns_of(self.runs[system]))
        docno = self.of_run[system].get(topic)
        if docno is None:
            raise Wrong(f"the run {system} has no answer to topic {topic}")
        return docno

    def _pools(self, topic: str) -> dict[str, str]:
        """The names of the pools by battle."""
        if topic not in self.pool_of:
            entries = PoolEntry.objects.filter(pool__in=self.pools, topic__code=topic).order_by("pool")
            self.pool_of[topic] = dict(entries.values_list("docno", "pool__name"))
        return self.pool_of[topic]
