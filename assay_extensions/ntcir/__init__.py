"""Measures of NTCIR's tasks on the intents of a topic (INTENT, IMine, We Want Web)."""

from assay.extensions import Extension
from assay.protocols.measures import MeasureFamily, Parameter

_KERNELS = "assay_extensions.ntcir.intents"

EXTENSION = Extension(
    name="ntcir",
    title="Measures of NTCIR",
    adds=(
        MeasureFamily(
            "D_nDCG",
            "nDCG, with the mean grade over the subtopics as the gain",
            f"{_KERNELS}:ndcg_of_intents",
            has_level=False,
            cutoff="optional",
            has_prime=True,
            qrels="subtopics",
        ),
        MeasureFamily(
            "Dsharp_nDCG",
            "D-nDCG and the share of the subtopics that are found, together (D♯-nDCG)",
            f"{_KERNELS}:with_recall",
            has_level=False,
            cutoff="optional",
            has_prime=True,
            parameters={"gamma": Parameter(0.5)},
            qrels="subtopics",
        ),
    ),
)
