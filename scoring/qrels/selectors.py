"""Versions of qrels that a user may see, and what is in one. A user who sees a leaderboard sees its qrels."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.http import Http404

from accounts.access import AnyUser, overseen_by, oversees
from accounts.models import User
from assay.formats.qrels.columns import documents, with_parts
from assay.formats.qrels.reader import QrelsColumns, columns_from, format_qrels
from assay.protocols.description import grade_rule
from assay.protocols.measures import FAMILIES, parse_measure
from assay.protocols.qrels import is_of_subtopics, kind_of
from assay.protocols.schema import Grade, Protocol, QrelsRules, QuestionChoice
from assay.tables import natural
from assessment.agreement.selectors import remarks
from assessment.judgments.stamps import while_unchanged
from assessment.models import Batch, Judgment, Task
from pooling.models import Pool, PoolEntry, Run
from pooling.pools.selectors import chain
from scoring.errors import QrelsRefused
from scoring.models import Leaderboard, Qrels, QrelsEntry
from scoring.qrels import topic_previews
from scoring.qrels.frozen import NOTHING, grade_pool
from scoring.selectors import boards_of, leaderboards_for, seen_by
from tracks.models import Machine, Track
from web.confirmation import Check
from web.pages import counted
from web.statements import Prepared, Statement

CHUNK = 5_000
SHORT_NAMED = 20  # units with too few judgments


def qrels_for(user: AnyUser) -> QuerySet[Qrels]:
    """Versions of qrels that the user may see."""
    shown = leaderboards_for(user).order_by().values("qrels")
    return _versions().filter(Q(pk__in=shown) | Q(track__in=overseen_by(user)))


def qrels_or_404(user: AnyUser, qrels_id: int) -> Qrels:
    """A version that the user may see.

    Raises:
        Http404: It does not exist, or the user may not see it.
    """
    qrels = _VERSION.first(qrels=qrels_id)
    if qrels is None or not (oversees(user, qrels.track_id) or qrels_for(user).filter(pk=qrels_id).exists()):
        raise Http404("No qrels match.")
    return qrels


def _versions() -> QuerySet[Qrels]:
    versions = Qrels.objects.select_related(
        "track__protocol", "track__collection", "protocol", "pool", "created_by"
    )
    return versions.defer("pool__statistics")


_VERSION = Prepared(lambda qrels: _versions().filter(pk=qrels))


def qrels_of(user: AnyUser, track: Track) -> QuerySet[Qrels]:
    """Versions of a track's qrels that the user may see, newest first, without archived ones."""
    return _listed(user, track).filter(archived_at=None)


def archived_qrels_of(user: AnyUser, track: Track) -> QuerySet[Qrels]:
    """Archived versions of a track's qrels, newest first. For organizers; others do not get a list of them."""
    versions = _listed(user, track).exclude(archived_at=None)
    return versions if oversees(user, track.pk) else versions.none()


def _listed(user: AnyUser, track: Track) -> QuerySet[Qrels]:
    return _seen_by(user, track.pk).filter(track=track).defer("report", "pool__statistics")


def _seen_by(user: AnyUser, track_id: int) -> QuerySet[Qrels]:
    """The versions of one track that the user may see. Those who see everything of it need no long query."""
    return _versions() if oversees(user, track_id) else qrels_for(user)


def group_versions(qrels: Qrels) -> QuerySet[Qrels]:
    """The versions of single groups of assessors that were frozen with a version, in the order of the groups."""
    return part_versions(qrels).filter(report__has_key="group")


def part_versions(qrels: Qrels) -> QuerySet[Qrels]:
    """The versions of groups and sets that were frozen with a version, in the order of the protocol."""
    versions = Qrels.objects.filter(track=qrels.track_id, machine=qrels.machine_id, archived_at=None)
    return versions.filter(report__part_of=qrels.version).order_by("version")


def runs_to_score(track: Track) -> QuerySet[Run]:
    """Submitted runs, not withdrawn, of the kinds that the protocol scores."""
    kinds = track.protocol.parsed.runs.scored_keys
    runs = (
        track.runs.filter(status=Run.Status.SUBMITTED, kind__in=kinds).select_related("team").defer("report")
    )
    return runs.order_by("team__name", "tag", "id")


def disqualified_runs(track: Track) -> QuerySet[Run]:
    """Disqualified runs of the kinds that the protocol scores."""
    kinds = track.protocol.parsed.runs.scored_keys
    runs = track.runs.filter(status=Run.Status.DISQUALIFIED, kind__in=kinds).select_related("team")
    return runs.defer("report").order_by("team__name", "tag", "id")


def qrels_columns(qrels: Qrels) -> QrelsColumns:
    """A version as arrays."""
    entries = QrelsEntry.objects.filter(qrels=qrels).values_list("topic", "docno", "grade", "parts")
    rows, parts = [], {}
    for topic, docno, grade, words in entries.iterator(chunk_size=CHUNK):
        rows.append(row := (topic.encode(), docno.encode(), grade))
        if words:
            parts[row[:2]] = words.encode()
    columns = columns_from(rows)
    if not parts:
        return columns
    kind = kind_of(qrels.protocol.parsed, qrels.set_key)
    return with_parts(columns, kind, [parts.get(document, b"") for document in documents(columns)])


def _newest_of_people(track: Any) -> QuerySet[Qrels]:
    versions = Qrels.objects.filter(track=track, machine=None, archived_at=None).select_related("protocol")
    whole = versions.exclude(report__has_key="part_of").only("version", "protocol").order_by("-pk")
    return whole.annotate(left_out_topics=F("report__left_out_topics"), dropped_topics=F("report__dropped"))


_NEWEST = Prepared(_newest_of_people)
_NEWEST_SEEN = Prepared(
    lambda track, user: _newest_of_people(track).filter(
        pk__in=seen_by(user).filter(track=track).order_by().values("qrels")
    )
)


def newest_of_people(user: AnyUser, track: Track) -> Qrels | None:
    """The newest qrels that the user may see, with their protocol. Those of groups, splits and machines do not count.

    One query.
    """
    if oversees(user, track.pk):
        return _NEWEST.first(track=track.pk)
    return _NEWEST_SEEN.first(track=track.pk, user=user.pk)


_UNITS = Statement(
    "SELECT topic, count(*) FILTER (WHERE grade >= 0), count(*) FILTER (WHERE grade >= %(relevant_from)s)"
    " FROM scoring_qrelsentry WHERE qrels_id = %(qrels)s GROUP BY topic"
)


def units_by_topic(qrels: Qrels, relevant_from: int) -> dict[str, tuple[int, int]]:
    """The numbers of judged and of relevant units, by topic. One query."""
    rows = _UNITS.rows(qrels=qrels.pk, relevant_from=max(relevant_from, 0))
    return {topic: (n_judged, n_relevant) for topic, n_judged, n_relevant in rows}


def grades_by_topic(qrels: Qrels) -> dict[str, dict[int, int]]:
    """The number of units with each grade, by topic. One query."""
    counts: defaultdict[str, dict[int, int]] = defaultdict(dict)
    rows = QrelsEntry.objects.filter(qrels=qrels).order_by().values("topic", "grade").annotate(n=Count("pk"))
    for topic, grade, n in rows.values_list("topic", "grade", "n"):
        counts[topic][grade] = n
    return dict(counts)


def qrels_tsv(qrels: Qrels) -> bytes:
    """The file of a version; its SHA-256 is the recorded one."""
    return format_qrels(qrels_columns(qrels))


class TopicCounts(NamedTuple):
    """The number of units of a topic with each grade."""

    topic: str
    n: int
    counts: list[int]


@dataclass(frozen=True)
class QrelsPage:
    """A version of qrels. `grades` are grades with labels, highest first; `totals` count the units of each.

    `others` are the tracks whose downloads may offer it; empty for others than organizers.
    """

    track: Track
    qrels: Qrels
    grades: list[tuple[int, str]]
    rows: list[TopicCounts]
    n_units: int
    totals: list[int]
    relevant_from: int
    n_relevant: int | None  # units; none without grades from judging
    report: dict[str, Any]
    leaderboards: QuerySet[Leaderboard]
    is_organizer: bool
    has_judgments: bool
    others: list[Track]
    corrects: Qrels | None  # that the user may see
    corrected_by: Qrels | None

    @property
    def grade_values(self) -> list[int]:
        return [grade for grade, _ in self.grades]

    @property
    def per_topic(self) -> float:
        """The relevant units of a topic, on average."""
        return (self.n_relevant or 0) / max(len(self.rows), 1)


def qrels_page(user: AnyUser, qrels: Qrels) -> QrelsPage:
    """Counts by topic and grade, and the report on how the version was made: for others, only the dropped topics."""
    by_topic = grades_by_topic(qrels)
    if qrels.protocol.parsed.judged.has_nuggets:  # lines of the nugget list have no grade, and are no units
        by_topic = {
            code: {grade: n for grade, n in counts.items() if grade >= 0} for code, counts in by_topic.items()
        }
    grades = sorted({grade for counts in by_topic.values() for grade in counts}, reverse=True)
    rows = [
        TopicCounts(topic, sum(counts.values()), [counts.get(grade, 0) for grade in grades])
        for topic, counts in sorted(by_topic.items(), key=lambda item: natural(item[0]))
    ]
    sees_all = oversees(user, qrels.track_id)
    organized = user.organized if isinstance(user, User) else []
    if sees_all:
        report = _labeled(qrels.report, qrels.protocol.parsed)
    else:
        of_topics = ("dropped", "left_out_topics", "min_relevant", "relevant_from", "known_items")
        shown = (*of_topics, "group", "set", "part_of")
        report = {key: qrels.report[key] for key in shown if key in qrels.report}
    relevant_from = qrels.protocol.parsed.scoring.level_of(qrels.report)
    totals = [sum(row.counts[n] for row in rows) for n in range(len(grades))]
    relevant = [n for grade, n in zip(grades, totals, strict=True) if grade >= relevant_from]
    return QrelsPage(
        track=qrels.track,
        qrels=qrels,
        grades=[(grade, grade_label(qrels.protocol.parsed, qrels, grade)) for grade in grades],
        rows=rows,
        n_units=sum(row.n for row in rows),
        totals=totals,
        relevant_from=relevant_from,
        n_relevant=sum(relevant) if grades else None,
        report=report,
        leaderboards=boards_of(user, qrels.track).filter(qrels=qrels),
        is_organizer=sees_all,
        has_judgments=sees_all and qrels.source == Qrels.Source.FROZEN,
        corrects=qrels_for(user).filter(pk=qrels.supersedes_id).first() if qrels.supersedes_id else None,
        corrected_by=correction_of(user, qrels),
        others=list(Track.objects.filter(pk__in=organized).exclude(pk=qrels.track_id).order_by("-pk")),
    )


_CORRECTION = Prepared(lambda qrels: _versions().filter(supersedes=qrels)[:1])
_CORRECTION_SEEN = Prepared(
    lambda qrels, user: _versions().filter(supersedes=qrels, pk__in=seen_by(user).order_by().values("qrels"))[
        :1
    ]
)


def correction_of(user: AnyUser, qrels: Qrels) -> Qrels | None:
    """The version that corrects a version, if the user may see it. One query."""
    if oversees(user, qrels.track_id):
        return _CORRECTION.first(qrels=qrels.pk)
    return _CORRECTION_SEEN.first(qrels=qrels.pk, user=user.pk)


def other_judges(versions: QuerySet[Qrels], qrels: Qrels) -> str:
    """A sentence about the newest of `versions` that a machine judged and not people, or the other way round.

    It says who judged `qrels`, and which is newer. Empty if there is no such version, or only older ones of machines.
    One query.
    """
    whole = (
        versions.filter(track=qrels.track_id, archived_at=None)
        .exclude(report__has_key="part_of")
        .select_related(None)
        .only("version", "machine_name")
    )
    if qrels.machine_name:
        other = whole.filter(machine_name="").order_by("-version").first()
    else:
        other = whole.filter(version__gt=qrels.version).exclude(machine_name="").order_by("-version").first()
    if other is None:
        return ""
    if other.machine_name:
        return f"These qrels are {qrels}, which no machine judged; {other} is newer."
    age = "newer" if other.version > qrels.version else "older"
    return f"These qrels are {qrels}; {other}, which no machine judged, is {age}."


@dataclass(frozen=True)
class FreezePreview:
    """The content of a version if it were frozen now.

    `same` is a version that has the same grades already; `parts` are the groups and sets with a version of their own,
    each with its number of judged units; `n_short` units were judged by fewer people than their batch asked for.
    `empty` are topics without a relevant unit, by the grade from which some measure counts a unit as relevant.
    """

    digest: str
    n_judged: int
    n_topics: int
    parts: list[tuple[str, int]]
    report: dict[str, Any]
    same: Qrels | None
    n_short: int = 0
    short: Sequence[str] = ()  # the first of them
    empty: Sequence[tuple[int, Sequence[str]]] = ()

    @property
    def losses(self) -> list[str]:
        """Figures of what the version would leave out."""
        losses, n_unjudged = [], self.report.get("unjudged", {}).get("n", 0)
        if n_dropped := len(self.report.get("dropped", ())):
            losses.append(f"{n_dropped:,} of {counted(self.n_topics + n_dropped, 'topic')} would be dropped")
        if n_unjudged:
            losses.append(
                f"{counted(n_unjudged, 'unit')} of the pool {'is' if n_unjudged == 1 else 'are'} unjudged"
            )
        return losses


@dataclass(frozen=True)
class FreezePage:
    """The preview of a version, or why there is none; both are empty while no pool is ready."""

    track: Track
    rules: QrelsRules
    rule: str
    preview: FreezePreview | None
    refusal: str
    has_judgments: bool  # without any, no choice of the form makes a preview
    can_score: bool
    remarks: list[Check]  # about the agreement of assessors

    @property
    def n_remarks(self) -> int:
        """The number of remarks about the preview."""
        if (preview := self.preview) is None:
            return 0
        kinds = (preview.losses, preview.same, preview.n_short, preview.report.get("without_score"))
        return len(preview.empty) + len(self.remarks) + sum(map(bool, kinds))

    @property
    def buttons(self) -> list[tuple[str, str]]:
        """The name and words of the buttons that freeze the preview, the usual one first."""
        if self.preview is None:
            return []
        return [*([("score", "Freeze and score")] if self.can_score else []), ("", "Freeze qrels")]


def freeze_page(track: Track, chosen: Mapping[str, Any] | None) -> FreezePage:
    """The preview for the arguments of `frozen.grade_pool`. It reads all judgments of the pool."""
    preview, refusal = None, ""
    if chosen is not None:
        try:
            preview = freeze_preview(track, **chosen)
        except QrelsRefused as refused:
            refusal = refused.message
    rules = track.protocol.parsed.qrels
    can_score = track.protocol.parsed.takes_runs and runs_to_score(track).exists()
    return FreezePage(
        track=track,
        rules=rules,
        rule=grade_rule(track.protocol.parsed),
        preview=preview,
        refusal=refusal,
        has_judgments=not refusal or Judgment.objects.filter(track=track).exists(),
        can_score=can_score,
        remarks=list(remarks(track)),
    )


def freeze_preview(
    track: Track,
    pool: Pool,
    also: Sequence[str],
    machine: Machine | None,
    left_out: Mapping[str, str] = NOTHING,
) -> FreezePreview:
    """The preview for the arguments of `grade_pool`, which raises the same refusals."""
    if pool.status == Pool.Status.READY and topic_previews.is_by_topic(pool.protocol.parsed):
        levels = levels_of(track.protocol.parsed)
        values = topic_previews.preview(pool, also, machine, left_out, levels)
        values["report"] = _labeled(values["report"], pool.protocol.parsed)
    else:
        key = ["freeze", pool.pk, *also, machine and machine.pk, dict(left_out)]
        values = while_unchanged(track, key, lambda: _previewed(track, pool, also, machine, left_out))
    if "refusal" in values:
        raise QrelsRefused(values["refusal"])
    same = Qrels.objects.filter(track=track, sha256=values.pop("sha256"), machine=machine).first()
    short = short_units(pool) if machine is None else []
    return FreezePreview(**values, same=same, n_short=len(short), short=short[:SHORT_NAMED])


def _previewed(
    track: Track, pool: Pool, also: Sequence[str], machine: Machine | None, left_out: Mapping[str, str]
) -> dict[str, Any]:
    """The fields of a preview, or the reason why qrels cannot be frozen."""
    try:
        frozen = grade_pool(pool, also, machine, left_out)
    except QrelsRefused as refused:
        return {"refusal": refused.message}
    levels = levels_of(track.protocol.parsed, frozen.report.get("set", ""))
    empty = [(level, topics_without_relevant(frozen.columns, level)) for level in levels]
    return {
        "digest": frozen.digest,
        "sha256": frozen.sha256,
        "n_judged": frozen.n_judged,
        "n_topics": len(frozen.columns.topics),
        "parts": [(name, int((columns.grade >= 0).sum())) for name, (columns, _) in frozen.parts.items()],
        "report": _labeled(frozen.report, pool.protocol.parsed),
        "empty": [(level, codes) for level, codes in empty if codes],
    }


def levels_of(protocol: Protocol, set_key: str = "") -> list[int]:
    """The grades from which measures of qrels, or of a set, count a unit as relevant; 1 for those of gains."""
    measures = map(parse_measure, protocol.scoring.measures_of(set_key))
    of_grades = (measure for measure in measures if FAMILIES[measure.family].qrels == "grades")
    return sorted({max(measure.level, 1) for measure in of_grades})


def topics_without_relevant(columns: QrelsColumns, level: int) -> list[str]:
    """The topics of qrels in which no unit has this grade or a higher one, in natural order."""
    relevant = set(columns.topic_index[columns.grade >= max(level, 0)].tolist())
    empty = [str(code) for place, code in enumerate(columns.topics) if place not in relevant]
    return sorted(empty, key=lambda code: (natural(code), code))


def short_units(pool: Pool) -> list[str]:
    """The judged units of a pool and of those that it tops up with fewer judgments than a main batch asked for."""
    asked = Coalesce("batch__judges", pool.protocol.parsed.judging.judges)
    of_main = Task.objects.filter(batch__pool__in=chain(pool), batch__kind=Batch.Kind.MAIN, is_check=False)
    submitted = of_main.filter(status=Task.Status.SUBMITTED).order_by()
    few = submitted.values("batch", "entry").annotate(n=Count("pk")).filter(n__lt=asked)
    entries = PoolEntry.objects.filter(pk__in=few.values("entry")).order_by("topic__natural_code", "position")
    named = entries.values_list("topic__code", "docno")
    return list(dict.fromkeys(f"{topic} {docno}" for topic, docno in named))


def grade_label(protocol: Protocol, qrels: Qrels, grade: int) -> str:
    """The label of a grade of a version; a negative grade means that the unit was pooled but not judged.

    A sum of several judges has none: 2 may be one judge's *Relevant*, or *Partially relevant* twice.
    """
    if grade < 0:
        return "nugget of the list" if protocol.judged.has_nuggets else "pooled, not judged"
    if (rules := protocol.qrels.set_of(qrels.set_key)) and not rules.preferences:
        # The labels of the choices that have a grade in a set, without those of its rules
        if is_of_subtopics(protocol, rules):
            return "covers a subtopic" if grade else "covers none"
        questions = [question for question in protocol.judging.questions if question.key == rules.question]
        choices: Sequence[QuestionChoice | Grade] = (
            questions[0].choices if questions else protocol.judging.grades
        )
        if rules.aggregate == "sum" or (rules.rules and not rules.grades and not rules.question):
            return ""
        grades = {
            choice.key: rules.grades.get(choice.key) if rules.grades else choice.value for choice in choices
        }
        return " or ".join(choice.label for choice in choices if grades[choice.key] == grade)
    if protocol.qrels.preferences:
        return ""
    is_sum = protocol.qrels.aggregate == "sum" and protocol.judging.judges > 1 and "group" not in qrels.report
    return "" if is_sum else {level.value: level.label for level in protocol.judging.grades}.get(grade, "")


def _labeled(report: Mapping[str, Any], protocol: Protocol) -> dict[str, Any]:
    """A report with the label of each non-answer."""
    labels = {choice.key: choice.label for choice in protocol.judging.choices}
    non_answers = [unit | {"label": labels[unit["choice"]]} for unit in report.get("non_answers", [])]
    return {"unknown_topics": [], **report, "non_answers": non_answers}  # imports refuse unknown ones by now
