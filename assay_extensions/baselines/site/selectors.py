"""The baselines of a track, which can be made, and their page."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import PurePosixPath

from django.db.models import Exists, OuterRef, Q, QuerySet

from assay.errors import InputError
from assay.protocols.schema import Protocol
from assay.ranking import line_form
from corpus.models import Build, Document
from jobs.models import Job
from pooling.models import Run
from tracks.deadline_acceptance import acceptance_of
from tracks.downloads.contents import mathml_indexes
from tracks.models import Download, Track
from tracks.topics.selectors import FORMULA_UNITS

KIND = "pooling.make_baseline"  # of its jobs
TEXT = {"tf-idf": "TF-IDF, as Terrier computes it", "bm25": "BM25"}
FORMULAS = {"tangent-s": "Tangent-S: formulas by their symbol layout and operator trees"}
LINKED = {"linked-posts": "Linked posts: answers of questions of which a topic is a duplicate"}
TEAM = "Organizers"
SHOWN = 20  # jobs


@dataclass(frozen=True)
class BaselineRow:
    run: Run
    is_offered: bool


@dataclass(frozen=True)
class BaselinesPage:
    """`why_not` is why no baseline can be made now, a whole sentence; empty if one can.

    `is_marked`: the protocol has a kind of runs for baselines.
    """

    track: Track
    rows: list[BaselineRow]
    jobs: list[Job]
    kind_name: str
    is_marked: bool
    why_not: str


def methods_for(protocol: Protocol) -> dict[str, str]:
    """The baselines that can be made for a protocol, each with its name in words."""
    if protocol.cites_posts:
        return {}
    if protocol.unit in FORMULA_UNITS:
        return FORMULAS
    if protocol.unit == "passage":
        return TEXT
    return TEXT | FORMULAS | (LINKED if protocol.unit == "answer" else {})


def kind_of(protocol: Protocol) -> str:
    """The kind of run of a baseline: one that is marked as such, else the first that the protocol has."""
    kinds = protocol.runs.kinds
    return next((kind.key for kind in kinds if kind.baseline), kinds[0].key if kinds else "")


def runs_to_fuse(track: Track) -> QuerySet[Run]:
    """The submitted runs of a track."""
    return track.runs.filter(status=Run.Status.SUBMITTED).select_related("team").defer("report")


def with_a_word(runs: QuerySet[Run], search: str) -> QuerySet[Run]:
    """The runs with one of the words in their tag or in the name of their team; all if there are no words."""
    has_word = (Q(tag__icontains=word) | Q(team__name__icontains=word) for word in search.split())
    return runs.filter(reduce(or_, has_word, Q()))


def links_of_candidates(track: Track, kinds: Collection[str]) -> dict[str, set[str]]:
    """The questions that the topics' own questions are linked to, as the candidates of the track know them."""
    threads = track.topics.exclude(thread="").values("thread")
    links: dict[str, set[str]] = {}
    for kind, name in (("duplicate", "duplicates"), ("related", "related")):
        candidates = track.candidates.filter(docno__in=threads) if kind in kinds else track.candidates.none()
        for docno, linked in candidates.values_list("docno", name):
            links.setdefault(docno, set()).update(linked)
    return links


def topics_with_answers(track: Track, links: Mapping[str, Iterable[str]]) -> int:
    """The number of topics whose questions are linked to a question with answers in the collection. Two queries."""
    answers = Document.objects.filter(collection=track.collection_id, kind=Document.Kind.ANSWER)
    linked = set().union(*links.values())
    answered = set(answers.filter(thread__in=linked).values_list("thread", flat=True).distinct())
    threads = track.topics.exclude(thread="").values_list("thread", flat=True)
    return sum(not answered.isdisjoint(links.get(thread, ())) for thread in threads)


def converter_of(track: Track) -> str:
    """The converter with which the collection of a track was built on this site; empty if it was not."""
    builds = Build.objects.filter(collection=track.collection_id)
    return builds.values_list("converter", flat=True).first() or ""


def has_topic_formulas(track: Track) -> bool:
    """Return whether formulas of the topics are stored as MathML."""
    return next(mathml_indexes(track, list(track.topics.order_by("code"))), None) is not None


def download_name(run: Run) -> str:
    """The name under which participants get the file of a baseline."""
    return f"{run.track.slug}-{run.tag}{''.join(PurePosixPath(run.file_name).suffixes[-2:]) or '.tsv'}"


def baselines_page(track: Track) -> BaselinesPage:
    """The baselines of a track, for organizers."""
    protocol = track.protocol.parsed
    kind = protocol.runs.kind(kind_of(protocol))
    runs = runs_to_fuse(track).filter(kind=kind.key).select_related("track").order_by("pk")
    if not kind.baseline:
        runs = runs.filter(team__name__iexact=TEAM)
    attached = set(Download.objects.filter(track=track).values_list("name", flat=True))
    # jobs that are not done; those that failed only if no later one made their run
    of_track = Job.objects.filter(kind=KIND, arguments__track_id=track.pk)
    made = of_track.filter(state=Job.State.DONE, arguments__tag=OuterRef("arguments__tag"))
    return BaselinesPage(
        track=track,
        rows=[BaselineRow(run, download_name(run) in attached) for run in runs],
        jobs=list(of_track.exclude(state=Job.State.DONE).exclude(Exists(made)).order_by("-pk")[:SHOWN]),
        kind_name=kind.name,
        is_marked=kind.baseline,
        why_not=_why_not(track, kind.key),
    )


def _why_not(track: Track, kind: str) -> str:
    if not track.protocol.parsed.runs.kinds:
        return "No baselines here: nothing is submitted to this track."
    try:
        line_form(track.protocol.parsed)
    except InputError as error:
        return f"No baselines here: {error}."
    now = acceptance_of(track, kind)
    if now.is_accepting:
        return ""
    return f"No baseline can be submitted now: {now.reason}. Baselines are runs: they are made while the track is open."
