import json
from pathlib import Path

import pytest

from assay.errors import InputError
from assay.statistics.agreement_report import Graded
from assay_extensions.metaevaluation.alt_test import AltTest, Score, alt_test

SETS = ("wax", "lgbteen", "mtbench", "10k_prompts", "lesion")
OPTIONS = {"min_instances_per_human": "least_units", "q_fdr": "false_discoveries"}


def graded_of(folder: Path, name: str) -> dict[str, Graded]:
    """The grades of people, with those of each machine. Labels are numbered."""
    people, machines = (
        [line.split("\t") for line in (folder / f"{name}.{kind}.tsv").read_text().splitlines()[1:]]
        for kind in ("people", "machines")
    )
    labels = sorted({row[2] for row in [*people, *machines]})
    number = {label: int(label) if label.lstrip("-").isdigit() else n for n, label in enumerate(labels)}
    return {
        machine: Graded.from_rows(
            ("1", unit, who, number[label])
            for unit, who, label in [*people, *(row for row in machines if row[1] == machine)]
        )
        for machine in {row[1] for row in machines}
    }


@pytest.mark.parametrize("name", SETS)
def test_answers_are_those_of_the_authors(data: Path, name: str) -> None:
    folder = data / "judges" / "alttest"
    answers = json.loads((folder / f"{name}.answers.json").read_text())
    graded = graded_of(folder, name)
    for expected in answers["results"]:
        machine = expected["machine"]
        test = alt_test(graded[machine], machine, epsilon=expected["epsilon"], score=answers["score"])
        assert (test.omega, test.rho) == pytest.approx((expected["omega"], expected["rho"]))
        assert (len(test.tests), len(test.skipped)) == (
            expected["persons_tested"],
            expected["persons_skipped"],
        )
        assert test.n_dropped == expected["units_dropped"]
        assert sorted(row.p for row in test.tests) == pytest.approx(sorted(expected["p_values"]), abs=1e-8)
        assert sorted(row.advantage for row in test.tests) == pytest.approx(
            sorted(expected["mean_d"]), abs=1e-8
        )
        assert sorted(row.n_units for row in test.tests) == sorted(expected["units_per_person"])


@pytest.mark.parametrize("machine", ["good", "poor"])
def test_gaps_few_units_and_options(data: Path, machine: str) -> None:
    folder = data / "judges" / "alttest"
    graded = graded_of(folder, "made")[machine]
    for expected in json.loads((folder / "made.answers.json").read_text())[machine]:
        options = {OPTIONS[key]: value for key, value in expected["options"].items()}
        test = alt_test(graded, machine, epsilon=expected["epsilon"], score=expected["score"], **options)
        assert (test.omega, test.rho) == pytest.approx((expected["omega"], expected["rho"]))
        assert [name for name, _ in test.skipped] == expected["persons_skipped"]
        assert test.n_dropped == expected["units_dropped"]
        assert [(row.n_units, row.advantage, row.p) for row in test.tests] == [
            pytest.approx((row["units"], row["mean_d"], row["p"])) for row in expected["tests"]
        ]


def three_and_a_machine(grade: int, n_units: int = 40, score: Score = "accuracy") -> AltTest:
    rows = [("1", f"u{n}", who, 1) for n in range(n_units) for who in ("ann", "bob", "eve")]
    rows += [("1", f"u{n}", "m", grade) for n in range(n_units)]
    return alt_test(Graded.from_rows(rows), "m", score=score)


@pytest.mark.parametrize("score", ["accuracy", "neg_rmse"])
def test_people_who_always_agree_have_no_spread(score: Score) -> None:
    alike, never = three_and_a_machine(1, score=score), three_and_a_machine(0, score=score)

    assert (alike.omega, alike.rho, alike.verdict) == (
        1,
        1,
        "m can take the place of people: it can replace 3 of 3 people",
    )
    assert (never.omega, never.rho, never.is_passed) == (0, 0, False)


def test_too_few_units_are_said() -> None:
    test = three_and_a_machine(1, n_units=10)

    assert test.verdict.startswith("not enough grades: a person needs 30 units")
    assert (test.tables[0].rows[0][4], [row[0] for row in test.tables[1].rows]) == (
        None,
        ["ann", "bob", "eve"],
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"machine": "x"}, "there are no judgments of 'x'; the judgments are of ann, bob, m"),
        ({"epsilon": 1.5}, "epsilon is 1.5"),
        ({"false_discoveries": -1.0}, "false discoveries is -1"),
        ({"least_units": 1}, "use at least 2"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], message: str) -> None:
    graded = Graded.from_rows([("1", "u", who, 1) for who in ("ann", "bob", "m")])
    with pytest.raises(InputError, match=message):
        alt_test(graded, **{"machine": "m", **options})  # type: ignore[arg-type]
