"""Runs of BOLT: citations of forum posts, with their passages."""

import io

import pytest

from assay.formats.runs import columns
from tests.helpers.form_checks import BOLT, accepted, check, warnings
from tests.helpers.form_runs import bolt_run


def test_citations_become_rows_with_their_passages() -> None:
    checked = check(bolt_run(), BOLT)

    run = accepted(checked)
    assert (checked.report.format, checked.report.tag, checked.report.kind) == ("bolt-xml", "", "evaluation")
    assert run.docno[0] == b"bolt-eng-DF-1:0:p0:0:20"
    assert run.passage is not None
    assert run.passage[0].decode() == "The owls of the harbor sing at 0 o'clock."
    assert warnings(checked) == []


def test_passages_are_stored_with_the_columns() -> None:
    run = accepted(check(bolt_run(), BOLT))

    again = columns.load(io.BytesIO(columns.save(run)))

    assert again.passage is not None
    assert again.passage.tolist() == run.passage.tolist()  # type: ignore[union-attr]


def test_citations_with_equal_scores_keep_the_order_of_the_file() -> None:
    data = bolt_run().replace(b'score="0.8"', b'score="0.9"').replace(b'score="0.7"', b'score="0.9"')

    checked = check(data, BOLT)

    assert [docno[-5:] for docno in accepted(checked).docno[:3].tolist()] == [b":0:20", b"10:20", b"20:20"]
    (ties,) = checked.report.warnings
    assert (ties.code, ties.accepted) == ("ties", "Ties keep the order of the file.")


def test_passage_of_250_characters_is_accepted_and_white_space_counts_once() -> None:
    data = bolt_run(
        "The owls of the harbor sing at 0 o'clock.", "\n\t " + "é" * 200 + " \n  " + "y" * 49 + "\n"
    )

    run = accepted(check(data, BOLT))

    assert run.passage is not None
    assert run.passage[0].decode() == "é" * 200 + " " + "y" * 49


def test_numbers_of_a_citation_lose_leading_zeros() -> None:
    assert (
        accepted(check(bolt_run('offset="0"', 'offset="000"'), BOLT)).docno[0] == b"bolt-eng-DF-1:0:p0:0:20"
    )


def test_entities_of_xml_itself_are_read() -> None:
    run = accepted(check(bolt_run("The owls", "Owls &amp; &lt;others&gt; &#x263A;"), BOLT))

    assert run.passage is not None
    assert run.passage[0].decode().startswith("Owls & <others> ☺ of")


@pytest.mark.parametrize("score", ["0", "1", "1.0", "0.000001", "1e-3"])
def test_scores_from_0_to_1_are_accepted(score: str) -> None:
    run = accepted(check(bolt_run('score="0.9"', f'score="{score}"'), BOLT))

    assert float(score) in run.score


def test_a_thousand_citations_per_topic_are_accepted() -> None:
    more = "".join(
        f'<cite score="0.1" thread="t" post="p" offset="{n}" length="2">Owl {n}.</cite>' for n in range(997)
    )

    checked = check(bolt_run("</response>", more + "</response>"), BOLT)

    accepted(checked)
    assert checked.report.topic_lines == {"T1": 1000, "T2": 3}


def test_citations_that_nearly_repeat_a_better_one_give_a_warning() -> None:
    data = bolt_run("sing at 2 o'clock", "SING at 0 o'clock!")

    (warning,) = check(data, BOLT).report.warnings

    assert (warning.code, warning.n, warning.where) == ("near-duplicates", 1, "line 6")
    assert warning.accepted.startswith("One of those that share 95% of their word pairs")


def test_near_duplicates_of_other_topics_are_ignored() -> None:
    assert warnings(check(bolt_run(), BOLT)) == []  # both topics cite the same passages


def test_near_duplicates_below_the_pooled_depth_are_ignored() -> None:
    cites = "".join(
        f'<cite score="0.{500 - n}" thread="t" post="p" offset="{n}" length="2">Owl {min(n, 101)} of {n} sings.</cite>'
        for n in range(98)
    )
    late = '<cite score="0.1" thread="t" post="p" offset="{}" length="2">The late owl.</cite>'

    data = bolt_run("</response>", cites + late.format(998) + late.format(999) + "</response>")

    assert warnings(check(data, BOLT)) == ["ties"]


def test_the_condition_must_be_the_kind_that_was_declared() -> None:
    checked = check(bolt_run(), BOLT, kind="baseline")

    (error,) = checked.report.errors
    assert str(error) == "line 2: the file is a run of the kind evaluation, but baseline was declared"
    assert warnings(check(bolt_run(), BOLT, kind="evaluation")) == []


def test_a_file_that_names_another_team_gets_a_warning() -> None:
    checked = check(bolt_run(), BOLT, team="Hawks")

    assert [str(each) for each in checked.report.warnings] == [
        "line 2: the file names the team “Owls”, but Hawks submits it"
    ]
    assert checked.columns is not None
    assert warnings(check(bolt_run(), BOLT, team="owls")) == []
