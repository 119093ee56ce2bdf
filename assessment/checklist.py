"""The points of judging in the checklist of a campaign."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Count, F, JSONField, OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import RawSQL

from assessment.agreement.selectors import chance_remark
from assessment.batches.other_batches import SETTLED_IN_TRACK
from assessment.batches.progress import (
    BatchProgress,
    Rates,
    progress_from,
    rates_of_track,
    track_progress,
)
from assessment.models import Batch, BatchEntry, Judgment, TopicAssignment
from pooling.checklist import pools_of
from pooling.models import Pool, PoolEntry
from tracks.checklist.points import Campaign, Phase, Point, Problem, listed, named, numbers, points
from tracks.models import Topic
from web.links import address_of
from web.pages import counted, hours

PLANS = {Batch.Kind.TRAINING: "assessment:new_training", Batch.Kind.DUAL: "assessment:new_dual"}
SKIPS = {Batch.Kind.TRAINING: "training", Batch.Kind.DUAL: "dual"}
KINDS = {
    Batch.Kind.TRAINING: "Training",
    Batch.Kind.MAIN: "Main judging",
    Batch.Kind.DUAL: "Second judgments",
    Batch.Kind.ADJUDICATION: "Adjudication",
}
GOES_ON = {
    Batch.Kind.TRAINING: "Training goes on",
    Batch.Kind.MAIN: "Judging goes on",
    Batch.Kind.DUAL: "Second judgments go on",
    Batch.Kind.ADJUDICATION: "Adjudication goes on",
}
OF_PEOPLE = ~Q(batch__kind=Batch.Kind.MACHINE)
UNDER_WAY = OF_PEOPLE & Q(batch__status=Batch.Status.OPEN)
FEW = 20  # judgments, below which a batch may have hardly any
# A judgment that revises another one without another choice changes no qrels, nor does one of a training.
CHANGES_QRELS = Q(batch__kind__in=(Batch.Kind.MAIN, Batch.Kind.ADJUDICATION)) & (
    Q(replaces=None) | ~Q(choice=F("replaces__choice"), answers=F("replaces__answers"))
)


@numbers
def _numbers() -> dict[str, Any]:
    judged = Judgment.objects.filter(CHANGES_QRELS, is_current=True, track=OuterRef("pk"))
    newest = judged.order_by("-created_at")
    return {
        "judged_at": Subquery(newest.values("created_at")[:1]),
        "settled": RawSQL(SETTLED_IN_TRACK, [], output_field=JSONField()),  # noqa: S611 - of constants
    }


@listed
def batches_of(track: Any) -> QuerySet[Batch]:
    """The batches of people, newest first."""
    batches = Batch.objects.filter(pool__track=track).exclude(kind=Batch.Kind.MACHINE)
    batches = batches.only(
        "pool", "name", "kind", "status", "judges", "is_shared", "is_selective", "discussion"
    )
    return batches.order_by("-pk")


@listed
def assignments_of(track: Any) -> QuerySet[TopicAssignment]:
    """The assignments of people, in the order in which `progress_from` takes them."""
    assignments = TopicAssignment.objects.filter(OF_PEOPLE, batch__pool__track=track)
    assignments = assignments.only("batch", "topic", "assessor", "seat", "is_withdrawn")
    in_order = assignments.order_by("topic", "seat", "is_withdrawn", "assessor__username")
    return in_order.annotate(pool=F("batch__pool"))


@listed
def _judged(track: Any) -> QuerySet[Any, Any]:
    """The numbers of judged units and of judgments of people, by batch, topic and assessor."""
    of_people = Batch.objects.exclude(kind=Batch.Kind.MACHINE).filter(pool__track=OuterRef(track))
    judgments = Judgment.objects.filter(batch__in=of_people.values("pk"), is_current=True).order_by()
    units = judgments.values("batch", "topic", "assessor").annotate(n=Count("task", distinct=True))
    return units.annotate(n_judgments=Count("*"))


@listed
def _sizes(track: Any) -> QuerySet[Any, Any]:
    """The number of entries by pool and topic, in the pools of open batches and of drafts of the main judging."""
    batches = Batch.objects.exclude(kind=Batch.Kind.MACHINE)
    batches = batches.filter(pool__track=OuterRef(track), is_selective=False)
    asked = batches.filter(Q(status=Batch.Status.OPEN) | Q(status=Batch.Status.DRAFT, kind=Batch.Kind.MAIN))
    entries = PoolEntry.objects.filter(pool__in=asked.values("pool")).order_by()
    return entries.values("pool", "topic").annotate(n=Count("pk"))


@listed
def _selected(track: Any) -> QuerySet[Any, Any]:
    """The number of entries that were selected for open batches, by batch and topic."""
    selected = BatchEntry.objects.filter(UNDER_WAY, batch__pool__track=track, batch__is_selective=True)
    return selected.order_by().values("batch", "entry__topic").annotate(n=Count("pk"))


def n_judged(campaign: Campaign) -> int:
    """The number of current judgments of people."""
    return sum(row["n_judgments"] for row in campaign.rows(_judged))


def progress_of(campaign: Campaign) -> dict[int, BatchProgress]:
    """The progress of the open batches of people, and of drafts of the main judging, by id."""
    pools, batches = {pool.pk: pool for pool in campaign.rows(pools_of)}, {}
    for batch in campaign.rows(batches_of):
        is_draft = batch.status == Batch.Status.DRAFT and batch.kind == Batch.Kind.MAIN
        if is_draft or batch.status == Batch.Status.OPEN:
            batch.pool = pools[batch.pool_id]
            if batch.pool.protocol_id == campaign.track.protocol_id:
                batch.pool.protocol = campaign.track.protocol
            batches[batch.pk] = batch
    sizes = {
        (batch.pk, row["topic"]): row["n"]
        for row in campaign.rows(_sizes)
        for batch in batches.values()
        if batch.pool_id == row["pool"] and not batch.is_selective
    }
    sizes |= {(row["batch"], row["entry__topic"]): row["n"] for row in campaign.rows(_selected)}
    settled = {int(pk): n for pk, n in campaign.numbers["settled"].items()}
    return progress_from(batches, campaign.rows(assignments_of), campaign.rows(_judged), sizes, settled)


def _rates(campaign: Campaign) -> Rates | None:
    """The speed of the assessors. Its own query, because it may be kept for a minute."""
    return rates_of_track(campaign.track.pk, n_judged=n_judged(campaign))


def progress_of_all(campaign: Campaign) -> list[BatchProgress]:
    """As `track_progress`: for what only the home shows."""
    return track_progress(campaign.track)


def _is_unjudged(campaign: Campaign, batch: Batch) -> bool:
    """Return whether a batch was closed without a judgment, or second judgments with hardly any."""
    if batch.status != Batch.Status.CLOSED:
        return False
    n = sum(row["n"] for row in campaign.rows(_judged) if row["batch"] == batch.pk)
    return not n or (batch.kind == Batch.Kind.DUAL and n < FEW and n * 8 < _n_units(campaign, batch))


def _n_units(campaign: Campaign, batch: Batch) -> int:
    """The number of units of a closed batch. Its own query, which only a batch with few judgments needs."""
    if batch.is_selective:
        return BatchEntry.objects.filter(batch=batch).count()
    topics = {row.topic_id for row in campaign.rows(assignments_of) if row.batch_id == batch.pk}
    return PoolEntry.objects.filter(pool=batch.pool_id, topic__in=topics).count()


def is_judging(campaign: Campaign) -> bool:
    """Return whether people judge now, so that grades still change."""
    return any(batch.status == Batch.Status.OPEN for batch in campaign.rows(batches_of))


@points(Phase.JUDGING, 10)
def judging(campaign: Campaign) -> Iterator[Point]:
    """A point for each kind of batch, and one for the agreement, which an adjudication shows to be known."""
    batches, n = campaign.rows(batches_of), n_judged(campaign)
    for kind, label in KINDS.items():
        point = _batches(campaign, kind, [batch for batch in batches if batch.kind == kind])
        yield point._replace(label=label)
        if kind == Batch.Kind.TRAINING:
            yield from _discussion(campaign)
    dual = [batch for batch in batches if batch.kind == Batch.Kind.DUAL]
    is_judged_twice = all(batch.status == Batch.Status.CLOSED for batch in dual) and any(
        not _is_unjudged(campaign, batch) for batch in dual
    )
    yield Point(
        "Agreement",
        counted(n, "judgment"),
        campaign.address("assessment:agreement"),
        n > 0 and bool(_statuses(campaign, Batch.Kind.ADJUDICATION)),
        action="Look at the agreement",
        detail="It shows how well assessors agree, and which units an adjudication can settle.",
        is_optional=not (n and is_judged_twice),
        meanwhile=(("Make an adjudication batch…", campaign.address("assessment:new_adjudication")),),
        look=(lambda: _chance(campaign)) if is_judged_twice else tuple,
        skip="agreement" if n and is_judged_twice else "",
        dismiss="Mark as seen",
    )


def _chance(campaign: Campaign) -> Iterator[Problem]:
    if text := chance_remark(campaign.track):
        yield Problem(text, campaign.address("assessment:disagreements"))


def _discussion(campaign: Campaign) -> Iterator[Point]:
    """The discussion of the newest training round that is closed. Sharing it with the assessors shows that it began."""
    rounds = [batch for batch in campaign.rows(batches_of) if batch.kind == Batch.Kind.TRAINING]
    batch = next((batch for batch in rounds if batch.status == Batch.Status.CLOSED), None)
    if batch is None or _is_unjudged(campaign, batch):
        return
    yield Point(
        "Discussion",
        batch.get_discussion_display(),
        address_of("assessment:discussion", batch.pk),
        batch.discussion != Batch.Discussion.HIDDEN,
        action="Discuss the training round",
        detail="Assessors compare their grades, and agree on what a grade means. Share it with them on the page.",
        is_optional=not _statuses(campaign, Batch.Kind.MAIN) <= {Batch.Status.DRAFT},
        skip="discussion",
        dismiss="Mark as seen",
    )


def _batches(campaign: Campaign, kind: Batch.Kind, batches: list[Batch]) -> Point:
    """The batches of a kind. A draft next to another batch is no step, but something to look at."""
    drafts = [batch for batch in batches if batch.status == Batch.Status.DRAFT]
    opened = [batch for batch in batches if batch.status == Batch.Status.OPEN]
    is_main, is_recommended = kind == Batch.Kind.MAIN, _is_stated(campaign, kind)
    # A known-item task needs no judgments. What assessors have been asked to do is always asked for, except a training
    # that the main judging has overtaken
    is_known = campaign.protocol.pool.strategy == "known-item"
    is_over = kind == Batch.Kind.TRAINING and _statuses(campaign, Batch.Kind.MAIN) == {Batch.Status.CLOSED}
    is_asked = bool(opened) and not is_over
    is_optional = (is_known or not (is_main or is_recommended)) and not is_asked
    state = f"{counted(len(batches), 'batch,batches')}, {len(opened)} open" if batches else "no batch"
    skip = SKIPS.get(kind, "")
    is_skipped = not batches and skip in campaign.track.skipped
    problems = [*_gaps(campaign, opened), *_untouched(campaign, batches)] if is_main else []
    has_begun = len(drafts) < len(batches)
    if has_begun or not is_main:
        problems += [
            Problem(f"The batch {batch} is a draft. Open it, or delete it.", batch.get_absolute_url())
            for batch in drafts
        ]
    if is_over:
        problems += [
            Problem(
                f"The batch {batch} is still open, but the main judging is closed.", batch.get_absolute_url()
            )
            for batch in opened
        ]
    point = Point(
        "",
        state,
        batches[0].get_absolute_url() if batches else campaign.address("assessment:judging"),
        has_begun and not opened,
        tuple(problems),
        is_optional=is_optional,
        is_pressing=is_asked,
        has_begun=has_begun,
        look=(lambda: _unjudged(campaign, kind)) if has_begun else tuple,
        skip=skip if is_skipped or (is_recommended and not is_known) else "",
    )
    if opened:
        return _under_way(campaign, opened, point)
    if batches and not has_begun:
        return _draft(campaign, point, drafts[0])
    if batches and all(batch in drafts or _is_unjudged(campaign, batch) for batch in batches):
        closed = next(batch for batch in batches if batch not in drafts)
        n = sum(row["n"] for row in campaign.rows(_judged) if row["batch"] == closed.pk)
        few = (
            f"{n:,} of {counted(_n_units(campaign, closed), 'unit')} judged"
            if n
            else "nobody judged anything in it"
        )
        return point._replace(
            state=f"{closed} is closed, and {few}",
            address=address_of("assessment:open", closed.pk),
            is_form=True,
            is_done=False,
            action="Open batch again",
            detail=f"The batch {closed} is closed, and {few}.",
            skip=skip,
        )
    if batches:
        return point
    return _to_create(campaign, kind, point)


def _statuses(campaign: Campaign, kind: Batch.Kind) -> set[str]:
    return {batch.status for batch in campaign.rows(batches_of) if batch.kind == kind}


def _is_stated(campaign: Campaign, kind: Batch.Kind) -> bool:
    """Return whether the protocol states a training or second judgments, and the track can still have them."""
    rules = campaign.protocol.judging
    if kind == Batch.Kind.TRAINING:
        return rules.training_topics > 0 and _statuses(campaign, Batch.Kind.MAIN) <= {Batch.Status.DRAFT}
    return kind == Batch.Kind.DUAL and rules.has_dual


def _to_create(campaign: Campaign, kind: Batch.Kind, point: Point) -> Point:
    """A kind without a batch. The main judging waits for the training, and second judgments wait for the main ones."""
    ready = [pool for pool in campaign.rows(pools_of) if pool.status == Pool.Status.READY]
    if not ready:
        return point._replace(is_possible=False)
    address = address_of(PLANS[kind], ready[0].pk) if kind in PLANS else point.address
    if kind in PLANS:
        action = "Plan a training round"
        detail = "By the protocol, assessors judge and discuss some topics before the main judging."
        if kind == Batch.Kind.DUAL:
            action, is_judged = (
                "Plan second judgments",
                _statuses(campaign, Batch.Kind.MAIN) == {Batch.Status.CLOSED},
            )
            detail = "Other assessors judge some topics a second time, which shows how well assessors agree."
            point = point._replace(is_possible=is_judged)
        if (n := campaign.numbers["n_people"]) < 2:
            address, action = campaign.address("participation:add_people"), "Add people"
            need = "Second judgments need" if kind == Batch.Kind.DUAL else "A training round needs"
            detail = f"{need} 2 assessors to compare, and the track has {n}."
        return point._replace(address=address, action=action, detail=detail)
    is_training = Batch.Status.OPEN in _statuses(campaign, Batch.Kind.TRAINING)
    if kind == Batch.Kind.MAIN:
        address = campaign.address("assessment:new_batch")
    return point._replace(
        address=address,
        action="Create and open the batch",
        detail="A batch gives the topics of the pool to assessors, who judge their units.",
        is_possible=not is_training,
    )


def _draft(campaign: Campaign, point: Point, batch: Batch) -> Point:
    """The only batch of its kind, which nobody judges yet: its plan shares the topics, and opens it."""
    if batch.is_shared or batch.kind != Batch.Kind.MAIN:
        detail = f"{batch} is a draft, which nobody can judge yet."
        return point._replace(state=f"{batch} is a draft", action="Open batch", detail=detail)
    progress = campaign.once(progress_of)[batch.pk]
    action = "Open batch"
    if progress.untaken:
        is_new = not progress.n_topics
        action = (
            "Share and open the batch"
            if is_new
            else f"Give {counted(len(progress.untaken), 'topic')} to assessors"
        )
    address = address_of("assessment:plan", batch.pk)
    return point._replace(state=f"{batch} is a draft", address=address, action=action)


def _under_way(campaign: Campaign, opened: list[Batch], point: Point) -> Point:
    """Batches in which people judge: all that are finished can be closed at once."""
    progress_by_batch = campaign.once(progress_of)
    own = [progress_by_batch[batch.pk] for batch in opened]
    judged, total = sum(progress.judged for progress in own), sum(progress.total for progress in own)
    is_main = opened[0].kind == Batch.Kind.MAIN  # whose numbers are large on the same page
    state = point.state if is_main else f"{judged:,} of {counted(total, 'unit')}"
    point = point._replace(share=judged / total if total else 0)
    under_way = [
        progress for progress in progress_by_batch.values() if progress.batch.status == Batch.Status.OPEN
    ]
    finished = [progress for progress in under_way if progress.is_finished]
    if any(progress.is_finished for progress in own):
        name = f"“{finished[0].batch}”" if len(finished) == 1 else f"{len(finished)} finished batches"
        return point._replace(
            state=state,
            address=campaign.address("assessment:close_finished"),
            action=f"Close {name}",
            detail="Everything in it is judged." if len(finished) == 1 else "Everything in them is judged.",
            is_form=True,
            skip="",
        )
    # The sentence is that of all open batches, whatever their kind: the next step names it once
    kinds = {progress.batch.kind for progress in under_way}
    goes_on = GOES_ON[Batch.Kind(kinds.pop()) if len(kinds) == 1 else Batch.Kind.MAIN]
    judged = sum(progress.judged for progress in under_way)
    total = sum(progress.total for progress in under_way)
    rates = campaign.once(_rates)
    left = sum(progress.total_hours(rates) for progress in under_way)
    time_left = f", about {hours(left)} of work" if left else ""
    by_batch = [
        f"{progress.batch} {progress.judged:,} of {progress.total:,}" for progress in reversed(under_way)
    ]
    meanwhile = _meanwhile(campaign, judged)
    details = [f"By batch: {named(by_batch)}."] if len(under_way) > 1 else []
    if len(meanwhile) > 1:
        details.append("The protocol asks for second judgments. You can plan them now, while people judge.")
    elif goes_on == GOES_ON[Batch.Kind.MAIN]:
        batches = "the batch" if len(under_way) == 1 else "the batches"
        details.append(f"When all is judged, you close {batches} and freeze the qrels.")
    return point._replace(
        state=state,
        waits=f"{goes_on}: {judged:,} of {counted(total, 'unit')}{time_left}.",
        detail=" ".join(details),
        meanwhile=meanwhile,
    )


def _meanwhile(campaign: Campaign, judged: int) -> tuple[tuple[str, str], ...]:
    """The pages that help while people judge: the plan of second judgments of what is judged, and the live board."""
    board, main = ("Live board", campaign.address("assessment:board")), _statuses(campaign, Batch.Kind.MAIN)
    is_planned = _statuses(campaign, Batch.Kind.DUAL) or SKIPS[Batch.Kind.DUAL] in campaign.track.skipped
    can_plan = _is_stated(campaign, Batch.Kind.DUAL) and campaign.numbers["n_people"] > 1
    if is_planned or not (judged and Batch.Status.OPEN in main and can_plan):
        return (board,)
    pool = next(
        batch.pool_id
        for batch in campaign.rows(batches_of)
        if batch.kind == Batch.Kind.MAIN and batch.status == Batch.Status.OPEN
    )
    return ("Plan second judgments…", address_of(PLANS[Batch.Kind.DUAL], pool)), board


def _unjudged(campaign: Campaign, kind: str) -> Iterator[Problem]:
    """The closed batches of a kind with units that nobody has judged."""
    for progress in campaign.once(progress_of_all):
        is_closed = (progress.batch.kind, progress.batch.status) == (kind, Batch.Status.CLOSED)
        if is_closed and progress.judged < progress.total:
            n = progress.total - progress.judged
            text = (
                f"{progress.batch} is closed with {100 * progress.judged // progress.total} % judged: "
                f"{n:,} of {counted(progress.total, 'unit')} {'has' if n == 1 else 'have'} no judgment."
            )
            yield Problem(text, progress.batch.get_absolute_url())


def _gaps(campaign: Campaign, opened: list[Batch]) -> Iterator[Problem]:
    """The topics of open main batches that nobody judges."""
    progress_by_id = campaign.once(progress_of) if opened else {}
    lacking = [batch for batch in opened if progress_by_id[batch.pk].untaken and not batch.is_shared]
    untaken = {topic for batch in lacking for topic in progress_by_id[batch.pk].untaken}
    topics = list(Topic.objects.filter(pk__in=untaken)) if untaken else []
    for batch in lacking:
        progress = progress_by_id[batch.pk]
        n_topics = counted(len(progress.untaken), "topic")
        codes = [topic.code for topic in topics if topic.pk in progress.untaken]
        verb = "has" if len(progress.untaken) == 1 else "have"
        text = (
            f"{named(codes)} {verb} nobody: {progress.n_untaken:,} of {counted(progress.total, 'unit')} "
            "would stay unjudged."
        )
        address = f"{address_of('assessment:plan', batch.pk)}?action=share"
        yield Problem(text, address, f"Give {n_topics} to assessors")


def _untouched(campaign: Campaign, batches: list[Batch]) -> Iterator[Problem]:
    """The pools of later runs that are in no batch."""
    used = {batch.pool_id for batch in batches}
    for pool in campaign.rows(pools_of):
        if pool.tops_up_id and pool.status == Pool.Status.READY and pool.pk not in used:
            address = f"{campaign.address('assessment:new_batch')}?pool={pool.pk}"
            text = f"The pool {pool} has no batch, so nobody judges its units."
            yield Problem(text, address, "Create and open the batch")
