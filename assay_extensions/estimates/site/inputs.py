"""The inputs of estimates: runs, and the grades of a machine and of people, as the library takes them."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import numpy as np

from assay.errors import Refused
from assay.formats.qrels.columns import QrelsColumns, documents
from assay.html.sanitize import plain
from assay.pools.preview import usual_seconds
from assay.protocols.measures import parse_measures
from assay.protocols.schema import Protocol
from assay_extensions.estimates.designs import Sample as Drawing
from assay_extensions.estimates.reading import WORD, Drawn, Machine
from assay_extensions.estimates.results import RankedInputs
from assay_extensions.estimates.site.models import Sample
from assay_extensions.estimates.weights import Floats, check_linear, is_linear
from assessment.batches.progress import rates_of_track
from assessment.judgments.selectors import current_judgments
from assessment.models import MAIN_AND_DUAL, Batch
from corpus.models import Document
from pooling.models import Pool
from scoring.evaluations.stored_runs import ranking_of
from scoring.qrels.frozen import grades_of
from scoring.qrels.selectors import runs_to_score
from tracks.models import Machine as MachineOfTrack
from tracks.models import Track

CHUNK = 2_000
Report = Callable[[int, int, str], None]
Unit = tuple[bytes, bytes]

estimate_refused = partial(Refused, code="estimate-refused", title="No estimate")


def problem_of(protocol: Protocol) -> str:
    """Return why tracks of a protocol have no estimates; empty if they have."""
    if not protocol.judging.has_grades or protocol.qrels.preferences:
        return "Estimates need grades, and this protocol has none, or has preferences instead."
    if protocol.scoring.duplicates_are_false_alarms:
        return "Estimates do not support near-duplicates, which this protocol scores."
    return ""


def usual_measures(protocol: Protocol) -> list[str]:
    """Measures that a sample can estimate: those of the protocol that are sums over ranks, or others at its cutoff."""
    if not protocol.takes_runs or protocol.is_of_answers:
        return []
    measures = parse_measures(protocol.scoring.measures_of(""))
    if linear := [str(measure) for measure in measures if is_linear(measure)]:
        return linear
    k = next((measure.k for measure in measures if measure.k), 10)
    return [f"DCG@{k}", f"P(rel={protocol.scoring.relevant_from})@{k}"]


def judged_columns(
    pool: Pool, machine: MachineOfTrack, frame: Collection[Unit] | None = None
) -> QrelsColumns:
    """The grades of a machine for the units of a pool, in topics of which it judged some; or only for those of a frame.

    A unit that the machine skipped has the grade -1.

    Raises:
        Refused: It judged none.
    """
    columns = grades_of(pool, machine)
    if frame is not None:
        columns = columns.kept(np.array([unit in frame for unit in documents(columns)], dtype=np.bool_))
    is_judged = (
        np.bincount(columns.topic_index, weights=columns.grade >= 0, minlength=len(columns.topics)) > 0
    )
    columns = columns.keep_topics(columns.topics[is_judged].tolist())
    if not len(columns.topics):
        raise estimate_refused(f"{machine} has judged no unit of the pool “{pool}” yet.")
    return columns


def library_machine(
    track: Track, columns: QrelsColumns, machine: MachineOfTrack, measures: Sequence[str], report: Report
) -> Machine:
    """A machine's grades with the runs of the track, for the functions of the library."""
    protocol = track.protocol.parsed
    runs = list(runs_to_score(track)) if measures else []
    tags = [run.tag for run in runs]
    rankings = []
    for number, run in enumerate(runs):
        report(number, len(runs), f"reading {run.tag}")
        rankings.append(ranking_of(run, track))
    names = [run.tag if tags.count(run.tag) == 1 else f"{run.team} {run.tag}" for run in runs]
    family = machine.family.casefold()
    inputs = RankedInputs(
        protocol=protocol,
        qrels=columns,
        names=names,
        rows=[],
        formulas=None,
        measures=list(parse_measures(measures)) if measures else [],
        average=protocol.scoring.average,
        level=protocol.scoring.relevant_from,
        rankings=rankings,
        same_family=[
            name for name, run in zip(names, runs, strict=True) if family and family in run.families
        ],
    )
    return Machine(inputs, str(machine))


def frame_of(sample: Sample) -> set[Unit]:
    """The units of a sample in the topics that count in estimates."""
    fit = set(sample.fit)
    return {(topic.encode(), docno.encode()) for topic, docno, *_ in sample.units if topic not in fit}


def drawn_of(sample: Sample, machine: Machine, people: QrelsColumns) -> tuple[Drawn, int]:
    """The units of a sample that people judged, and the number of those that they could not grade.

    The latter count with the machine's grade.

    Raises:
        Refused: People have not judged all units of the sample yet.
    """
    graded = dict(zip(documents(people), people.grade.tolist(), strict=True))
    probability = np.full(len(machine.judged.topic), np.nan)
    units, grades, missing = [], [], set[Unit]()
    for topic, docno, chance, is_in in sample.units:
        unit = (topic.encode(), docno.encode())
        row = machine.row_of.get(unit)
        if row is None:  # of a topic for the fit
            continue
        probability[row] = chance
        if is_in:
            grade = graded.get(unit, -1)
            if grade < 0:
                missing.add(unit)
            units.append(row)
            grades.append(grade if grade >= 0 else max(0, int(machine.judged.grade[row])))
    if missing - _closed(sample) - _without_grade(sample):
        raise estimate_refused(
            f"People have not judged {len(missing):,} of {len(units):,} units of the sample “{sample}”. An estimate "
            "needs all of them. Units that nobody can grade count with the machine's grade once their batch is closed."
        )
    order = np.argsort(units)
    return Drawn(np.array(units)[order], probability, np.array(grades)[order]), len(missing)


def _closed(sample: Sample) -> set[Unit]:
    """The units of closed batches, of a sample and of those that it added units to."""
    before = sample.after
    own = _in_sample(sample) - (_in_sample(before) if before else set())
    is_closed = sample.batch is not None and sample.batch.status == Batch.Status.CLOSED
    return (own if is_closed else set()) | (_closed(before) if before else set())


def _without_grade(sample: Sample) -> set[Unit]:
    """The units that people answered without a grade in a closed batch, also in one that is older than the sample."""
    answered = current_judgments(sample.track, *MAIN_AND_DUAL, Batch.Kind.ADJUDICATION).filter(
        grade=None, batch__status=Batch.Status.CLOSED
    )
    return {(topic.encode(), docno.encode()) for topic, docno in answered.values_list("topic__code", "docno")}


def answered(pool: Pool) -> set[Unit]:
    """The units of a pool that people judged, also those that they could not grade."""
    judged = current_judgments(pool.track, *MAIN_AND_DUAL).filter(batch__pool=pool)
    return {(topic.encode(), docno.encode()) for topic, docno in judged.values_list("topic__code", "docno")}


def _in_sample(sample: Sample) -> set[Unit]:
    return {(topic.encode(), docno.encode()) for topic, docno, _, is_in in sample.units if is_in}


def whole_topics(machine: Machine, people: QrelsColumns) -> QrelsColumns:
    """People's grades of the topics of which they judged every unit that the machine has.

    Raises:
        Refused: There is no such topic.
    """
    people = people.kept(
        np.array([grade >= 0 and unit in machine.row_of for unit, grade in
                  zip(documents(people), people.grade.tolist(), strict=True)], dtype=np.bool_)
    )  # fmt: skip
    judged = machine.judged
    sizes = dict(
        zip(judged.topics.tolist(), np.bincount(judged.topic, minlength=judged.n_topics), strict=True)
    )
    counts = np.bincount(people.topic_index, minlength=len(people.topics))
    whole = [
        code
        for code, n in zip(people.topics.tolist(), counts.tolist(), strict=True)
        if n == sizes.get(code, -1)
    ]
    if not whole:
        raise estimate_refused(
            "People have not judged all units of any topic that the machine judged. Draw a sample for them instead."
        )
    return people.keep_topics(whole)


def attributes_of(track: Track, machine: Machine, rows: Sequence[int]) -> Mapping[str, Floats]:
    """The logarithm of the length of documents, and the share of the topic's words that they have; nan elsewhere."""
    size = len(machine.judged.topic)
    length, overlap = np.full(size, np.nan), np.full(size, np.nan)
    if track.collection_id is None:
        return {}
    codes = machine.judged.topics.tolist()
    rows_of: dict[str, list[int]] = {}
    for row in rows:
        rows_of.setdefault(machine.judged.docno[row].decode(), []).append(row)
    words_of = {
        code: _words(f"{title} {body}")
        for code, title, body in track.topics.filter(code__in=codes).values_list("code", "title", "body")
    }
    texts = Document.objects.filter(collection=track.collection_id, docno__in=list(rows_of)).order_by()
    for docno, title, body in texts.values_list("docno", "title", "body").iterator(chunk_size=CHUNK):
        words = WORD.findall(f"{plain(title)} {plain(body)}".lower())
        for row in rows_of[docno]:
            length[row] = math.log(max(1, len(words)))
            if wanted := words_of.get(codes[machine.judged.topic[row]]):
                overlap[row] = len(wanted & set(words)) / len(wanted)
    known = {"log length": length, "share of topic words": overlap}
    return {name: values for name, values in known.items() if not np.isnan(values).all()}


def _words(html: str) -> set[str]:
    return set(WORD.findall(plain(html).lower()))


def parsed_measures(names: Sequence[str], *, of_sample: bool) -> list[str]:
    """The names of measures as they are written everywhere.

    Raises:
        InputError: One is not a measure, or a sample cannot estimate it.
    """
    measures = list(parse_measures(names)) if names else []
    if of_sample:
        for measure in measures:
            check_linear(measure)
    return [str(measure) for measure in measures]


def as_rows(machine: Machine, drawing: Drawing, before: Sample | None = None) -> list[list[object]]:
    """`Sample.units` of a drawing; those of topics for the fit stay as they were in the sample before."""
    sampled = set(drawing.units.tolist())
    rows: list[list[object]] = [
        [topic.decode(), docno.decode(), float(drawing.probability[row]), int(row in sampled)]
        for row, (topic, docno) in enumerate(documents(machine.inputs.qrels))
    ]
    if before is not None:
        fit = set(before.fit)
        rows += [row for row in before.units if row[0] in fit]
    return rows


def both_grades(machine: Machine, drawn: Drawn) -> list[list[object]]:
    """`Estimate.units` of what an estimate is computed from."""
    people = dict(zip(drawn.units.tolist(), drawn.grade.tolist(), strict=True))
    grades = machine.judged.grade.tolist()
    return [
        [topic.decode(), docno.decode(), grades[row], people.get(row)]
        for row, (topic, docno) in enumerate(documents(machine.inputs.qrels))
    ]


def seconds_of(track: Track) -> tuple[float, bool]:
    """The seconds that a person needs for a unit, and whether they were measured in the track."""
    rates = rates_of_track(track.pk, n_judged=0)
    return (rates.others, True) if rates else (usual_seconds(track.protocol.parsed), False)


def hour_of(track: Track) -> int:
    """The number of units that a person judges in an hour."""
    return max(1, round(3600 / seconds_of(track)[0]))
