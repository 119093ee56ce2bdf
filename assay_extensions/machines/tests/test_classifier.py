"""The judge without a network, against values that were computed in another way."""

import json
from pathlib import Path

import numpy as np
import pytest

from assay import samples
from assay.cli.main import main
from assay.formats.judgments.reader import parse_judgments
from assay_extensions.machines.model.classifier import Example, TopicModel, logistic


def test_two_documents_without_common_words_have_the_weight_of_the_equation() -> None:
    """With the products of the identity, the weight w is the solution of w = C / (1 + e^w): 0.401058 for C = 1."""
    weights, intercept = logistic(np.eye(2), np.array([True, False]), 1.0)

    assert weights == pytest.approx([0.4010581, -0.4010581], abs=1e-7)
    assert intercept == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("cost", [0.1, 1.0, 100.0])
def test_weights_are_those_of_a_direct_minimization(cost: float) -> None:
    """The loss |w|^2 / 2 + C sum log(1 + e^-yf), minimized over words and intercept by SciPy."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(3)
    texts, labels = rng.random((30, 6)), rng.random(30) < 0.3
    signs = np.where(labels, 1.0, -1.0)

    def loss(w: np.ndarray) -> float:
        return w[:6] @ w[:6] / 2 + cost * np.logaddexp(0, -signs * (texts @ w[:6] + w[6])).sum()

    best = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-9}).x
    weights, intercept = logistic(texts @ texts.T, labels, cost)

    assert np.append(texts.T @ weights, intercept) == pytest.approx(best, abs=1e-5)


def test_weights_of_words_and_probabilities_of_grades() -> None:
    """By hand: idf of b, which both have, is 1; of a and c ln(3/2) + 1. The text `c` is most like the second."""
    model = TopicModel([Example("aa aa bb", 0), Example("bb cc", 2)])
    idf = np.log(1.5) + 1
    first = np.array([(1 + np.log(2)) * idf, 1.0])
    first /= np.sqrt(first @ first)
    second = np.array([1.0, idf]) / np.hypot(1.0, idf)
    product = first[1] * second[0]
    weights, intercept = logistic(np.array([[1, product], [product, 1]]), np.array([False, True]))

    shares = model.probabilities("CC unknown")

    assert shares[2] == pytest.approx(1 / (1 + np.exp(-(weights[1] * second[1] + intercept))))
    assert shares[0] + shares[2] == pytest.approx(1)
    assert model.probabilities("") == pytest.approx({0: 0.5, 2: 0.5}, abs=0.2)
    with pytest.raises(ValueError, match="no two different grades"):
        TopicModel([Example("aa", 1), Example("bb", 1)])


def test_command_learns_from_the_grades_of_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {"1": "matrix inverse", "2": "matrix rank", "3": "cat dog", "4": "dog food"}
    texts |= {"5": "inverse of a matrix", "6": "the food of a cat"}
    Path("documents.jsonl").write_text(
        "".join(json.dumps({"docno": d, "text": t}) + "\n" for d, t in texts.items())
    )
    Path("people.qrels").write_text("A.1 0 1 3\nA.1 0 2 3\nA.1 0 3 0\nA.1 0 4 0\n")
    Path("pool.tsv").write_text("A.1\t5\t1\nA.1\t6\t2\nA.2\t5\t1\n")
    Path("judge.toml").write_text(
        'name = "words"\nversion = "1"\nmodel = "text-classifier"\nprovider = "assay"\nanswer = "probabilities"\n'
    )
    words = ["judge", "--judge", "judge.toml", "--protocol", "arqmath-2020-task1", "--topics"]
    words += [str(samples.path("topics.xml")), "--units", "pool.tsv", "--documents", "documents.jsonl"]
    words += ["--assessor", "words", "--output", "out.jsonl", "--quiet"]

    assert main(words) == 2
    assert "--train is missing" in capsys.readouterr().err
    status = main([*words, "--train", "people.qrels"])

    rows = parse_judgments(Path("out.jsonl").read_bytes(), "out.jsonl").rows
    evidence = [json.loads(line)["evidence"] for line in Path("out.evidence.jsonl").read_text().splitlines()]
    assert status == 1
    assert {row.docno: row.grade for row in rows} == {"5": 3, "6": 0}
    assert (
        "topic A.2: people graded no document, so no classifier could be trained" in capsys.readouterr().err
    )
    assert all(sum(row["probabilities"].values()) == pytest.approx(1.0, abs=1e-5) for row in evidence)
    assert main(["judge", "--replay", "out.evidence.jsonl", "--protocol", "arqmath-2020-task1"]) == 0
