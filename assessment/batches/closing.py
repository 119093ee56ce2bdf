"""The question before a batch is closed with units that nobody has judged."""

from collections import Counter
from collections.abc import Iterator
from functools import partial

from django.urls import reverse

from assessment.batches.progress import BatchProgress, progress_of
from assessment.batches.services import check_closing
from assessment.models import Batch
from tracks.checklist.points import named
from web.confirmation import Check, Confirmation, refusals
from web.pages import counted


def closing_page(batch: Batch) -> Confirmation:
    """The question before a batch is closed. Units that are left to judge are a remark to accept."""
    checks = list(refusals(partial(check_closing, batch))) or list(_remarks(progress_of(batch)))
    return Confirmation(
        act=f"Close the batch {batch}",
        button="Close batch",
        keep="Not yet",
        back=batch.get_absolute_url(),
        text="Assessors get no more tasks of the batch, and cannot revise their judgments. All judgments are kept.",
        checks=checks or [Check("ok", "Everything in it is judged")],
        changeable=[
            "The batch can be opened again",
            "Another batch of the pool can have the units that are left",
        ],
        notified="Nobody. Assessors no longer see the batch on their page Judge.",
    )


def _remarks(progress: BatchProgress) -> Iterator[Check]:
    """Yield how much is unjudged and whose it is, and who is judging at the moment."""
    batch, address = progress.batch, progress.batch.get_absolute_url()
    if not progress.is_finished:
        left: Counter[str] = Counter()
        for share in progress.shares:
            left[share.assignment.assessor.named] += share.left
        people = [f"{name} {n:,}" for name, n in (+left).most_common()]
        people += [f"nobody {progress.n_untaken:,}"] if progress.untaken else []
        in_qrels = "They will not be in the qrels, where most measures count them as not relevant. "
        yield Check(
            "look",
            f"{progress.total - progress.judged:,} of {counted(progress.total, 'unit')} are unjudged",
            (in_qrels if batch.kind == Batch.Kind.MAIN else "")
            + (f"Left: {named(people)}." if people else ""),
            address,
            "Progress",
        )
    if progress.n_open:
        yield Check(
            "look",
            f"{counted(progress.n_open, 'task is,tasks are')} being judged",
            "Each can still be submitted once; the judgments count when qrels are frozen next.",
            f"{reverse('assessment:board', args=[batch.pool.track.slug])}?batch={batch.pk}",
            "Live board",
        )
