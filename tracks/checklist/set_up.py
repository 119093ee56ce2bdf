"""The points about the track itself: what it needs before runs come in."""

from collections.abc import Iterator
from typing import Any

from django.db.models import (
    BigIntegerField,
    Count,
    Exists,
    F,
    OuterRef,
    Q,
    Subquery,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from corpus.collections.selectors import stored_formula_counts
from corpus.models import Clustering, Collection
from jobs.models import Job
from tracks.checklist.points import Campaign, Phase, Point, Problem, any_of, n_of, numbers, points
from tracks.models import (
    Assessor,
    CandidateFile,
    Deadline,
    Download,
    GuidelinesDraft,
    Milestone,
    Row,
    Topic,
    Track,
)
from tracks.tracks.selectors import says_before
from web.confirmation import Check
from web.links import address_of
from web.pages import counted

IS_PERSON = Q(machine=None, user__guest_until=None, ended_at=None)
EXPORTING = "The collection is being exported."


@numbers
def _numbers() -> dict[str, Any]:
    people = Assessor.objects.filter(IS_PERSON)
    collections = Download.objects.filter(kind=Download.Kind.COLLECTION)
    hidden = collections.filter(track=OuterRef("pk"), released_at=None).order_by("pk")
    exports = Job.objects.filter(kind="tracks.downloads.export", state__in=Job.UNFINISHED)
    exports = exports.annotate(of=Cast(KeyTextTransform("track_id", "arguments"), BigIntegerField()))
    return {
        "n_topics": n_of(Topic.objects.all()),
        "n_rows": n_of(Row.objects.all(), "topic__track"),
        "n_people": n_of(people),
        "n_offered": n_of(collections),
        "n_released": n_of(collections.exclude(released_at=None)),
        "hidden_download": Subquery(hidden.values("pk")[:1]),
        "is_exporting": any_of(exports, "of"),
        "has_candidates": any_of(CandidateFile.objects.all()),
        "is_clustered": Exists(
            Clustering.objects.filter(collection=OuterRef("collection"), is_complete=True)
        ),
        "closes": any_of(Deadline.objects.exclude(closes_at=None)),
        "n_milestones": n_of(Milestone.objects.all()),
        "guidelines_number": F("guidelines__number"),
        "has_draft": any_of(GuidelinesDraft.objects.exclude(text="")),
    }


@points(Phase.SET_UP, 10)
def protocol(campaign: Campaign) -> Iterator[Point]:
    slug = campaign.track.protocol.slug
    yield Point("Protocol", slug, address_of("tracks:protocol", slug), True)


@points(Phase.SET_UP, 20)
def collection_points(campaign: Campaign) -> Iterator[Point]:
    """The collection, and the clustering of its formulas if the protocol judges formulas that look alike as one."""
    track = campaign.track
    if track.collection is None:
        return
    is_ready = track.collection.status == Collection.Status.READY
    is_importing = track.collection.status == Collection.Status.IMPORTING
    imports = address_of("corpus:collection_imports", track.collection.slug)
    start = f"{address_of('corpus:start_import')}?collection={track.collection.pk}"
    state = f"{track.collection} is {track.collection.get_status_display()}."
    yield Point(
        "Collection",
        str(track.collection),
        imports if is_ready or is_importing else start,
        is_ready,
        () if is_ready else (Problem(state),),
        action="Import files",
        detail="" if is_importing else f"{state} Runs are checked against its documents.",
        waits=state if is_importing else "",
    )
    if campaign.protocol.unit == "visually-distinct-formula":
        yield _formulas(track.collection, is_clustered=campaign.numbers["is_clustered"])


def _formulas(collection: Collection, *, is_clustered: bool) -> Point:
    counts = stored_formula_counts(collection)
    n, with_id = counts.get("formulas", 0), counts.get("formulas with a visual id", 0)
    state, is_done = "not clustered: visual ids are assigned to the formulas of runs only", False
    if is_clustered:
        state, is_done = "clustered", True
    elif with_id:
        state, is_done = f"{with_id:,} of {n:,} have a visual id of the index", n == with_id
    formulas = address_of("corpus:formulas", collection.slug)
    return Point("Formulas", state, formulas, is_done, action="Cluster the formulas", is_optional=True)


@points(Phase.SET_UP, 30)
def rows(campaign: Campaign) -> Iterator[Point]:
    """The rows that a form shows, if the protocol judges rows."""
    if campaign.protocol.judging.form is None:
        return
    n = campaign.numbers["n_rows"]
    address = campaign.address("tracks:rows" if n else "tracks:import_topics")
    yield Point(
        "Rows",
        counted(n, "row") if n else "none yet",
        address,
        n > 0,
        action="Import rows",
        detail="The protocol judges rows of a form, and there are none yet.",
    )


@points(Phase.SET_UP, 40)
def topics(campaign: Campaign) -> Iterator[Point]:
    n = campaign.numbers["n_topics"]
    address = campaign.address("tracks:topics" if n else "tracks:import_topics")
    state = counted(n, "topic") if n else "none yet"
    yield Point(
        "Topics",
        state,
        address,
        n > 0,
        action="Import topics",
        detail="Runs and judgments are about topics, and there are none yet.",
        needed_by=Phase.JUDGING,
    )


@points(Phase.SET_UP, 50)
def choice(campaign: Campaign) -> Iterator[Point]:
    """The progress of choosing topics among candidates, if a draft has candidates."""
    track = campaign.track
    if track.status != Track.Status.DRAFT or not campaign.numbers["has_candidates"]:
        return
    file = CandidateFile.objects.filter(track=track).first()
    if file is None:
        return
    state, address = counted(file.n_candidates, "candidate"), campaign.address("tracks:candidates")
    sample = track.candidate_samples.first()
    if sample is not None:
        both = Count("candidate__decisions", filter=Q(candidate__decisions__is_current=True))
        n_done = sample.rows.annotate(n_decisions=both).filter(n_decisions__gte=2).count()
        candidates = counted(sample.rows.count(), "candidate")
        state, address = (
            f"{sample}: both people have decided on {n_done:,} of {candidates}",
            sample.get_absolute_url(),
        )
    yield Point(
        "Choice of topics", state, address, False, action="Choose topics from candidates", is_optional=True
    )


@points(Phase.SET_UP, 120)
def data(campaign: Campaign) -> Iterator[Point]:
    """The documents that teams download. A lab may give them out elsewhere, so nobody has to."""
    track, counts = campaign.track, campaign.numbers
    if track.collection is None or not campaign.protocol.takes_runs:
        return
    n_released, page = counts["n_released"], campaign.address("tracks:downloads")
    state = "documents released" if n_released else "not offered"
    is_late = track.status == Track.Status.CLOSED  # the runs are made, with documents from elsewhere
    point = Point("Data", state, page, n_released > 0, skip="data", lasts=True)
    if n_released:
        yield point
    elif counts["is_exporting"]:
        yield point._replace(state="being exported", waits=EXPORTING)
    elif counts["n_offered"]:
        text = "The documents are among the downloads, but not released to the teams."
        yield point._replace(
            address=address_of("tracks:edit_download", track.slug, counts["hidden_download"]),
            problems=(Problem(text),),
            action="Release the documents",
            detail="Teams download the documents from the site.",
        )
    else:
        text = "Teams cannot download the documents: export the collection to the downloads, or link it."
        yield point._replace(
            address=campaign.address("tracks:export_collection"),
            problems=() if is_late else (Problem(text, page),),
            action="Export the collection",
            detail="Teams download the documents from the site. You see the files before you release them.",
            is_form=True,
            is_possible=track.collection.status == Collection.Status.READY,
        )


@points(Phase.SET_UP, 125)
def description(campaign: Campaign) -> Iterator[Point]:
    """The text about the track that everybody reads."""
    if not campaign.protocol.takes_runs:
        return
    is_written = bool(campaign.track.description.strip())
    yield Point(
        "Description",
        "written" if is_written else "none yet",
        f"{campaign.address('tracks:edit_track')}?first=description",
        is_written,
        action="Describe the track",
        detail="Visitors and teams read the description on the page of the track.",
        skip="description",
        lasts=True,
    )


@points(Phase.SET_UP, 130)
def guidelines(campaign: Campaign) -> Iterator[Point]:
    number = campaign.numbers["guidelines_number"]
    has_draft = campaign.numbers["has_draft"]
    yield Point(
        "Guidelines",
        f"version {number}" if number else "a draft that is not published" if has_draft else "none yet",
        campaign.address("tracks:guidelines" if number else "tracks:edit_guidelines"),
        number is not None,
        action="Write guidelines",
        detail="Assessors and teams read in them what a grade means.",
        needed_by=Phase.JUDGING,
        skip="guidelines",
    )


@says_before("opening")
def check_of_texts(track: Track) -> Iterator[Check]:
    """Say before the opening which texts are missing."""
    if not track.description.strip():
        address = f"{address_of('tracks:edit_track', track.slug)}?first=description"
        yield Check(
            "look", "No description", "Visitors read it.", address, "Describe the track", "description"
        )
    if track.guidelines is None:
        address = address_of("tracks:edit_guidelines", track.slug)
        yield Check(
            "look",
            "No guidelines",
            "Assessors and teams read them.",
            address,
            "Write guidelines",
            "guidelines",
        )


def _lacking(n: int, judges: int) -> str:
    """Return how many assessors the protocol asks for, and the track has, as a sentence."""
    return f"Each topic needs {counted(judges, 'assessor')}, and the track has {n}."


@says_before("opening")
def check_of_assessors(track: Track) -> Iterator[Check]:
    """Say before the opening whether the track has the assessors that its protocol asks for."""
    n, judges = Assessor.objects.filter(IS_PERSON, track=track).count(), track.protocol.parsed.judging.judges
    if n >= judges:
        yield Check("ok", counted(n, "assessor"))
        return
    label = f"Only {counted(n, 'assessor')}" if n else "No assessors"
    address = address_of("participation:add_people", track.slug)
    yield Check("look", label, f"{_lacking(n, judges)} They can come later.", address, "Add people")


@points(Phase.SET_UP, 60)
def assessors(campaign: Campaign) -> Iterator[Point]:
    n, judges = campaign.numbers["n_people"], campaign.protocol.judging.judges
    few = (Problem(f"The protocol asks for {judges} assessors for each topic."),) if 0 < n < judges else ()
    yield Point(
        "Assessors",
        counted(n, "person,people") if n else "nobody yet",
        campaign.address("participation:people" if n >= judges else "participation:add_people"),
        n >= judges,
        few,
        action="Add people",
        detail=_lacking(n, judges),
        needed_by=Phase.JUDGING,
    )


@points(Phase.SET_UP, 140)
def deadlines(campaign: Campaign) -> Iterator[Point]:
    if not campaign.protocol.takes_runs:
        return
    closes = campaign.numbers["closes"]
    milestones = f"; {counted(n, 'milestone')}" if (n := campaign.numbers["n_milestones"]) else ""
    state = ("set" if closes else "none for runs" if milestones else "none") + milestones
    yield Point(
        "Deadlines",
        state,
        campaign.address("tracks:deadlines"),
        closes,
        action="Set dates",
        detail="Runs close by themselves, and teams see until when they can submit.",
        skip="deadlines",
        lasts=True,
    )


@points(Phase.RUNS, 10)
def opening(campaign: Campaign) -> Iterator[Point]:
    if not campaign.protocol.takes_runs:
        return
    counts, is_draft = campaign.numbers, campaign.track.status == Track.Status.DRAFT
    is_exporting = (
        counts["is_exporting"] and not counts["n_released"] and "data" not in campaign.track.skipped
    )
    yield Point(
        "Open for runs",
        campaign.track.get_status_display() if is_draft else "opened",
        campaign.address("tracks:open_track" if is_draft else "tracks:deadlines"),
        not is_draft,
        action="Open for runs",
        detail="The page shows what teams will see.",
        is_possible=counts["n_topics"] > 0,
        waits=EXPORTING if is_draft and is_exporting else "",
    )
