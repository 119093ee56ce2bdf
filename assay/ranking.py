"""From scores of documents to a run that the protocol accepts.

The documents of a topic have trec_eval's order: by score, descending, then by docno, descending by bytes. The cut at
the depth of a run follows it too, so a run does not depend on the order of the documents in the collection.
"""

import io
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.formats.runs.columns import RunColumns, trec_order
from assay.formats.runs.reader import check_run, write_run
from assay.formats.runs.rules import LineForm, forms_of
from assay.formats.topics.facts import TopicFacts
from assay.protocols.schema import Protocol

# Called with the name of a step, what is done of it, and its size
Progress = Callable[[str, int, int], object]
LONGEST_TAG = 100  # bytes


def no_progress(_step: str, _done: int, _size: int) -> None:
    """Report nothing."""


class Ranked(NamedTuple):
    """The documents of a topic, best first.

    `docno` and `score` have one length, and so has `post`: the docno of the post that contains each formula, where
    formulas are ranked.
    """

    topic: str
    docno: NDArray[np.bytes_]
    score: NDArray[np.float64]
    post: NDArray[np.bytes_] | None = None


def best(
    topic: str,
    docno: NDArray[np.bytes_],
    score: NDArray[np.floating],
    *,
    k: int,
    post: NDArray[np.bytes_] | None = None,
) -> Ranked:
    """The k best of some documents.

    >>> best("A.1", np.array([b"7", b"8", b"9"]), np.array([1.0, 2.0, 1.0]), k=2).docno.tolist()
    [b'8', b'9']
    """
    rows = top(docno, score, k=k)
    return Ranked(topic, docno[rows], score[rows].astype(np.float64), None if post is None else post[rows])


def top(docno: NDArray[np.bytes_], score: NDArray[np.floating], *, k: int) -> NDArray[np.intp]:
    """(at most k,) the rows of the k best documents, in their order."""
    rows = np.arange(len(score))
    if len(score) > k:
        rows = np.flatnonzero(score >= np.partition(score, len(score) - k)[len(score) - k])
    order = trec_order(np.zeros(len(rows), dtype=np.int32), docno[rows], score[rows].astype(np.float64))
    return rows[order[:k]]


def line_form(protocol: Protocol) -> LineForm:
    """The first form of lines that a protocol accepts.

    Raises:
        InputError: It accepts no lines, or its runs cite passages of posts.
    """
    if protocol.cites_posts:
        raise InputError(
            f"the runs of {protocol.slug} cite passages of posts; baselines rank documents or formulas"
        )
    form = next((form for form in forms_of(protocol) if isinstance(form, LineForm)), None)
    if form is None:
        raise InputError(f"{protocol.slug} accepts no run in lines of columns; baselines write only these")
    return form


def depth_of(protocol: Protocol, depth: int | None) -> int:
    """The number of documents per topic: as stated, or as many as the protocol accepts.

    Raises:
        InputError: More are stated than the protocol accepts.
    """
    most = protocol.runs.max_ranks
    if depth is not None and depth > most:
        raise InputError(f"--depth {depth}: {protocol.slug} accepts at most {most:,} documents per topic")
    return depth or most


def run_of(ranked: Iterable[Ranked], *, protocol: Protocol, tag: str, topics: Sequence[str]) -> bytes:
    """The file of a run, in the first form of lines that the protocol accepts. It is checked as an upload is.

    Raises:
        InputError: No topic has a document, the tag is not accepted, or the protocol refuses the run, for instance for
            its scores; the message has the first reason.
    """
    form = line_form(protocol)
    if not tag or tag.split() != [tag] or len(tag.encode()) > LONGEST_TAG:
        raise InputError(f"--tag {tag!r}: a tag has 1 to {LONGEST_TAG} bytes without white space")
    lists = [ranking for ranking in ranked if len(ranking.docno)]
    if not lists:
        raise InputError("the run is empty: no document was found for any topic")
    sizes = [len(ranking.docno) for ranking in lists]
    posts = [ranking.post for ranking in lists if ranking.post is not None]
    columns, _ = RunColumns.ordered(
        topics=[ranking.topic for ranking in lists],
        topic_index=np.repeat(np.arange(len(lists), dtype=np.int32), sizes),
        docno=np.concatenate([ranking.docno for ranking in lists]),
        rank=np.concatenate([np.arange(1, size + 1, dtype=np.int32) for size in sizes]),
        score=np.concatenate([ranking.score for ranking in lists]),
        post=np.concatenate(posts) if len(posts) == len(lists) else None,
        ties=form.ties,
    )
    content = write_run(columns, form=form, tag=tag)
    errors = check_run(io.BytesIO(content), protocol=protocol, name=tag, topics=topics).report.errors
    if errors:
        raise InputError(f"{protocol.slug} does not accept the run: {errors[0]}")
    return content


def check_topics(topics: Sequence[TopicFacts]) -> None:
    """Refuse topics without any text.

    Raises:
        InputError: No topic has a title, a text or a formula; the file may have only codes.
    """
    if not any(topic.title or topic.body or topic.latex for topic in topics):
        raise InputError("the topics have neither title nor text; use the file of the complete topics")
