"""Pools of generated answers: the nuggets of each pooled answer, and the first citations of its sentences.

Runs are pooled as a whole: all answers of a run whose kind has a depth above 0. A limit of runs per team, by priority,
gives each team the same share. Equal answers, and equal sentences that cite the same document, are one unit. A unit has
the rank of its nugget in the list, or of its sentence in the answer; runs without the unit have no rank.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.answers import ANSWER, CITATION, SENTENCE, NuggetUnit
from assay.formats.runs.columns import RunColumns
from assay.pools.depth import PooledUnits, Top, numbers_in, topics_of, union


def pool_answers(
    runs: Sequence[RunColumns],
    depths: Sequence[int],
    nuggets: Mapping[str, Collection[str]],
    *,
    citations: int,
) -> PooledUnits:
    """Pool the nuggets and citations of all answers of some runs.

    Args:
        depths: (runs,) a run of depth 0 is not pooled.
        nuggets: keys of the nuggets of each topic, in the order of its list. A topic without any has citations only.
        citations: number of the citations of a sentence that are judged, the first ones.
    """
    codes = topics_of(runs)
    return union(
        [
            _top(run, numbers_in(run, codes), nuggets, citations) if depth else Top.of([])
            for run, depth in zip(runs, depths, strict=True)
        ],
        codes,
    )


def answers_of(columns: RunColumns) -> dict[str, str]:
    """The id of the answer of a run to each topic."""
    docnos = columns.docno.tolist()
    return {
        str(columns.topics[place]): docnos[row].decode()
        for row, place in enumerate(columns.topic_index.tolist())
        if docnos[row].startswith(ANSWER.encode())
    }


def answer_to(columns: RunColumns, topic: str) -> str:
    """The digest of the answer of a run to a topic; empty if it has none."""
    (places,) = np.nonzero(columns.topics == topic)
    rows = np.flatnonzero(np.isin(columns.topic_index, places))
    return columns.docno[rows[0]].decode().removeprefix(ANSWER) if len(rows) else ""


def _top(
    run: RunColumns, number: NDArray[np.int32], nuggets: Mapping[str, Collection[str]], most: int
) -> Top:
    """The units of one run, each once per topic."""
    ranks: dict[tuple[int, bytes], int] = {}
    docnos, n_cited = run.docno.tolist(), 0
    for row, (place, sentence) in enumerate(zip(run.topic_index.tolist(), run.rank.tolist(), strict=True)):
        topic, docno = int(number[place]), docnos[row]
        if docno.startswith(ANSWER.encode()):
            answer = docno.decode().removeprefix(ANSWER)
            for rank, nugget in enumerate(nuggets.get(str(run.topics[place]), ()), 1):
                ranks.setdefault((topic, str(NuggetUnit(answer, nugget)).encode()), rank)
        elif docno.startswith(SENTENCE.encode()):
            n_cited = 0
        elif docno.startswith(CITATION.encode()):
            n_cited += 1
            if n_cited <= most:
                ranks.setdefault((topic, docno), sentence)
    return Top.of([(*unit, rank) for unit, rank in ranks.items()])
