"""A run against qrels."""

from typing import Any

from assay.measures.matching import JudgedDocuments
from assay.trec_eval.inputs.files import read_qrels, read_run
from assay.trec_eval.inputs.reading import Reading, n_lines
from assay.trec_eval.measures.catalog import MEASURES
from assay.trec_eval.measures.parameters import Parameters
from assay.trec_eval.measures.view import View
from assay.trec_eval.options import Options


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
