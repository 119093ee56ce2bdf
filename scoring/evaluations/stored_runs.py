"""The inputs of scoring: stored columns of runs as the protocol scores them, and qrels with near-duplicates."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from assay.errors import NotMeasurable
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.runs.columns import Ranked, RunColumns, load, load_ranking
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_hits
from assay.measures.units import (
    DuplicatesError,
    check_units,
    collapse_instances,
    with_duplicates,
)
from assay.protocols.measures import Measure, parse_measures, with_level
from assay.protocols.schema import Average
from corpus.formulas.selectors import formulas_of
from corpus.models import Collection
from pooling.models import PoolMember, Run
from pooling.pools.selectors import chain
from scoring.errors import LeaderboardRefused
from scoring.models import Qrels
from scoring.qrels.selectors import qrels_columns
from tracks.models import Track


def check_can_be_scored(track: Track) -> None:
    """Check that the units that the protocol scores are known.

    Raises:
        LeaderboardRefused: The protocol scores visually distinct formulas, and the track has no collection that
            identifies them.
    """
    how = "the track needs a collection whose formula index is imported"
    has_formulas = track.collection is not None and track.collection.status == Collection.Status.READY
    try:
        check_units(track.protocol.parsed, has_formulas=has_formulas, how=how)
    except NotMeasurable as error:
        raise LeaderboardRefused(f"{error}.") from None


def measures_for(qrels: Qrels) -> list[Measure]:
    """The measures of the protocol for a version of the qrels: those of its set, at its lowest relevant grade.

    Raises:
        LeaderboardRefused: The protocol has no measure of the set.
    """
    scoring, part = qrels.track.protocol.parsed.scoring, qrels.report.get("set", "")
    measures, level = parse_measures(scoring.measures_of(part)), scoring.level_of(qrels.report)
    if not measures:
        raise LeaderboardRefused(f"The protocol has no measure of the set “{part}”, such as {part}:nDCG@10.")
    if level != scoring.relevant_from and not part:  # in the qrels of a single group of assessors
        measures = with_level(measures, scoring.relevant_from, level)
    return measures


def ranking_of(run: Run, track: Track) -> Ranked:
    """A run as the protocol of its track scores it: instances of formulas may be collapsed into distinct ones.

    It reads only the columns that scoring needs, so memory does not grow with the number of runs.

    Raises:
        LeaderboardRefused: The stored columns cannot be read.
    """
    is_collapsed = track.protocol.parsed.scoring.collapse_instances
    if not is_collapsed or track.collection_id is None:
        with _reading(run) as file:
            return load_ranking(file)
    return as_scored(columns_of(run), track)


def as_scored(columns: RunColumns, track: Track) -> Ranked:
    """The columns of a run as the protocol of a track scores them."""
    if not track.protocol.parsed.scoring.collapse_instances or track.collection_id is None:
        return columns
    return collapse_instances(columns, formulas_of(track.collection_id, columns.docno))[0]


def columns_of(run: Run) -> RunColumns:
    """All columns of a run, as it was submitted.

    Raises:
        LeaderboardRefused: The stored columns cannot be read.
    """
    with _reading(run) as file:
        return load(file)


@contextmanager
def _reading(run: Run) -> Iterator[BinaryIO]:
    try:
        with run.columns.open("rb") as stored:
            yield cast(BinaryIO, stored)
    except (OSError, ValueError, KeyError) as error:
        raise LeaderboardRefused(
            f"The stored columns of the run {run.tag} cannot be read: {error}."
        ) from error


def judged_documents(qrels: Qrels, columns: QrelsColumns | None = None) -> JudgedDocuments:
    """A version prepared for scoring, with the near-duplicates of judged documents that its pools know.

    Its pools are the pool that it was frozen from and the pools that this one tops up; for an imported file, all pools
    of the track. `columns` are its rows if they are already read, or a part of them.

    Raises:
        LeaderboardRefused: The pools conflict: a near-duplicate of a document in one pool was judged in another.
    """
    columns = qrels_columns(qrels) if columns is None else columns
    if not qrels.track.protocol.parsed.scoring.duplicates_are_false_alarms:
        return JudgedDocuments(columns)
    members = PoolMember.objects.filter(entry__pool__track=qrels.track).order_by("pk")
    if qrels.pool is not None:
        members = members.filter(entry__pool__in=chain(qrels.pool))
    rows = members.values_list("entry__topic__code", "docno", "entry__docno")
    tied = {
        (topic.encode(), docno.encode(), judged.encode()) for topic, docno, judged in rows if docno != judged
    }
    try:
        return JudgedDocuments(*with_duplicates(columns, sorted(tied)))
    except DuplicatesError as error:
        raise LeaderboardRefused(f"The near-duplicates of the pools conflict: {error}.") from None


def scored_alone(
    ranking: Ranked, judged: JudgedDocuments, measures: Sequence[Measure], average: Average
) -> dict[str, Any]:
    """The fields of a run that is scored by itself: its values by topic and measure, and its numbers of topics."""
    scores = score_hits(judged.hits(ranking), judged, measures)
    values: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for row in scores.rows(judged, measures, average, per_topic=True):
        values[row.topic][row.measure] = row.value
    n_topics = int(scores.averaged(average).sum())
    return {"values": values, "n_topics": n_topics, "n_missing": scores.n_missing}
