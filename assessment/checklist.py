"""The points of judging in the checklist of a campaign."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Max, Q
from django.urls import reverse

from assessment.batches.progress import BatchProgress, progress_of_each, rates_of
from assessment.models import Batch, Judgment
from assessment.nuggets.selectors import nugget_counts
from pooling.checklist import pools_of
from pooling.models import Pool
from tracks.checklist.points import Campaign, Phase, Point, Problem, any_of, asked_if, named, numbers, points
from tracks.models import Topic, Track
from web.pages import counted, hours

PLANS = {Batch.Kind.TRAINING: "assessment:new_training", Batch.Kind.DUAL: "assessment:new_dual"}
KINDS = {
    Batch.Kind.TRAINING: "Training",
    Batch.Kind.MAIN: "Main judging",
    Batch.Kind.DUAL: "Second judgments",
    Batch.Kind.ADJUDICATION: "Adjudication",
}


@dataclass(frozen=True)
class Judged:
    """The number of current judgments by people, and when the last one came that can change qrels."""

    n: int
    last: datetime | None


@numbers
def _numbers() -> dict[str, Any]:
    people = Batch.objects.exclude(kind=Batch.Kind.MACHINE)
    return {"has_batches": any_of(people, "pool__track")}


@asked_if("has_batches")
def batches_of(track: Track) -> list[Batch]:
    """The batches of people, newest first."""
    batches = Batch.objects.filter(pool__track=track).exclude(kind=Batch.Kind.MACHINE)
    return list(
        batches.select_related("pool__protocol", "pool__track").defer("pool__statistics").order_by("-pk")
    )


@asked_if("has_batches", lambda: Judged(0, None))
def judged_of(track: Track) -> Judged:
    """A judgment that revises another one without another choice changes no qrels, nor does one of a training."""
    judged = Judgment.objects.filter(track=track, is_current=True).exclude(batch__kind=Batch.Kind.MACHINE)
    counting = Q(batch__kind__in=(Batch.Kind.MAIN, Batch.Kind.ADJUDICATION))
    changing = Q(replaces=None) | ~Q(choice=F("replaces__choice"), answers=F("replaces__answers"))
    return Judged(**judged.aggregate(n=Count("pk"), last=Max("created_at", filter=counting & changing)))


def open_progress(track: Track) -> dict[int, tuple[BatchProgress, float]]:
    """The progress of the open batches of people, by id, each with the hours left; 0 without an estimate."""
    opened = Batch.objects.filter(pool__track=track, status=Batch.Status.OPEN)
    progress = progress_of_each(opened.exclude(kind=Batch.Kind.MACHINE)).values()
    rates = rates_of([each.batch for each in progress])
    return {
        each.batch.pk: (each, sum(each.hours_left(rates.get(each.batch.pk)).values())) for each in progress
    }


def draft_progress(track: Track) -> dict[int, BatchProgress]:
    """The progress of the main batches that are drafts, by id."""
    drafts = Batch.objects.filter(pool__track=track, status=Batch.Status.DRAFT, kind=Batch.Kind.MAIN)
    return progress_of_each(list(drafts))


def is_judging(campaign: Campaign) -> bool:
    """Return whether people judge now, so that grades still change."""
    return any(batch.status == Batch.Status.OPEN for batch in campaign.rows(batches_of))


@points(Phase.RUNS, 40)
def nuggets(campaign: Campaign) -> Iterator[Point]:
    """The frozen lists of nuggets, if answers are judged by them: a topic without one is pooled without nuggets."""
    if not campaign.protocol.is_of_answers:
        return
    n_topics, n_frozen, n_written = campaign.rows(nugget_counts)
    yield Point(
        "Nuggets",
        f"lists of {n_frozen} of {counted(n_topics, 'topic')} frozen, {n_written} begun",
        campaign.address("assessment:nuggets"),
        n_topics > 0 and n_frozen == n_topics,
        action="Write and freeze nuggets" if n_written < n_topics else "Freeze nuggets",
        is_optional=any(pool.status == Pool.Status.READY for pool in campaign.rows(pools_of)),
    )


@points(Phase.JUDGING, 10)
def judging(campaign: Campaign) -> Iterator[Point]:
    """A point for each kind of batch, and one for the agreement."""
    batches, n = campaign.rows(batches_of), campaign.rows(judged_of).n
    for kind, label in KINDS.items():
        point = _batches(campaign, kind, [batch for batch in batches if batch.kind == kind])
        yield point._replace(label=label)
    is_double = any(batch.kind in {Batch.Kind.TRAINING, Batch.Kind.DUAL} for batch in batches)
    address = campaign.address("assessment:agreement")
    yield Point("Agreement", counted(n, "judgment"), address, is_double and n > 0, is_optional=True)


def _batches(campaign: Campaign, kind: Batch.Kind, batches: list[Batch]) -> Point:
    """The batches of a kind. A draft next to another batch is no step, but something to look at."""
    drafts = [batch for batch in batches if batch.status == Batch.Status.DRAFT]
    opened = [batch for batch in batches if batch.status == Batch.Status.OPEN]
    is_main = kind == Batch.Kind.MAIN
    # A known-item task needs no judgments. What assessors have been asked to do is always asked for
    is_optional = (not is_main or campaign.protocol.pool.strategy == "known-item") and not opened
    state = f"{counted(len(batches), 'batch,batches')}, {len(opened)} open" if batches else "no batch"
    problems = [*_gaps(campaign, opened), *_untouched(campaign, batches)] if is_main else []
    has_begun = len(drafts) < len(batches)
    if has_begun or not is_main:
        problems += [
            Problem(f"The batch {batch} is a draft. Open it, or delete it.", batch.get_absolute_url())
            for batch in drafts
        ]
    point = Point(
        "",
        state,
        batches[0].get_absolute_url() if batches else campaign.address("assessment:judging"),
        has_begun and not opened,
        tuple(problems),
        is_optional=is_optional,
        is_pressing=bool(opened),
        has_begun=has_begun,
    )
    if opened:
        return _under_way(campaign, opened, point)
    if batches:
        return point if has_begun else _draft(campaign, point, drafts[0])
    return _to_create(campaign, kind, point)


def _to_create(campaign: Campaign, kind: Batch.Kind, point: Point) -> Point:
    """A kind without a batch. The main judging waits for the training."""
    ready = [pool for pool in campaign.rows(pools_of) if pool.status == Pool.Status.READY]
    is_training = any(
        batch.kind == Batch.Kind.TRAINING and batch.status == Batch.Status.OPEN
        for batch in campaign.rows(batches_of)
    )
    if not ready:
        return point._replace(is_possible=False)
    address = reverse(PLANS[kind], args=[ready[0].pk]) if kind in PLANS else point.address
    if kind == Batch.Kind.MAIN:
        address = campaign.address("assessment:new_batch")
    return point._replace(address=address, action="Create and open the batch", is_possible=not is_training)


def _draft(campaign: Campaign, point: Point, batch: Batch) -> Point:
    """The only batch of its kind, which nobody judges yet: its plan shares the topics, and opens it."""
    if batch.is_shared or batch.kind != Batch.Kind.MAIN:
        return point._replace(state=f"{batch} is a draft", action="Open batch")
    progress = campaign.rows(draft_progress)[batch.pk]
    action = "Open batch"
    if progress.untaken:
        is_new = not progress.assessors
        action = (
            "Share and open the batch"
            if is_new
            else f"Give {counted(len(progress.untaken), 'topic')} to assessors"
        )
    address = reverse("assessment:plan", args=[batch.pk])
    return point._replace(state=f"{batch} is a draft", address=address, action=action)


def _under_way(campaign: Campaign, opened: list[Batch], point: Point) -> Point:
    """Batches in which people judge: all that are finished can be closed at once."""
    progress = campaign.rows(open_progress)
    own = [progress[batch.pk][0] for batch in opened]
    judged, total = sum(each.judged for each in own), sum(each.total for each in own)
    state = f"{judged:,} of {counted(total, 'unit')}"
    finished = [each for each, _ in progress.values() if each.is_finished]
    if any(each.is_finished for each in own):
        name = f"“{finished[0].batch}”" if len(finished) == 1 else f"{len(finished)} finished batches"
        return point._replace(
            state=f"{state}, {counted(len(opened), 'batch,batches')} open",
            address=campaign.address("assessment:close_finished"),
            action=f"Close {name}",
            detail="Everything in it is judged." if len(finished) == 1 else "Everything in them is judged.",
            is_form=True,
        )
    left = sum(progress[batch.pk][1] for batch in opened)
    time_left = f", about {hours(left)}" if left else ""
    return point._replace(state=state, waits=f"Judging goes on: {state}{time_left}.")


def _gaps(campaign: Campaign, opened: list[Batch]) -> Iterator[Problem]:
    """The topics of open main batches that nobody judges."""
    progress_of = {batch.pk: campaign.rows(open_progress)[batch.pk][0] for batch in opened}
    lacking = [batch for batch in opened if progress_of[batch.pk].untaken and not batch.is_shared]
    untaken = {topic for batch in lacking for topic in progress_of[batch.pk].untaken}
    topics = list(Topic.objects.filter(pk__in=untaken)) if untaken else []
    for batch in lacking:
        progress = progress_of[batch.pk]
        n_topics = counted(len(progress.untaken), "topic")
        codes = [topic.code for topic in topics if topic.pk in progress.untaken]
        verb = "has" if len(progress.untaken) == 1 else "have"
        text = (
            f"{named(codes)} {verb} nobody: {progress.n_untaken:,} of {counted(progress.total, 'unit')} "
            "would stay unjudged."
        )
        address = f"{reverse('assessment:plan', args=[batch.pk])}?action=share"
        yield Problem(text, address, f"Give {n_topics} to assessors")


def _untouched(campaign: Campaign, batches: list[Batch]) -> Iterator[Problem]:
    """The pools of later runs that are in no batch."""
    used = {batch.pool_id for batch in batches}
    for pool in campaign.rows(pools_of):
        if pool.tops_up_id and pool.status == Pool.Status.READY and pool.pk not in used:
            address = f"{campaign.address('assessment:new_batch')}?pool={pool.pk}"
            text = f"The pool {pool} has no batch, so nobody judges its units."
            yield Problem(text, address, "Create and open the batch")
