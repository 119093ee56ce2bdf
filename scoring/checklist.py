"""The points of qrels, leaderboards and their release in the checklist of a campaign."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import JSONObject

from assessment.checklist import CHANGES_QRELS, batches_of, is_judging, n_judged, progress_of
from assessment.models import Batch, Judgment
from pooling.checklist import (
    announce_opening,
    closing_of,
    counts_of,
    deadlines_of,
    pools_of,
    progress_of_runs,
    runs_of,
    set_deadline,
)
from pooling.models import Pool
from pooling.pools.selectors import missing_texts
from scoring.leaderboards.releases import human_sample, kinds_in, missing_runs, reasons_to_wait
from scoring.leaderboards.services import check_opening
from scoring.models import Analysis, Evaluation, Leaderboard, Qrels, QrelsEntry
from tracks.checklist.points import Campaign, Phase, Point, Problem, listed, n_of, named, points
from tracks.models import Track
from tracks.tracks.selectors import says_before
from web.confirmation import Check, refusals
from web.links import address_of
from web.pages import counted

CLOSING = "closing"  # the key of a closing before a release that was skipped


@says_before("opening")
def released_board(track: Track) -> Iterator[Check]:
    """Say before the opening that a leaderboard is released, with the page where it can be hidden."""
    address = address_of("scoring:leaderboards", track.slug)
    return refusals(partial(check_opening, track=track), address=address, link="Go to the leaderboard")


@listed
def qrels_of(track: Any) -> QuerySet[Qrels]:
    """The newest version of the judgments of people, or of a file; without one, that of a machine."""
    of_people = Case(When(machine=None, then=0), default=1)
    whole = Qrels.objects.filter(track=track, archived_at=None).exclude(report__has_key="part_of")
    is_scored = Exists(Leaderboard.objects.filter(qrels=OuterRef("pk")))
    newest = whole.only("version", "machine_name", "source", "created_at").annotate(is_scored=is_scored)
    return newest.order_by(of_people, "-version")[:1]


@listed
def boards_of(track: Any) -> QuerySet[Leaderboard]:
    """The newest leaderboard and the newest released one, each with its qrels, runs and number of analyses.

    Those of people come before those of machines, as in `qrels_of`.
    """
    of_people = Case(When(qrels__machine=None, then=0), default=1)
    whole_boards = Leaderboard.objects.exclude(qrels__report__has_key="part_of").order_by(of_people, "-pk")
    of_track = whole_boards.filter(track=OuterRef("track"))
    released = of_track.exclude(release=Leaderboard.Release.HIDDEN)
    shown = whole_boards.filter(
        Q(pk=Subquery(of_track.values("pk")[:1])) | Q(pk=Subquery(released.values("pk")[:1])), track=track
    )
    facts = ("version", "machine_name", "source", "supersedes_id")
    evaluations = Evaluation.objects.filter(leaderboard=OuterRef("pk")).order_by()
    return shown.only("track", "qrels", "status", "release", "created_at", "released_at").annotate(
        of_qrels=JSONObject(**{name: f"qrels__{name}" for name in facts}),
        unknown_topics=F("qrels__report__unknown_topics"),
        also=F("qrels__report__also"),
        scored=ArraySubquery(evaluations.values("run")),
        n_analyses=n_of(Analysis.objects.filter(status=Analysis.Status.READY), "leaderboard"),
    )


def boards(campaign: Campaign) -> list[Any]:
    """The leaderboards of `boards_of`, with their relations."""
    for board in campaign.rows(boards_of):
        board.track = campaign.track
        board.qrels = Qrels(
            pk=board.qrels_id,
            report={"unknown_topics": board.unknown_topics, "also": board.also or ()},
            **board.of_qrels,
        )
    return campaign.rows(boards_of)


def _missing(campaign: Campaign, board: Any) -> list[str]:
    """As `missing_runs`; for runs of documents without a query."""
    if campaign.protocol.judged.has_nuggets:
        return missing_runs(board)
    scored = campaign.protocol.runs.scored_keys
    runs = [run for run in campaign.rows(runs_of) if run.kind in scored]
    return [run.tag for run in runs if run.pk not in board.scored]


def _n_gone(campaign: Campaign, board: Any) -> int:
    """The number of its runs that are no longer submitted."""
    return len({*board.scored} - {run.pk for run in campaign.rows(runs_of)})


def _reasons(campaign: Campaign, board: Any) -> list[str]:
    """As `hindrances`, from what the checklist knows."""
    openings = [
        deadline for deadline in campaign.rows(deadlines_of) if not deadline.kind and deadline.opens_at
    ]
    kinds = kinds_in(board.qrels)
    batches = [
        batch
        for batch in campaign.rows(batches_of)
        if batch.status == Batch.Status.OPEN and batch.kind in kinds
    ]
    return reasons_to_wait(
        board,
        missing=_missing(campaign, board),
        will_open=campaign.track.status == Track.Status.DRAFT and bool(openings),
        opened=sorted(batch.name for batch in batches),
        n_sampled=human_sample(board),
    )


def _changes(campaign: Campaign, newest: Qrels) -> bool:
    """Return whether judgments after a version can change it. An adjudication that confirms its grade cannot."""
    later = Judgment.objects.filter(
        CHANGES_QRELS, track=campaign.track, is_current=True, created_at__gt=newest.created_at
    )
    same = QrelsEntry.objects.filter(
        qrels=newest, topic=OuterRef("topic__code"), docno=OuterRef("docno"), grade=OuterRef("grade")
    )
    if not campaign.protocol.qrels.sets:
        later = later.exclude(Exists(same), batch__kind=Batch.Kind.ADJUDICATION)
    return later.exists()


@points(Phase.SET_UP, 115)
def texts(campaign: Campaign) -> Iterator[Point]:
    """The texts for assessors: the choice of a collection, without which a lab may do, and the units that it lacks.

    Until a batch was judged, units without a text are something to look at; not if qrels came from elsewhere.
    """
    track = campaign.track
    pools = [pool for pool in campaign.rows(pools_of) if pool.status == Pool.Status.READY]
    batches = campaign.rows(batches_of)
    is_judged = any(batch.status == Batch.Status.CLOSED for batch in batches)
    is_ahead = not is_judged and (bool(batches) or not campaign.rows(qrels_of))
    lacking = [(missing_texts(pool, track), pool) for pool in pools] if is_ahead else []
    problems = [Problem(text, pool.get_absolute_url()) for text, pool in lacking if text]
    if track.collection is None and campaign.protocol.takes_runs:
        yield _no_collection(campaign, problems, is_ahead=is_ahead)
    elif problems:
        text = "not all are in the collection"
        yield Point("Texts of the units", text, problems[0].address, False, tuple(problems), is_optional=True)


def _no_collection(campaign: Campaign, problems: list[Problem], *, is_ahead: bool) -> Point:
    """The choice of a collection, which is possible until a pool is built."""
    track, has_own_texts = campaign.track, campaign.protocol.has_own_texts
    is_linked = any(pool.status != Pool.Status.FAILED for pool in campaign.rows(pools_of))
    can_choose = track.status == Track.Status.DRAFT or not is_linked
    address = f"{campaign.address('tracks:edit_track')}?first=collection" if can_choose else ""
    is_open = track.status == Track.Status.OPEN
    effects = [] if has_own_texts else ["assessors will see no text"]
    effects += ["unknown documents in runs are accepted"] if is_open else []
    if not problems and effects and (is_open or (is_ahead and track.status != Track.Status.DRAFT)):
        problems = [Problem(f"The track has no collection: {', and '.join(effects)}.", address)]
    return Point(
        "Collection",
        "none chosen",
        address,
        False,
        tuple(problems),
        action="Choose the collection",
        detail="Runs are checked against its documents."
        if has_own_texts
        else "Assessors read its texts, and runs are checked against its documents.",
        skip="collection",
    )


@points(Phase.RUNS, 25)
def closing(campaign: Campaign) -> Iterator[Point]:
    """The end of the runs, which pools need, and the release of a leaderboard: a run could be made from its qrels.

    By hand it is the next step only if no time is set, a team has a run, and a pool was not built without it; and when
    the judging is over. If a time is set, it is offered meanwhile, on the last day first.
    """
    if not campaign.protocol.takes_runs:
        return
    track, closing = campaign.track, campaign.once(closing_of)
    is_draft, is_open, ends = track.status == Track.Status.DRAFT, closing.is_open, closing.ends
    is_due = is_open and _is_judged(campaign) and CLOSING not in track.skipped
    is_possible = is_open and (is_due or campaign.once(counts_of).runs > 0)
    close = (("Close for runs…", campaign.address("tracks:close_track")),) if ends else ()
    announce = (*announce_opening(campaign), *set_deadline(campaign)) if is_open else ()
    on = f"on {ends}" if ends else "runs can still come in"
    detail = progress_of_runs(campaign) if is_open else ""
    if is_due and not ends:
        detail = "While the track is open, a run could be made from the qrels that you release."
    yield Point(
        "Close for runs",
        "not open yet" if is_draft else on if is_open else "closed",
        campaign.address("tracks:close_track" if is_open else "tracks:deadlines"),
        not is_draft and not is_open,
        action="Close for runs",
        detail=detail,
        is_optional=bool(campaign.rows(pools_of)) and not is_due,
        is_pressing=is_due,
        is_possible=is_possible,
        waits=f"Runs close by themselves {on}." if ends and is_possible else "",
        skip=CLOSING if is_due or (is_open and CLOSING in track.skipped) else "",
        meanwhile=(*close, *announce) if closing.is_last_day else (*announce, *close),
    )


def _is_judged(campaign: Campaign) -> bool:
    """Return whether the main judging is over or runs are scored, and no leaderboard is released."""
    shown, batches = campaign.once(boards), campaign.rows(batches_of)
    is_released = any(board.release != Leaderboard.Release.HIDDEN for board in shown)
    main = {batch.status for batch in batches if batch.kind == Batch.Kind.MAIN}
    is_over = main == {Batch.Status.CLOSED} and not is_judging(campaign)
    return not is_released and (is_over or bool(shown))


@points(Phase.RESULTS, 10)
def qrels(campaign: Campaign) -> Iterator[Point]:
    if not (campaign.protocol.judging.has_grades or campaign.protocol.qrels.sets):
        return
    newest = next((each for each in campaign.rows(qrels_of) if not each.machine_name), None)
    problems = []
    judged_at = campaign.numbers["judged_at"]
    is_known = campaign.protocol.pool.strategy == "known-item"
    freeze = campaign.address("scoring:freeze")
    scored = campaign.protocol.runs.scored_keys
    can_score = campaign.protocol.takes_runs and any(run.kind in scored for run in campaign.rows(runs_of))
    action = "Freeze and score" if can_score else "Freeze qrels"
    is_frozen = newest is not None and newest.source == Qrels.Source.FROZEN
    is_later = newest and is_frozen and judged_at and judged_at > newest.created_at
    if newest and is_later and _changes(campaign, newest):
        text = f"Judgments came after {newest}. Freeze the qrels again if they must count."
        problems.append(Problem(text, freeze, "" if is_judging(campaign) else action))
    yield Point(
        "Qrels",
        str(newest or "none yet"),
        campaign.address("scoring:qrels_list") if newest else freeze,
        newest is not None,
        tuple(problems),
        action=action,
        detail="No batch is open. Qrels are the judgments that runs are scored against.",
        is_possible=is_known or (n_judged(campaign) > 0 and not is_judging(campaign)),
    )


@points(Phase.RESULTS, 20)
def leaderboard(campaign: Campaign) -> Iterator[Point]:
    """The newest leaderboard."""
    if not campaign.protocol.takes_runs:
        return
    newest = next(iter(campaign.rows(qrels_of)), None)
    board = next(iter(campaign.once(boards)), None)
    if board is None:
        address = newest.get_absolute_url() if newest else campaign.address("scoring:leaderboards")
        action = "Score the runs"
        detail = f"Qrels {newest} have no leaderboard yet."
        is_possible = newest is not None
        yield Point("Leaderboard", "none yet", address, False, (), action, detail, is_possible=is_possible)
    else:
        yield _scored(campaign, board, newest)


def _scored(campaign: Campaign, board: Any, newest: Any) -> Point:
    """A leaderboard that lacks a run, or has other qrels than the newest, must not be released.

    Several machines each have a newest version, so that of a machine only needs some leaderboard.
    """
    problems, address = [], board.get_absolute_url()
    is_ready = board.status == Leaderboard.Status.READY
    if board.status == Leaderboard.Status.FAILED:
        text = "Scoring failed. The page of the leaderboard states why."
        problems.append(Problem(text, address, "Score again"))
    elif newest and board.qrels_id != newest.pk and not (newest.machine_name and newest.is_scored):
        text = f"It was not scored against the newest qrels, {newest}."
        problems.append(Problem(text, newest.get_absolute_url(), "Score the runs"))
    elif is_ready and (missing := _missing(campaign, board)):
        verb = "is" if len(missing) == 1 else "are"
        text = f"{named(missing)} {verb} not on the leaderboard."
        problems.append(Problem(text, address, "Score again"))
    elif is_ready and board.release == Leaderboard.Release.HIDDEN and (n_gone := _n_gone(campaign, board)):
        text = f"{counted(n_gone, 'run was,runs were')} withdrawn or disqualified after the scoring."
        problems.append(Problem(text, address, "Score again"))
    is_scoring = board.status == Leaderboard.Status.SCORING
    waits = f"The runs are being scored against {board.qrels}." if is_scoring else ""
    state = board.get_status_display()
    return Point("Leaderboard", state, address, is_ready, tuple(problems), "Score again", waits=waits)


def _newer(board: Any, released: Any) -> Iterator[Point]:
    """A leaderboard against newer qrels than the released ones. If they correct them, it is to be released."""
    if board.status != Leaderboard.Status.READY or board.qrels.version <= released.qrels.version:
        return
    is_correction = board.qrels.supersedes_id == released.qrels_id
    people = "everybody" if released.release == Leaderboard.Release.PUBLIC else "the teams"
    address = f"{address_of('scoring:release', board.pk)}?level={released.release}"
    text = f"Released is the leaderboard against {released.qrels}, not the one against {board.qrels}."
    action = f"Release to {people}"
    problem = Problem(text, address, action if is_correction else "")
    label, state = "Newer leaderboard", f"against {board.qrels}, not released"
    yield Point(label, state, address, False, (problem,), action, text, is_optional=True)


def is_over(campaign: Campaign) -> bool:
    """Return whether a leaderboard is released, none against newer qrels is to be, and nobody judges."""
    shown = campaign.once(boards)
    released = next((board for board in shown if board.release != Leaderboard.Release.HIDDEN), None)
    return released is not None and not is_judging(campaign) and not any(_newer(shown[0], released))


@points(Phase.RESULTS, 22)
def release(campaign: Campaign) -> Iterator[Point]:
    """The release. It comes after the closing: a run could be made from the qrels."""
    if not campaign.protocol.takes_runs:
        return
    shown = campaign.once(boards)
    released = next((board for board in shown if board.release != Leaderboard.Release.HIDDEN), None)
    if released is not None:
        state, reasons = f"to {released.get_release_display()}", _reasons(campaign, released)
        problems = [*map(Problem, reasons), *_other_open_batches(campaign, released)]
        yield Point("Release", state, released.get_absolute_url(), True, tuple(problems))
        newer = list(_newer(shown[0], released))
        yield _announcement(campaign, released)._replace(is_possible=not newer, is_optional=bool(newer))
        yield from newer
        return
    yield _to_release(campaign, next(iter(shown), None))


def _other_open_batches(campaign: Campaign, board: Any) -> Iterator[Problem]:
    """The open batches, except training, whose judgments do not change the qrels of a leaderboard."""
    in_qrels = {Batch.Kind.TRAINING, *kinds_in(board.qrels)}
    for progress in campaign.once(progress_of).values():
        batch = progress.batch
        if batch.status == Batch.Status.OPEN and batch.kind not in in_qrels:
            text = f"{batch} is still open: {progress.judged:,} of {progress.total:,} judged."
            yield Problem(text, batch.get_absolute_url())


def _announcement(campaign: Campaign, released: Any) -> Point:
    """The announcement of a release: any that came after it."""
    announced_at, is_public = (
        campaign.numbers["announced_at"],
        released.release == Leaderboard.Release.PUBLIC,
    )
    is_done = bool(announced_at and released.released_at and announced_at > released.released_at)
    address = f"{campaign.address('participation:new_announcement')}?about=results"
    return Point(
        "Announcement of the results",
        "published" if is_done else "none since the release",
        campaign.address("participation:announcements")
        if is_done
        else address
        if is_public
        else f"{address}&audiences=teams",
        is_done,
        action="Announce the results",
        detail="Teams and readers learn where the results are.",
        skip="announcement",
    )


def _to_release(campaign: Campaign, board: Any) -> Point:
    """The release of the newest leaderboard, while none is released."""
    point = Point("Release", "not released yet", campaign.address("scoring:leaderboards"), False)
    if board is None or board.status != Leaderboard.Status.READY:
        return point._replace(is_possible=False)
    if campaign.once(closing_of).ends and CLOSING not in campaign.track.skipped:
        return point._replace(waits="The leaderboard can be released when runs have closed.")
    reasons = _reasons(campaign, board) + [problem.text for problem in _other_open_batches(campaign, board)]
    return point._replace(
        address=f"{address_of('scoring:release', board.pk)}?level=public",
        action="Release to everybody",
        detail=next(iter(reasons), "The leaderboard is ready. Its page of release shows who will see what."),
    )
