"""trec_eval 10.0 for scripts that call it: the same options, files, measures, output lines and exit statuses.

Where 10.0 reads memory that it never wrote, or crashes, this package computes what the manual of trec_eval says;
docs/reference/measures.md lists these cases.
"""

from math import inf

from assay.cli.main import Command
from assay.extensions import Extension
from assay.protocols.measures import MeasureFamily, Parameter

# Measures that protocols and `assay evaluate` accept under their names in trec_eval, such as `binG(rel=2)`
_COMPUTE = "assay_extensions.trec_eval.catalog:value_of_family"
_WEIGHT = Parameter(1.0, 0.0, 1000.0)

# fmt: off
FAMILIES = (
    MeasureFamily("11pt_avg", "interpolated precision, mean over eleven levels of recall", _COMPUTE, True, "never",
        True),
    MeasureFamily("binG", "mean over the relevant documents of 1 / log2(2 + number of others above)", _COMPUTE, True,
        "never", True),
    MeasureFamily("relative_P", "precision at rank {k}, divided by the best possible", _COMPUTE, True, "required",
        True),
    MeasureFamily("Rndcg", "nDCG, mean over the ranks where the gain of the best ranking drops", _COMPUTE, False,
        "never", True),
    MeasureFamily("yaap", "log-odds of a smoothed average precision", _COMPUTE, True, "never", True,
        least=-inf, most=inf),
    MeasureFamily("utility", "gain of the relevant documents returned, less the cost of the others", _COMPUTE, True,
        "never", True, {"gain": _WEIGHT, "cost": _WEIGHT}, least=-inf, most=inf),
)
# fmt: on

EXTENSION = Extension(
    name="trec-eval",
    title="Evaluation as trec_eval does it",
    adds=(
        *FAMILIES,
        Command(
            "trec_eval",
            "evaluate a run as trec_eval 10.0 does, with its options and output",
            main="assay_extensions.trec_eval.command:main",
        ),
    ),
)
