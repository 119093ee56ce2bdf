"""Fusion that learns from qrels: known answers of ranx 0.3.21, and settings chosen by a measure."""

import json
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.errors import InputError
from assay.formats.values import qrels_from
from assay.fusion import METHODS, RRF_K, Fusion, Method, fuse
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.measures.ties import tie_range
from assay.protocols.measures import parse_measure
from assay.research.trained_fusion import CONSTANTS, RRF_KS, Training, train
from assay_extensions.baselines.tests.test_fusion import run_of

KNOWN = json.loads(Path(__file__).with_name("trained_fusions.json").read_text())
RUNS = [run_of(scores) for scores in KNOWN["runs"].values()]
NDCG = parse_measure("nDCG")


def trained(fusion: Fusion, runs: list[Any] = RUNS, qrels: Any = KNOWN["qrels"]) -> Training:
    return train(runs, qrels_from(qrels), fusion, measure=NDCG, level=1)


@pytest.mark.parametrize(
    "case", KNOWN["fused"], ids=lambda case: f"{case['method']} {case['norm']} {case['constant']}"
)
def test_methods_that_are_trained_have_the_scores_of_ranx(case: dict[str, Any]) -> None:
    learned = trained(Fusion(case["method"], case["norm"], constant=case["constant"]))

    ranked = next(each for each in fuse(RUNS, learned.fusion, depth=100) if each.topic == "T")

    scores = dict(zip((docno.decode() for docno in ranked.docno), ranked.score.tolist(), strict=True))
    assert scores == pytest.approx(case["scores"], abs=1e-9)
    assert learned.n_topics == len(KNOWN["qrels"]) == 5


def test_every_method_that_is_trained_is_compared() -> None:
    assert {case["method"] for case in KNOWN["fused"]} == {
        name for name, facts in METHODS.items() if facts.is_trained
    }


def test_weights_are_those_that_ranx_chooses() -> None:
    runs = [run_of(scores) for scores in KNOWN["same"].values()]
    qrels = {topic: KNOWN["qrels"][topic] for topic in KNOWN["same"]["a"]}

    best = trained(Fusion("sum"), runs, qrels)

    assert best.fusion.weights == pytest.approx(KNOWN["weights"])
    assert best.value == pytest.approx(KNOWN["value"])


@pytest.mark.parametrize("case", KNOWN["grid"], ids=lambda case: f"{case['method']} {case['setting']}")
def test_values_of_settings_equal_those_of_ranx_but_for_the_order_of_ties(case: dict[str, Any]) -> None:
    """`by_document` is the value of ranx's fused run after its ties were ordered by document; `ranx` is its own."""
    method, setting = case["method"], case["setting"]
    if setting is None:
        assert trained(Fusion(method)).value == pytest.approx(case["by_document"], abs=1e-9)
        return
    weights, k = (setting, RRF_K) if isinstance(setting, list) else ((), setting)
    given = Fusion(method, weights=weights, k=k, constant=setting if METHODS[method].needs else None)
    learned = trained(given).fusion if METHODS[method].is_trained else given

    ranked = [each for each in fuse(RUNS, learned, depth=99) if each.topic in KNOWN["qrels"]]
    run = run_of({each.topic: dict(zip(each.docno.astype(str), each.score, strict=True)) for each in ranked})
    judged = JudgedDocuments(qrels_from(KNOWN["qrels"]))
    values = tie_range(judged.hits(run), judged, [NDCG])

    lowest, _, highest = (scores.means("judged")[0] for scores in values)
    assert score_run(run, judged, [NDCG]).means("judged")[0] == pytest.approx(case["by_document"], abs=1e-9)
    assert lowest - 1e-9 <= case["ranx"] <= highest + 1e-9
    assert case["ranx"] != pytest.approx(case["by_document"], abs=1e-5)


@pytest.mark.parametrize("method", ["rrf", "gmnz", "rbc", "logn-isr", "probfuse", "slidefuse"])
def test_chosen_constant_is_the_best_of_those_that_are_tried(method: Method) -> None:
    best = trained(Fusion(method))

    def value(constant: float) -> float | None:
        given = Fusion(method, k=int(constant)) if method == "rrf" else Fusion(method, constant=constant)
        learned = trained(given).fusion if METHODS[method].is_trained else given
        # Given weights leave only one setting of a sum of this one run, which has its value.
        fused = {
            each.topic: dict(zip(each.docno.astype(str), each.score, strict=True))
            for each in fuse(RUNS, learned, depth=99)
        }
        return trained(Fusion("rrf"), [run_of(fused)] * 2).value

    chosen = best.fusion.k if method == "rrf" else best.fusion.constant
    tried = RRF_KS if method == "rrf" else CONSTANTS[method][:: len(CONSTANTS[method]) // 4]
    assert chosen in (RRF_KS if method == "rrf" else CONSTANTS[method])
    assert best.value == pytest.approx(value(float(chosen or 0)))
    assert all((value(constant) or 0) <= (best.value or 0) + 1e-9 for constant in tried)


def test_function_of_the_library_learns_from_qrels_in_memory() -> None:
    run = {"T1": {"a": 2.0, "b": 1.0}, "T2": {"c": 3.0, "d": 2.0}}
    other = {"T1": {"b": 2.0, "a": 1.0}, "T2": {"d": 3.0, "c": 2.0}}

    fused = assay.fuse({"one": run, "two": other}, method="posfuse", qrels={"T1": {"a": 1, "b": 0}})

    assert fused["T2"] == {"c": 2.0, "d": 0.0}  # c is at the rank of each run at which T1 has a


def test_of_equal_weights_the_most_even_are_chosen() -> None:
    assert trained(Fusion("sum"), [RUNS[0]] * 2).fusion.weights == (0.5, 0.5)


def test_a_topic_that_a_run_lacks_is_an_empty_list() -> None:
    runs = [run_of({"T1": {"a": 2.0, "b": 1.0}}), run_of({"T1": {"a": 1.0}, "T2": {"c": 1.0}})]
    qrels = {"T1": {"a": 1}, "T2": {"c": 1}}

    shares = [values.tolist() for values in trained(Fusion("posfuse"), runs, qrels).fusion.learned]
    means = [values.tolist() for values in trained(Fusion("mapfuse"), runs, qrels).fusion.learned]

    assert shares == [[1.0, 0.0], [1.0]]
    assert means == [[0.5], [1.0]]


@pytest.mark.parametrize(
    ("fusion", "runs", "message"),
    [
        (Fusion("isr"), RUNS, "isr has nothing to learn from qrels"),
        (Fusion("sum", weights=[1, 1, 1]), RUNS, "CombSUM with weights has nothing to learn"),
        (Fusion("probfuse", constant=1e9), RUNS, "probfuse is a whole number from 1 to 10,000"),
        (Fusion("sum"), RUNS * 2, "weights are learned for at most 5 runs, got 6"),
        (Fusion("posfuse"), [RUNS[0], run_of({"X": {"a": 1.0}})], "run 2 has no topic of the qrels"),
    ],
)
def test_what_cannot_be_learned_is_refused(fusion: Fusion, runs: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        trained(fusion, runs)


def test_methods_that_are_trained_need_qrels_and_whole_constants() -> None:
    with pytest.raises(InputError, match="PosFuse is trained; give qrels"):
        list(fuse(RUNS, Fusion("posfuse"), depth=9))
    with pytest.raises(InputError, match=r"slidefuse is a whole number from 1 to 10,000, got 1\.5"):
        list(fuse(RUNS, trained(Fusion("slidefuse", constant=1)).fusion._replace(constant=1.5), depth=9))
