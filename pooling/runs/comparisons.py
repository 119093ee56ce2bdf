"""Two runs compared by their documents: overlap at depths, rank-biased overlap, and changed ranks of one topic."""

from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from django.shortcuts import get_object_or_404

from accounts.models import User
from assay.errors import Refused
from assay.formats.runs.columns import Ranked, load_ranking
from assay.statistics.rank_correlation import (
    DEPTHS,
    TopicDifference,
    difference_of_topic,
    moves_of_topic,
    topics_of_both,
)
from pooling.models import Run
from pooling.runs.selectors import runs_for
from tracks.models import Track

MOVES_TO = 20  # ranks of either run whose documents are listed


class MovedDocument(NamedTuple):
    """A document with its ranks; None where a run does not have it."""

    docno: str
    first: int | None
    second: int | None

    @property
    def signed(self) -> str:
        """The ranks by which the second run has the document higher, with a sign; empty unless both have it."""
        if self.first is None or self.second is None:
            return ""
        return f"{self.first - self.second:+d}" if self.first != self.second else "0"


class ComparedTopic(NamedTuple):
    """A topic of the comparison; `overlap` has the shares at the depths of the page, as text."""

    difference: TopicDifference
    overlap: list[str]
    rbo: str

    @property
    def n_only_first(self) -> int:
        return self.difference.n_first - self.difference.n_common

    @property
    def n_only_second(self) -> int:
        return self.difference.n_second - self.difference.n_common


@dataclass(frozen=True)
class RunDifferencePage:
    """Two runs of a track. `topic` is the topic whose documents are listed in `moves`."""

    track: Track
    first: Run
    second: Run
    depths: list[int]
    mean_overlap: list[str]
    mean_rbo: str
    n_equal: int
    topics: list[ComparedTopic]
    topic: str
    moves: list[MovedDocument]
    n_moves_to: int


def difference_page(user: User, first: Run, second_id: int, topic: str = "") -> RunDifferencePage:
    """Compare a run with another run of its track that the user may see; `Http404` if there is none."""
    second = get_object_or_404(runs_for(user).filter(track=first.track_id).exclude(pk=first.pk), pk=second_id)
    left, right = ranking(first), ranking(second)
    codes = topics_of_both(left, right)
    topics = [difference_of_topic(left, right, code) for code in codes]
    deepest = max(max(compared.n_first, compared.n_second) for compared in topics)
    n_depths = sum(k < deepest for k in DEPTHS[:-1]) + 1
    chosen = topic if topic in codes else codes[0]
    return RunDifferencePage(
        track=first.track,
        first=first,
        second=second,
        depths=list(DEPTHS[:n_depths]),
        mean_overlap=[
            _percent(np.mean([compared.overlap[n] for compared in topics])) for n in range(n_depths)
        ],
        mean_rbo=f"{np.mean([compared.rbo for compared in topics]):.4f}",
        n_equal=sum(compared.is_equal for compared in topics),
        topics=[
            ComparedTopic(
                compared,
                overlap=[_percent(share) for share in compared.overlap[:n_depths]],
                rbo=f"{compared.rbo:.4f}",
            )
            for compared in topics
        ],
        topic=chosen,
        moves=[MovedDocument(*move) for move in moves_of_topic(left, right, chosen, k=MOVES_TO)],
        n_moves_to=MOVES_TO,
    )


def _percent(share: "np.floating[Any] | float") -> str:
    return f"{100 * share:.0f} %"


def ranking(run: Run) -> Ranked:
    try:
        with run.columns.open("rb") as stored:
            return load_ranking(cast("BinaryIO", stored))
    except (OSError, ValueError, KeyError) as error:
        raise Refused(
            f"The stored documents of the run {run.tag} cannot be read: {error}.",
            code="run-unreadable",
            title="The run cannot be read",
        ) from error
