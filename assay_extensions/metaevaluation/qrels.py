"""Agreement of the grades of a judge with the truth, in qrels of both: by topic, by threshold and by grade.

The documents of a topic are those of either qrels. A document without a grade, or with a negative one, counts as grade
0, so that what the judge left out is an error.

Source:
    qrel-evaluate of auto-judge-evaluate 1.1.0.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.formats.qrels.columns import QrelsColumns
from assay.statistics.agreement import GwetAC, Kappa, cohen_kappa, gwet_ac, krippendorff_alpha
from assay.statistics.agreement_report import METRICS, mean
from assay.tables import Cell, Table, Undefinable

Ints = NDArray[np.int64]
MEAN = "all"


class TopicQrels(NamedTuple):
    """The grades of both on the documents of a topic; 0 for documents that one of them lacks.

    Args:
        truth, judge: (documents,) grades.
        is_in_both: (documents,) whether both have a grade.
    """

    topic: str
    truth: Ints
    judge: Ints
    is_in_both: NDArray[np.bool_]


class Retrieved(NamedTuple):
    """The relevant documents of a topic, from a grade on, that a judge finds."""

    topic: str
    precision: Undefinable
    recall: Undefinable
    f1: Undefinable
    jaccard: Undefinable
    rand: Undefinable
    both: float
    only_judge: float
    only_truth: float


def paired(truth: QrelsColumns, judge: QrelsColumns) -> list[TopicQrels]:
    """The grades of both by topic of the truth.

    Raises:
        InputError: The judge has no topic of the truth.
    """
    of_truth, of_judge = _grades(truth), _grades(judge)
    if not of_truth.keys() & of_judge.keys():
        raise InputError("the qrels of the judge and of the truth have no topic in common")
    pairs = []
    for topic, own in of_truth.items():
        other = of_judge.get(topic, {})
        docnos = sorted(own.keys() | other.keys())
        left, right = (
            np.array([grades.get(docno, 0) for docno in docnos], dtype=np.int64) for grades in (own, other)
        )
        is_in_both = np.array([docno in own and docno in other for docno in docnos], dtype=np.bool_)
        pairs.append(TopicQrels(topic, left, right, is_in_both))
    return pairs


def _grades(qrels: QrelsColumns) -> dict[str, dict[bytes, int]]:
    grades: dict[str, dict[bytes, int]] = {}
    for topic, docno, grade in qrels.rows():
        of_topic = grades.setdefault(topic, {})
        if grade >= 0:
            of_topic[docno] = grade
    return grades


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def retrieved(pair: TopicQrels, level: int) -> Retrieved:
    """Precision, recall, F1, Jaccard's index and the adjusted Rand index of the documents from a grade on.

    Precision of nothing is 0, as is recall of nothing.
    """
    left, right = pair.truth >= level, pair.judge >= level
    both, only_judge, only_truth = (
        int(chosen.sum()) for chosen in (left & right, ~left & right, left & ~right)
    )
    precision, recall = _ratio(both, both + only_judge), _ratio(both, both + only_truth)
    f1 = _ratio(2 * both, 2 * both + only_judge + only_truth)
    jaccard = _ratio(both, both + only_judge + only_truth)
    neither = len(left) - both - only_judge - only_truth
    rand = _adjusted_rand(both, only_judge, only_truth, neither)
    return Retrieved(pair.topic, precision, recall, f1, jaccard, rand, both, only_judge, only_truth)


def _adjusted_rand(both: int, only_judge: int, only_truth: int, neither: int) -> float:
    """Hubert's and Arabie's index of two partitions into two classes; 1 if they are the same.

    Source:
        Hubert & Arabie (1985), doi:10.1007/BF01908075.
    """
    cells = [both, only_judge, only_truth, neither]
    of_truth = [both + only_truth, only_judge + neither]
    of_judge = [both + only_judge, only_truth + neither]
    same, in_truth, in_judge = (sum(math.comb(n, 2) for n in sizes) for sizes in (cells, of_truth, of_judge))
    by_chance = in_truth * in_judge / max(1, math.comb(sum(cells), 2))
    most = (in_truth + in_judge) / 2
    return (same - by_chance) / (most - by_chance) if most != by_chance else 1.0


def kappas(pair: TopicQrels, highest: int) -> dict[tuple[int, int], float]:
    """Cohen's kappa of two classes, for every threshold of the truth and every threshold of the judge."""
    return {
        (t, p): cohen_kappa((pair.truth >= t).astype(np.int64), (pair.judge >= p).astype(np.int64)).value
        for t in range(1, highest + 1)
        for p in range(1, highest + 1)
    }


def tables(
    truth: QrelsColumns, judge: QrelsColumns, *, level: int, grades: Sequence[int] = ()
) -> list[Table]:
    """The agreement as tables: `agreement`, `topics`, `thresholds`, `confusion` and `leniency`.

    Args:
        level: the grade from which a document is relevant.
        grades: the scale; those that occur are added.
    """
    pairs = paired(truth, judge)
    left, right = (np.concatenate([getattr(pair, name) for pair in pairs]) for name in ("truth", "judge"))
    scale = sorted({0, *grades, *left.tolist(), *right.tolist()})
    of_topics = [retrieved(pair, level) for pair in pairs]
    weighted = [cohen_kappa(pair.truth, pair.judge, weights="linear", scale=scale).value for pair in pairs]
    alphas = [_alpha(pair) for pair in pairs]
    rows: list[tuple[Cell, ...]] = [
        (*row, kappa, alpha) for row, kappa, alpha in zip(of_topics, weighted, alphas, strict=True)
    ]
    columns = [[row[n] for row in of_topics] for n in range(1, 6)]
    rows.append((MEAN, *map(mean, columns), None, None, None, mean(weighted), mean(alphas)))  # type: ignore[arg-type]
    highest = max(scale)
    of_thresholds = [kappas(pair, highest) for pair in pairs]
    is_shared = np.concatenate([pair.is_in_both for pair in pairs])
    return [
        Table(
            "agreement",
            f"agreement on documents with both grades, with 95 % intervals; two-way: relevant from grade {level} on",
            ("coefficient", "documents", "value", "low", "high"),
            _agreement(left[is_shared], right[is_shared], level, scale),
        ),
        Table(
            "topics",
            f"documents from grade {level} on; linear kappa and Krippendorff's ordinal alpha of all grades",
            ("topic", "precision", "recall", "f1", "jaccard", "rand", "both", "only_judge", "only_truth",
             "kappa_linear", "alpha"),
            rows,
        ),
        Table(
            "thresholds",
            "mean over topics of Cohen's kappa, with a document relevant from one grade of the truth and one of the "
            "judge on",
            ("truth", *(f"judge_{p}" for p in range(1, highest + 1))),
            [
                (t, *(mean(topic[t, p] for topic in of_thresholds) for p in range(1, highest + 1)))
                for t in range(1, highest + 1)
            ],
        ),
        Table(
            "confusion",
            "number of documents by grade of the truth (row) and of the judge (column), and of those without a "
            "grade of one, which count as 0",
            ("truth", *(f"judge_{grade}" for grade in scale), "without_grade"),
            [
                (
                    *(grade, *(int(((left == grade) & (right == other)).sum()) for other in scale)),
                    int(((left == grade) & ~is_shared).sum()),
                )
                for grade in scale
            ],
        ),
        Table(
            "leniency",
            "grade of the judge less that of the truth, by grade of the truth; documents with both grades",
            ("truth", "documents", "mean_difference", "share_higher", "share_equal", "share_lower"),
            [
                (name, *_leniency((right - left)[is_shared & is_counted]))
                for name, is_counted in [
                    *((grade, left == grade) for grade in scale),
                    (MEAN, np.ones(len(left), dtype=np.bool_)),
                ]
            ],
        ),
    ]  # fmt: skip


def _agreement(truth: Ints, judge: Ints, level: int, scale: Sequence[int]) -> list[tuple[Cell, ...]]:
    classes = [(grades >= level).astype(np.int64) for grades in (truth, judge)]
    unit, both = np.tile(np.arange(len(truth)), 2), np.concatenate((truth, judge))
    rows: list[tuple[str, Kappa | GwetAC]] = [
        ("kappa", cohen_kappa(truth, judge, scale=scale)),
        ("kappa_quadratic", cohen_kappa(truth, judge, weights="quadratic", scale=scale)),
        ("kappa_two_way", cohen_kappa(*classes)),
        ("ac1", gwet_ac(unit, both, scale=scale)),
        ("ac2_quadratic", gwet_ac(unit, both, weights="quadratic", scale=scale)),
        ("ac1_two_way", gwet_ac(unit, np.concatenate(classes), scale=(0, 1))),
    ]
    return [
        *((name, len(truth), value.value, *value.interval()) for name, value in rows),
        *(
            (f"alpha_{metric}", len(truth), krippendorff_alpha(unit, both, metric=metric), None, None)
            for metric in METRICS
        ),
    ]


def _leniency(differences: Ints) -> tuple[Cell, ...]:
    n = len(differences)
    if not n:
        return (0, None, None, None, None)
    shares = (float(chosen.mean()) for chosen in (differences > 0, differences == 0, differences < 0))
    return (n, float(differences.mean()), *shares)


def _alpha(pair: TopicQrels) -> float:
    unit = np.tile(np.arange(len(pair.truth)), 2)
    return krippendorff_alpha(unit, np.concatenate((pair.truth, pair.judge)), metric="ordinal")
