"""Protocols are described in words."""

import pytest

from assay import samples
from assay.protocols.description import facts
from assay.protocols.loader import ProtocolError, load_protocol, parse_protocol, shipped_slugs
from tests.assay.protocols.test_loader import EVERYTHING
from tests.helpers.row_scenes import TURKLE

WORDS = {
    ("arqmath-2020-task1", "Judged units"): "answers",
    (
        "arqmath-2020-task1",
        "Pool",
    ): "The first ranks of the runs are pooled: 50 of primary, 20 of alternate runs. "
    "Organizers may choose other depths. Baseline runs are pooled as primary runs. Units are judged in random order.",
    ("arqmath-2021-task1", "Qrels"): "The judgment of a unit is its grade. "
    "Topics with fewer than 2 units of grade 2 or more are dropped.",
    ("arqmath-2020-task2", "Formula instances"): "At most 5 instances of a formula are judged: "
    "those that the most runs submitted. Instances are clustered among submitted formulas.",
    ("arqmath-2020-task2", "Judging"): "One assessor judges each unit. Units are shown in context. "
    "The plan of a training round starts with 7 topics; organizers can choose others. Each assessor also judges 2 "
    "topics of another: the plan of second judgments proposes those with the fewest relevant units.",
    (
        "arqmath-2021-task2",
        "Pool",
    ): "Each run is pooled down to the first instance of its k-th distinct formula; "
    "k is 20 for primary, 10 for alternate runs. Baseline runs are pooled as primary runs. "
    "Units are judged in random order.",
    ("arqmath-2021-task2", "Non-answers"): "System failure, Do not know, Not matching",
    ("arqmath-2021-task2", "Published figures"): "assessed topics 60, topics 58, mean pool 140. "
    "These figures are for you to compare with; Assay does not check them.",
    ("arqmath-2022-task3", "Runs"): "Formats: columns that the protocol describes. At most 1 rank per topic. "
    "Kinds: primary, alternate, baseline. Only organizers submit baseline runs. "
    "Teams state what a run uses: text, math, text and math.",
    ("ntcir-10-math", "Pool"): "One rank at a time is pooled from every run, until a topic has 100 units. "
    "Units are judged in random order.",
    ("ntcir-11-math", "Pool"): "The known items are the only relevant units; nothing is judged.",
    ("ntcir-12-wikipedia", "Judging"): "2 assessors (graduate and undergraduate) judge each unit. "
    "Units are shown in context.",
    ("ntcir-12-wikipedia", "Qrels"): "The grade of a unit is the sum of its assessors' grades. "
    "Each group of assessors also has qrels of its own.",
    ("bolt-ir-p3", "Runs"): "Formats: BOLT's XML. At most 1,000 ranks per topic. "
    "Kinds: evaluation, phase 2, baseline, post-interaction. Scored kinds: evaluation, phase 2, post-interaction. "
    "Each team owes at least these runs: 1 evaluation, 1 phase 2, 1 baseline. "
    "A team submits at most one evaluation run, one phase 2 run, 10 baseline runs and one post-interaction run. "
    "Each team also owes: Description of the preprocessing. "
    "Scores are between 0 and 1. "
    "Passages have at most 250 characters. The attribute subtask of a file is citations. "
    "A topic takes at most 600 seconds.",
    ("bolt-ir-p3", "Pool"): "The units with the highest scores are pooled: 100 of every run. "
    "Of passages that share 95% of their word pairs, only the best is judged. Units are judged in random order.",
    (
        "bolt-ir-p3",
        "Judging",
    ): "One assessor judges each unit. A second assessor also judges 50% of the topics: the plan of second judgments "
    "proposes them at random. Units are shown in context.",
    (
        "bolt-ir-p3",
        "Questions",
    ): "After Yes or Maybe, for documents in Arabic, Standard Arabic, Egyptian Arabic or Mandarin Chinese: "
    "How good is the English passage as a translation? (one of Acceptable, Problematic, Not acceptable, Not "
    "applicable) Did you consult the source text? (yes or no) "
    "After Yes, Maybe or No, for documents in Arabic, Standard Arabic or Egyptian Arabic: "
    "Does the source text contain Egyptian Arabic? (yes or no) After Yes or Maybe: Did you give yes or maybe "
    "generously? (yes or no)",
    (
        "bolt-ir-p3",
        "Measures",
    ): "charP@100 (precision at rank 100, in characters of citations, relevant from grade 1);\n"
    "charR@100 (recall at rank 100, in characters, relevant from grade 1);\n"
    "charF@100 (F measure at rank 100, in characters, equal weights, relevant from grade 1);\n"
    "charRprec (precision at rank R, the number of relevant citations, in characters, relevant from grade 1);\n"
    "charAP@1000 (average precision in characters over the top 1,000 ranks, relevant from grade 1);\n"
    "charP@5 (precision at rank 5, in characters of citations, relevant from grade 1);\n"
    "charP@10 (precision at rank 10, in characters of citations, relevant from grade 1);\n"
    "charP@20 (precision at rank 20, in characters of citations, relevant from grade 1)",
    ("bolt-ir-p3", "Interaction"): (
        "Sessions of at most 120 seconds per topic, followed by post-interaction runs. The change of charRprec "
        "(precision at rank R, the number of relevant citations, in characters, relevant from grade 1) is reported."
    ),
    ("bolt-ir-p3", "Participants see"): "number, query, target language",
}


@pytest.mark.parametrize(("slug", "heading"), WORDS)
def test_protocol_is_described_in_words(slug: str, heading: str) -> None:
    assert dict(facts(load_protocol(slug)))[heading] == WORDS[slug, heading]


@pytest.mark.parametrize("slug", shipped_slugs())
def test_every_shipped_protocol_has_a_description(slug: str) -> None:
    description = dict(facts(load_protocol(slug)))

    assert {"Judged units", "Runs", "Pool", "Grades", "Qrels", "Measures"} <= description.keys()
    assert all(description.values())


def test_judging_is_left_out_if_nothing_is_judged() -> None:
    assert "Judging" not in dict(facts(load_protocol("ntcir-11-math")))


def test_every_strategy_of_the_schema_has_words() -> None:
    text = EVERYTHING.replace('strategy = "reciprocal-rank-vote"', 'strategy = "thread-random"')
    for order, words in (
        ("by-run-votes", "Units that the most runs retrieved are judged first."),
        ("move-to-front", "move-to-front"),
    ):
        protocol = parse_protocol(text.replace('"move-to-front"', f'"{order}"'), name="x.toml")

        assert words in dict(facts(protocol))["Pool"]

    assert "as many threads as possible" in dict(facts(protocol))["Formula instances"]


def test_baselines_are_listed_by_tag() -> None:
    pool = dict(facts(load_protocol("arqmath-2021-task1")))["Pool"]

    assert "Baseline runs are pooled as primary runs by default." in pool
    assert (
        "Linked MSE posts is pooled as primary. TF-IDF is pooled as alternate. Tangent-S is pooled as alternate."
        in pool
    )


LAB = samples.path("captions-lab.toml").read_text()
FORM = '[judging.form]\nfields = ["a"]\nhtml = "${a}"\n'


def refusal(text: str) -> str:
    with pytest.raises(ProtocolError) as refused:
        parse_protocol(text, name="lab.toml")
    return str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<p>${source}</p>", "<p>${sauce}</p>", "line 2 of the HTML: ${sauce} is not a field; use source"),
        ("${question.errors}", "", "${question.errors} is missing; give each question a place"),
        (
            "${question.better}",
            "${question.fluent}",
            "line 7 of the HTML: ${question.fluent} is there twice, first in line 6",
        ),
        (
            "${question.better}",
            "${question.best}",
            "line 7 of the HTML: ${question.best} is not a question; use adequacy",
        ),
        (
            "<p>${source}</p>",
            "<p onclick='x'>${source}</p>",
            "line 2 of the HTML: the attribute onclick is not accepted",
        ),
        (
            "<p>${source}</p>",
            "<input name='x'>",
            "line 2 of the HTML: <input> is not accepted; Assay makes the controls",
        ),
        ('fields = ["source"', 'fields = ["source", "docno"', "judging.form.fields: 'docno' is not accepted"),
        (
            'fields = ["source"',
            'fields = ["source", "source"',
            "judging.form.fields: 'source' is listed twice",
        ),
        ('layout = "form"', 'layout = "topic-document"', "use both, or neither"),
        ('strategy = "rows"', 'strategy = "top-k"', "runs: missing; this key is required"),
    ],
)
def test_wrong_form_is_named_with_its_line(old: str, new: str, message: str) -> None:
    assert message in refusal(LAB.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name="mood"', 'name="feeling"', "no control of the HTML has the name 'mood'; use feeling"),
        ("${text}", "${text} ${question.mood}", "${question.mood} has no effect in a frame"),
        ("required = false", 'required = false\nafter = ["answered"]', "has no effect in a frame"),
    ],
)
def test_wrong_frame_is_named_with_its_line(old: str, new: str, message: str) -> None:
    assert message in refusal(TURKLE.replace("<script>SCRIPT</script>", "").replace(old, new))


def test_protocol_without_runs_has_no_measures() -> None:
    assert "scoring.measures: have no effect" in refusal(LAB + '\n[scoring]\nmeasures = ["P@5"]\n')
    assert "needs at least one grade" in refusal(LAB[: LAB.index("[[judging.question]]")] + FORM)


def test_long_template_is_read_with_a_library_in_one_line_and_a_long_key_is_not() -> None:
    long = LAB.replace("<p>${source}</p>", "<p>${source}</p>\n" * 5_000)
    library = f"<script>{'f(1);' * 20_000}</script>"
    dotted = "\n" + "a." * 10_000 + 'a = 1 # """\n'

    assert parse_protocol(long, name="lab.toml").judging.form is not None
    assert parse_protocol(TURKLE.replace("<script>", f"{library}\n<script>"), name="lab.toml").judging.form
    assert "a line of 20,0" in refusal(dotted + long)
    assert "a line of 20,0" in refusal(long + dotted)
