"""Measures of trec_eval that protocols and `assay evaluate` accept under their names there, such as `binG(rel=2)`."""

from math import inf

from assay.protocols.measures import MeasureFamily, Parameter

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
    MeasureFamily("yaap", "log-odds of a smoothed average precision", _COMPUTE, True, "never", True, most=inf),
    MeasureFamily("utility", "gain of the relevant documents returned, less the cost of the others", _COMPUTE, True,
        "never", True, {"gain": _WEIGHT, "cost": _WEIGHT}, most=inf),
)
# fmt: on
