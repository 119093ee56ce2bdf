"""Evaluate a run with preferences between documents."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.formats.runs.columns import RunColumns
from assay.trec_eval.inputs.files import (
    BYTES,
    Preference,
    read_preferences,
    read_qrels_as_preferences,
    read_run,
)
from assay.trec_eval.inputs.qrels import Reading, n_lines
from assay.trec_eval.measures.parameters import Parameters
from assay.trec_eval.measures.preferences import Preferences, preferences_of
from assay.trec_eval.measures.preferred import COMPUTED
from assay.trec_eval.options import Options


def read(options: Options) -> Reading:
    """Read both files."""
    read_rated = read_preferences if options.format == "prefs" else read_qrels_as_preferences
    preferences = {topic.decode(BYTES): rated for topic, rated in read_rated(options.files[0]).items()}
    run = read_run(options.files[1], preferences)
    topics = list(preferences)
    lines = n_lines(run.columns, topics)
    rankings = _rankings(run.columns, options.depth)
    compared = [
        _compared(
            topic, preferences[topic], rankings.get(topic, []), is_counted=bool(n or options.is_complete)
        )
        for topic, n in zip(topics, lines.tolist(), strict=True)
    ]

    def compute(name: str, _: Parameters) -> list[Any]:
        return [np.array([COMPUTED[name](topic) if topic else 0.0 for topic in compared], dtype=np.float64)]

    return Reading(topics, lines, compute, run)


def _compared(
    topic: str, rated: Sequence[Preference], ranking: Sequence[bytes], *, is_counted: bool
) -> Preferences | None:
    """None for a topic that is left out, whose preferences are not checked either."""
    return preferences_of(topic, rated, ranking) if is_counted else None


def _rankings(run: RunColumns, depth: int | None) -> dict[str, list[bytes]]:
    """The documents of each topic in order. For preferences, trec_eval orders tied documents ascending."""
    offsets = run.offsets.tolist()
    rankings = {}
    for n, topic in enumerate(run.topics.tolist()):
        docno = run.docno[offsets[n] : offsets[n + 1]].tolist()
        score = run.score[offsets[n] : offsets[n + 1]].tolist()
        ordered = sorted(zip(score, docno, strict=True), key=lambda line: (-line[0], line[1]))
        rankings[topic] = [docno for _, docno in ordered[:depth]]
    return rankings
