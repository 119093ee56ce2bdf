import pytest

from assay.protocols.measures import Measure, MeasureError, parse_measure, parse_measures


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("nDCG'", Measure("nDCG", judged_only=True)),
        ("nDCG(judged_only=True)", Measure("nDCG", judged_only=True)),
        ("nDCG(judged_only=True)@10", Measure("nDCG", k=10, judged_only=True)),
        ("AP(rel=2)'", Measure("AP", level=2, judged_only=True)),
        ("AP(rel=2, judged_only=False)", Measure("AP", level=2)),
        ("P(rel=2)@10'", Measure("P", level=2, k=10, judged_only=True)),
        ("P'@10", Measure("P", k=10, judged_only=True)),
        ("bpref(rel=2)", Measure("bpref", level=2)),
        (" judged@10 ", Measure("judged", k=10)),
    ],
)
def test_a_name_is_read(name: str, measure: Measure) -> None:
    assert parse_measure(name) == measure


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("ndcg", "no measure 'ndcg'; did you mean nDCG? Use nDCG, AP, P,"),
        ("nDCG(rel=2)", "nDCG does not accept rel="),
        ("P", "P needs a rank, as in P@10"),
        ("P@0", "must be at least 1"),
        ("bpref@10", "bpref does not accept @k"),
        ("judged@10'", "judged does not accept a prime"),
        ("AP(rel=0)", "use rel=LEVEL"),
        ("AP(rel=x)", "'rel=x' is not accepted"),
        ("AP()", "is not accepted"),
        ("AP''", "is not a measure; write it like nDCG'"),
        ("P@9999999", "is not a measure"),
        ("", "is not a measure"),
        ("AP @10", "is not a measure"),
    ],
)
def test_any_other_name_is_refused_with_what_is_allowed(name: str, complaint: str) -> None:
    with pytest.raises(MeasureError) as refusal:
        parse_measure(name)

    assert complaint in str(refusal.value)
    assert repr(name) in str(refusal.value)


@pytest.mark.parametrize(
    "name", ["nDCG'", "AP(rel=2)'", "P(rel=2)@10'", "RR@5", "bpref", "judged@10", "nDCG@20'"]
)
def test_a_measure_is_written_as_it_is_read(name: str) -> None:
    assert str(parse_measure(name)) == name


def test_a_measure_in_two_spellings_is_kept_once() -> None:
    assert parse_measures(["nDCG'", "AP", "nDCG(judged_only=True)"]) == [
        Measure("nDCG", judged_only=True),
        Measure("AP"),
    ]


def test_a_title_describes_the_measure() -> None:
    assert parse_measure("P(rel=2)@10'").title == (
        "precision at rank 10, relevant from grade 2, unjudged documents removed"
    )
    assert parse_measure("nDCG@5").title == "normalized discounted cumulative gain over the top 5 ranks"
