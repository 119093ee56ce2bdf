"""A run against qrels."""

from typing import Any

from scoring.matching import JudgedDocuments
from scoring.trec_eval.catalogue import MEASURES
from scoring.trec_eval.files import read_qrels, read_run
from scoring.trec_eval.options import Options
from scoring.trec_eval.parameters import Parameters
from scoring.trec_eval.reading import Reading, n_lines
from scoring.trec_eval.view import View


def read(options: Options) -> Reading:
    """Read both files."""
    judged = JudgedDocuments(read_qrels(options.files[0]))
    topics = judged.topics.tolist()
    run = read_run(options.files[1], set(topics))
    view = View.of(run.columns, judged, options)

    def compute(name: str, given: Parameters) -> list[Any]:
        computed = MEASURES[name].compute
        return computed(view, given) if computed is not None else []

    return Reading(topics, n_lines(run.columns, topics), compute, run)
