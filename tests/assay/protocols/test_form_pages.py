"""A form is checked against its fields and questions when its protocol is read, with the line of the HTML."""

import pytest

from assay import samples
from assay.protocols.loader import ProtocolError, parse_protocol
from tests.helpers.row_scenes import TURKLE

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


def test_long_template_is_read_and_a_long_line_is_not() -> None:
    long = LAB.replace("<p>${source}</p>", "<p>${source}</p>\n" * 5_000)

    assert parse_protocol(long, name="lab.toml").judging.form is not None
    assert "a line of 20,0" in refusal(long.replace("<p>${source}</p>", "x" * 20_000, 1))
