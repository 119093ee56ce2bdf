"""Every measure, in the order in which trec_eval prints them, with its parameters and its summary over topics."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from assay.measures.kernels import Values
from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import Measure
from assay_extensions.trec_eval import gains, ranked
from assay_extensions.trec_eval.options import USAGE, Kind, Parameters, TrecEvalError

Relevance = Literal["any", "qrels", "groups", "preferences"]
Summary = Literal["mean", "sum", "geometric mean", "number of topics", "tag", "none"]


class TrecMeasure(NamedTuple):
    """The computation and the printed form of a measure.

    Args:
        compute: the values by topic; None for a measure without values of topics, and for measures of preferences,
            which `preferences` computes.
        about: description for the help.
        kind, default: the kind of parameters, and the default ones.
        relevance: what the first file must contain.
        summary: the value of all topics together.
        is_whole: whether values are printed as whole numbers.
        is_of_topics: whether -q prints the values of topics.
    """

    compute: Callable[..., Any] | None
    about: str
    kind: Kind = "none"
    default: tuple[float, ...] = ()
    relevance: Relevance = "qrels"
    summary: Summary = "mean"
    is_whole: bool = False
    is_of_topics: bool = True


def _count(compute: Callable[..., Any] | None, about: str, relevance: Relevance = "qrels") -> TrecMeasure:
    return TrecMeasure(compute, about, summary="sum", is_whole=True, relevance=relevance)


def _at_ranks(compute: Callable[..., Any], about: str, *ranks: int) -> TrecMeasure:
    return TrecMeasure(compute, about, "ranks", ranks or RANKS)


def _geometric(family: str, about: str) -> TrecMeasure:
    return TrecMeasure(ranked.logarithm(family), about, summary="geometric mean", is_of_topics=False)


def _gain(compute: Callable[..., float], about: str) -> TrecMeasure:
    return TrecMeasure(gains.measure_per_topic(compute), about, "pairs")


def _preferred(about: str) -> TrecMeasure:
    return TrecMeasure(None, about, relevance="preferences")


RANKS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
TENTHS = tuple(n / 10 for n in range(11))
FIFTHS = tuple(n / 5 for n in range(1, 11))

MEASURES: dict[str, TrecMeasure] = {
    "runid": TrecMeasure(None, "the tag in the run's last line", relevance="any", summary="tag"),
    "num_q": TrecMeasure(
        None, "number of topics averaged over", relevance="any", summary="number of topics", is_whole=True
    ),
    "num_ret": _count(ranked.number("n_returned"), "documents returned"),
    "num_rel": _count(ranked.number("n_relevant"), "relevant documents in the qrels"),
    "num_rel_ret": _count(ranked.number("n_relevant_returned"), "relevant documents returned"),
    "map": TrecMeasure(ranked.family("AP"), "average precision"),
    "gm_map": _geometric("AP", "average precision, geometric mean over topics"),
    "Rprec": TrecMeasure(ranked.family("Rprec"), "precision at rank R, the number of relevant documents"),
    "bpref": TrecMeasure(ranked.family("bpref"), "binary preference"),
    "recip_rank": TrecMeasure(ranked.family("RR"), "1 / rank of the first relevant document"),
    "iprec_at_recall": TrecMeasure(
        ranked.interpolated, "interpolated precision at levels of recall", "shares", TENTHS
    ),
    "P": _at_ranks(ranked.family_at_ranks("P"), "precision at ranks"),
    "relstring": TrecMeasure(
        ranked.grades_of_top, "the grades of the first documents", "numbers", (10.0,), summary="none"
    ),
    "recall": _at_ranks(ranked.family_at_ranks("R"), "recall at ranks"),
    "infAP": TrecMeasure(ranked.family("infAP"), "inferred average precision, for a sampled pool"),
    "gm_bpref": _geometric("bpref", "binary preference, geometric mean over topics"),
    "Rprec_mult": TrecMeasure(ranked.multiples_of_r, "precision at multiples of rank R", "shares", FIFTHS),
    "utility": TrecMeasure(
        ranked.utility,
        "weighted sum of relevant and other documents returned, relevant and other ones not returned",
        "numbers",
        (1.0, -1.0, 0.0, 0.0),
    ),
    "11pt_avg": TrecMeasure(
        ranked.eleven_points, "mean of the interpolated precision at levels of recall", "numbers", TENTHS
    ),
    "binG": TrecMeasure(
        ranked.binary_gain, "mean over relevant documents of 1 / log2(2 + nonrelevant ones above)"
    ),
    "G": _gain(
        gains.normalized_gain, "gain divided by log2(2 + ideal gain so far - gain so far), normalized"
    ),
    "dcg": _gain(gains.dcg, "discounted cumulative gain"),
    "ideal_dcg": _gain(gains.ideal_dcg, "discounted cumulative gain of the best ranking"),
    "ndcg": TrecMeasure(gains.ndcg, "normalized discounted cumulative gain", "pairs"),
    "ndcg_rel": _gain(gains.ndcg_of_relevant, "mean of nDCG at the ranks of relevant documents"),
    "Rndcg": _gain(gains.ndcg_at_levels, "mean of nDCG at the ranks where the ideal gain drops"),
    "ndcg_cut": _at_ranks(ranked.family_at_ranks("nDCG"), "nDCG at ranks"),
    "map_cut": _at_ranks(ranked.family_at_ranks("AP"), "average precision of the first ranks"),
    "relative_P": _at_ranks(ranked.relative_precision, "precision at ranks, divided by the best possible"),
    "success": _at_ranks(
        ranked.family_at_ranks("Success"), "whether a relevant document is within ranks", 1, 5, 10
    ),
    "set_P": TrecMeasure(ranked.family("SetP"), "precision of all documents returned"),
    "set_relative_P": TrecMeasure(ranked.set_relative_precision, "set_P divided by the best possible"),
    "set_recall": TrecMeasure(ranked.family("SetR"), "recall of all documents returned"),
    "set_map": TrecMeasure(ranked.family("SetAP"), "precision times recall of all documents returned"),
    "set_F": TrecMeasure(
        ranked.set_f, "weighted harmonic mean of set precision and recall", "numbers", (1.0,)
    ),
    "num_nonrel_judged_ret": _count(ranked.n_nonrelevant_returned, "judged nonrelevant documents returned"),
    "prefs_num_prefs_poss": _count(None, "preferences expressed", "preferences"),
    "prefs_num_prefs_ful": _count(None, "preferences fulfilled", "preferences"),
    "prefs_num_prefs_ful_ret": _count(
        None, "preferences fulfilled among the documents returned", "preferences"
    ),
    "prefs_simp": _preferred("preferences fulfilled, divided by preferences expressed"),
    "prefs_pair": _preferred("prefs_simp, mean over pairs of documents"),
    "prefs_avgjg": _preferred("prefs_simp, mean over groups of assessors"),
    "prefs_avgjg_Rnonrel": _preferred("prefs_avgjg, with as many nonrelevant documents as relevant ones"),
    "prefs_simp_ret": _preferred("prefs_simp where both documents are returned"),
    "prefs_pair_ret": _preferred("prefs_pair where both documents are returned"),
    "prefs_avgjg_ret": _preferred("prefs_avgjg where both documents are returned"),
    "prefs_avgjg_Rnonrel_ret": _preferred("prefs_avgjg_Rnonrel where both documents are returned"),
    "prefs_simp_imp": _preferred("prefs_simp where a document is returned"),
    "prefs_pair_imp": _preferred("prefs_pair where a document is returned"),
    "prefs_avgjg_imp": _preferred("prefs_avgjg where a document is returned"),
    "map_avgjg": TrecMeasure(ranked.family("AP"), "map, mean over groups of assessors", relevance="groups"),
    "P_avgjg": TrecMeasure(
        ranked.family_at_ranks("P"), "P, mean over groups of assessors", "ranks", RANKS, relevance="groups"
    ),
    "Rprec_mult_avgjg": TrecMeasure(
        ranked.multiples_of_r,
        "Rprec_mult, mean over groups of assessors",
        "shares",
        FIFTHS,
        relevance="groups",
    ),
    "yaap": TrecMeasure(
        ranked.yet_another_average_precision,
        "yet another average precision: log-odds of a smoothed average precision",
    ),
    "rbp": TrecMeasure(gains.rank_biased, "rank-biased precision (default: p=0.9)", "pairs"),
    "rbp_resid": TrecMeasure(
        gains.rank_biased_residual, "what rbp gains at most if all are judged (default: p=0.9)", "pairs"
    ),
    "unj": _at_ranks(ranked.unjudged, "share of unjudged documents at ranks", 5, 10, 20),
}

_ALWAYS = ("runid", "num_q")
_OFFICIAL = (
    *_ALWAYS,
    *("num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank"),
    *("iprec_at_recall", "P"),
)
_SET = ("utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F")
_PREFERENCES = tuple(name for name in MEASURES if name.startswith("prefs_"))
_GROUPED = tuple(name for name in MEASURES if name.endswith("_avgjg") and not name.startswith("prefs_"))
_SELDOM = ("dcg", "ideal_dcg", "yaap")

NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": _OFFICIAL,
    "set": (*_ALWAYS, "num_ret", "num_rel", "num_rel_ret", *_SET),
    "all_trec": tuple(name for name in MEASURES if name not in (*_PREFERENCES, *_GROUPED, *_SELDOM)),
    "all_prefs": (*_ALWAYS, *_PREFERENCES),
    "prefs": (
        *_ALWAYS,
        *("prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret"),
        *("prefs_simp", "prefs_pair", "prefs_avgjg"),
    ),
    "qrels_jg": (*_ALWAYS, *_GROUPED),
}


def parse_measures(words: Sequence[str]) -> dict[str, str | None]:
    """The measures that -m names, in the order of the catalog, with the text of their parameters, if any.

    If a measure is named several times, its first parameters are used, as in trec_eval.

    Raises TrecEvalError: there is no such measure, or no parameter follows the full stop.
    """
    texts: dict[str, str] = {}
    names: set[str] = set()
    for word in words or ["official"]:
        name, stop, text = word.partition(".")
        if name not in MEASURES and name not in NICKNAMES:
            known = ", ".join((*NICKNAMES, *MEASURES))
            raise TrecEvalError(f"illegal measure '{word}'; use {known}", status=USAGE)
        if stop and not text:
            raise TrecEvalError(
                f"illegal measure '{word}': a parameter must follow the full stop", status=USAGE
            )
        if stop:
            texts.setdefault(name, text)
        names.update(NICKNAMES.get(name, (name,)))
    return {name: texts.get(name) for name in MEASURES if name in names}


def value_of_family(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """(topics,) the value that trec_eval prints for a measure of `FAMILIES`, with its default parameters.

    Equals utility with the parameters gain, -cost, 0, 0.
    """
    match = MEASURES[measure.family]
    numbers = match.default if measure.k is None else (float(measure.k),)
    if measure.family == "utility":
        numbers = (measure.number("gain") or 0.0, -(measure.number("cost") or 0.0), 0.0, 0.0)
    view = ranked.View(judged, hits, level=measure.level, n_documents=0)
    values: list[Values] = match.compute(view, Parameters((measure.family,), numbers))  # type: ignore[misc]
    return values[0]
