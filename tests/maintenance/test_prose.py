"""The check of words: what each rule finds, what it leaves alone, and what counts as prose in each kind of file."""

from pathlib import Path

import pytest

from maintenance import prose

PAGE = Path("templates/page.html")
MODULE = Path("pooling/module.py")
TEST = Path("tests/test_module.py")
GUIDE = Path("docs/guide.md")
SCRIPT = Path("static/page.js")


def words(text: str, path: Path = GUIDE) -> list[str]:
    return [finding.text for finding in prose.check_text(text, path)]


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("Here stand the batches of the track.", "stand"),
        ("No run stood when the runs were scored.", "stand"),
        ("the form is told from its first bytes", "told"),
        ("two runs that the test does not tell apart", "tell"),
        ("ties are broken by lot", "lot"),
        ("lots are drawn from the seed", "lot"),
        ("columns parted by tabs", "parted"),
        ("nought errors", "nought"),
        ("runs are held against the index", "held against"),
        ("unknown formulas are passed over", "pass over"),
        ("call the run otherwise", "call otherwise"),
        ("they rank otherwise", "otherwise"),
        ("2 sorts of errors", "sort of"),
        ("the same door as real data", "door"),
        ("choose a rival", "rival"),
        ("our figure beside a peer's", "beside"),
        ("it is read patiently", "patient"),
        ("the user whom it names", "whom"),
        ("topics that the run has not", "has not"),
        ("where the reader knows not", "verb not"),
        ("what is no file is refused", "is no"),
        ("a track goes without a collection", "go without"),
        ("runs are handed in by teams", "hand in"),
        ("the environment is made anew", "anew"),
        ("something speaks against the release", "speak against"),
        ("release it nevertheless", "nevertheless"),
        ("who gets a part from when on", "from when"),
        ("Nobody is two judges of a document", "nobody is two"),
        ("you can choose as which one", "as which"),
        ("separated by blanks", "blanks"),
        ("the room's services", "room"),
        ("at most 5 seconds a topic", "a per"),
        ("the file is read whole", "whole"),
        ("a rule whereby runs are merged", "archaic"),
        ("an invitation for who has no password", "for who"),
        ("Runs are read. Of a pair, the documents have names.", "Of a"),
        ("pairs are none", "is none"),
        ("No post must be removed.", "No ... must"),
        ("an chair leads the track", "an before a consonant"),
        ("see doi:10.1007/978-3-642- 54798-0_6", "DOI"),
    ],
)
def test_banned_phrase_is_found_with_its_rule(sentence: str, rule: str) -> None:
    findings = prose.check_text(sentence, GUIDE)

    assert [finding.rule for finding in findings] == [rule]
    assert findings[0].suggestion


@pytest.mark.parametrize(
    "sentence",
    [
        "An outstanding, long-standing and standard-conforming standalone stand-in; everyone understands it.",
        "You can tell the organizer. Allot slots to pilots and plots of lots of land.",
        "Part by part, the parts of the department are stored.",
        "One pass over the array, and two passes over the file; go over it again.",
        "Grade it now; otherwise the batch closes, unless specified otherwise.",
        "Sort the rows in ascending sort order; a stable sort of the keys is enough.",
        "It has not finished and has not been released; it does not only count.",
        "There is no run yet. This is no longer true, and that is no problem: there are no such runs.",
        "Values worked out by hand in a table; on the other hand in some cases not.",
        "A blank line, a blank page; leave room for notes; a whole number; read the whole file.",
        "Hundreds of judgments per day; a few lines and a page.",
        "Raise, revise, promise, advertise, exercise, otherwise, pairwise, noise, precise, surprised, comprising.",
        "Supervised, praise, disguised, arise, enterprise, compromised, whitenoise, aria-labelledby, analyses.",
    ],
)
def test_good_sentence_is_left_alone(sentence: str) -> None:
    assert words(sentence) == []


def test_docstring_begins_with_no_question_word() -> None:
    text = 'def share() -> float:\n    """What part of them is judged."""\n    return f("What is judged?")\n'

    (finding,) = prose.check_text(text, Path("assay/shares.py"))

    assert (finding.rule, finding.line, finding.text) == ("docstring", 2, "What")


@pytest.mark.parametrize(
    ("word", "better"),
    [
        ("sanitise", "sanitize"),
        ("Normalised", "normalized"),
        ("randomisation", "randomization"),
        ("summarising", "summarizing"),
        ("recognisable", "recognizable"),
        ("analysed", "analyzed"),
        ("formulae", "formulas"),
        ("FORMULAE", "formulas"),
        ("colours", "colors"),
        ("behaviour", "behavior"),
        ("licence", "license"),
        ("judgements", "judgments"),
        ("labelled", "labeled"),
        ("unlabelled", "unlabeled"),
        ("cancelled", "canceled"),
        ("catalogue", "catalog"),
        ("centre", "center"),
        ("favourite", "favorite"),
        ("grey", "gray"),
        ("neighbours", "neighbors"),
        ("maths", "math"),
        ("misspelt", "misspelled"),
        ("fulfils", "fulfills"),
    ],
)
def test_british_spelling_has_an_american_one(word: str, better: str) -> None:
    assert prose.american(word) == better


def test_spelling_is_checked_in_parts_of_names_and_in_code() -> None:
    text = "def formulae_of(isNormalised): ...\nclass HTMLSanitiser: ...\n"

    assert words(text, MODULE) == ["formulae", "Normalised", "Sanitiser"]
    assert words("`cluster_formulae`") == ["formulae"]
    assert words("see https://example.org/formulae") == []


def test_phrase_may_cross_a_line_end() -> None:
    docstring = '"""Ties are broken by\n\n    lot."""\n'
    comment = "# ties are broken by\n# lot\n"
    message = 'MESSAGE = "broken by " "lot"\n'

    assert words(docstring, MODULE) == words(comment, MODULE) == words(message, MODULE) == ["by lot"]


def test_line_is_the_one_in_which_the_phrase_begins() -> None:
    text = 'x = 1\n\n\ndef f() -> None:\n    """First.\n\n    Ties are broken by\n    lot.\n    """\n'

    findings = prose.check_text(text, MODULE)

    assert [finding.line for finding in findings] == [7]


@pytest.mark.parametrize(
    "code",
    [
        "standing = lots[door]  # noqa: F821\n".replace("lots[door]", "runs[0]"),
        'KEY = "stands"\n',
        'DATA = b"here it stands"\n',
        'MESSAGE = f"run {stands} of {beside_it}"\n',
        '"""The field `stands` and ``beside``."""\n',
        'call("by", "lot")\n',
    ],
)
def test_code_in_python_is_not_prose(code: str) -> None:
    assert [finding for finding in prose.check_text(code, MODULE) if finding.rule != "jargon name"] == []


def test_messages_count_but_not_those_of_tests() -> None:
    code = 'raise ValueError(f"line {n} stands twice")\n'

    assert words(code, MODULE) == ["stands"]
    assert words(code, TEST) == []


def test_names_of_tests_are_sentences() -> None:
    assert words("def test_run_stands_first() -> None: ...\n", TEST) == ["stands"]


def test_variable_that_does_not_say_what_it_holds_is_found_where_it_is_bound() -> None:
    code = (
        "found = 1\n"
        "for one in rows: print(one)\n"
        "def f(what: str) -> None: ...\n"
        "import os as told\n"
        "print(found, row.found, g(what=2))\n"
        "if said := found: ...\n"
    )

    findings = [finding for finding in prose.check_text(code, MODULE) if finding.rule == "empty name"]

    assert [(finding.line, finding.text) for finding in findings] == [
        (1, "found"),
        (2, "one"),
        (3, "what"),
        (4, "told"),
        (6, "said"),
    ]


def test_jargon_in_names_is_found_once_a_name() -> None:
    code = "def read_quickly(known_by): ...\nread_quickly(known_by)\nreal_time = outdoors = 1\n"

    assert words(code, MODULE) == ["read_quickly", "known_by"]


def test_variable_of_a_script_is_found_where_it_is_bound() -> None:
    script = (
        "const found = [];\n"
        "for (const one of rows) use(one);\n"
        "rows.map((one) => one.id).map(said => said);\n"
        "function report(n, what) { return what; }\n"
        "use(found, one);\n"
    )

    findings = prose.check_text(script, SCRIPT)

    assert [(finding.line, finding.text) for finding in findings] == [
        (1, "found"),
        (2, "one"),
        (3, "one"),
        (3, "said"),
        (4, "what"),
    ]


def test_template_shows_text_comments_and_attributes_that_people_read() -> None:
    template = (
        "{# it stands here #}\n"
        '<a class="stands" title="stands" href="{% url \'stands\' %}">ok</a>\n'
        "<p>broken by <em>lot</em></p>\n"
        '{% include "x.html" with text="it stands here" kind="stands" %}\n'
        "<code>stands</code>{{ run.stands }}\n"
    )

    findings = prose.check_text(template, PAGE)

    assert [(finding.line, finding.text) for finding in findings] == [
        (1, "stands"),
        (2, "stands"),
        (3, "by lot"),
        (4, "stands"),
    ]


def test_markdown_code_and_link_targets_are_not_prose() -> None:
    text = (
        "Text that **stands**.\n\n"
        "    assay stands\n\n"
        "```\nassay stands\n```\n\n"
        "A [link](stands.md) and `stands`.\n\n"
        "- A point.\n\n"
        "    It stands in the point.\n"
    )

    assert [finding.line for finding in prose.check_text(text, GUIDE)] == [1, 13]


def test_long_line_of_markdown_is_found_outside_tables_images_and_code() -> None:
    line = "word " * 25
    text = f"{line}\n\n| {line} |\n\n![{line}](a.png)\n\n```\n{line}\n```\n"

    findings = prose.check_text(text, GUIDE)

    assert [(finding.line, finding.rule) for finding in findings] == [(1, "line length")]


def test_script_shows_comments_and_messages() -> None:
    script = "// it stands\n/* a door */ const stands = 'stands', text = `it stands ${ beside + 1 }`;\n"

    assert words(script, SCRIPT) == ["stands", "door", "stands"]


def test_strings_of_the_demo_are_data() -> None:
    assert words("title = 'The three doors'  # a door\n", Path("demo/threads/a.toml")) == ["door"]
    assert words("title = 'The three doors'\n", Path("assay/protocols/shipped/a.toml")) == ["doors"]


def test_line_that_quotes_a_foreign_name_is_allowed_with_a_reason() -> None:
    assert words("ELEMENT = 'formulae'  # prose: allow the element of NTCIR's XML\n", MODULE) == []


def test_allowance_is_a_comment_of_its_file() -> None:
    assert words("formulae <!-- prose: allow the element of NTCIR's XML -->\n", GUIDE) == []
    assert words("{# prose: allow the element of NTCIR's XML #} formulae\n", PAGE) == []
    assert words("write `prose: allow REASON`\n", GUIDE) == []


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("ELEMENT = 'formulae'  # prose: allow", "add the reason"),
        ("ELEMENT = 'formula'  # prose: allow the element of NTCIR's XML", "allows nothing; remove it"),
    ],
)
def test_allowance_needs_a_reason_and_something_to_allow(line: str, complaint: str) -> None:
    findings = prose.check_text(f"{line}\n", MODULE)

    assert [finding.suggestion for finding in findings] == [complaint]


def test_name_of_a_file_is_checked() -> None:
    assert [finding.text for finding in prose.check_name(Path("docs/sanitise_doors.md"))] == [
        "sanitise",
        "doors",
    ]


def test_masks_keep_length_and_lines() -> None:
    folders = [prose.ROOT / name for name in ("maintenance", "docs", "templates")]

    for path in prose.files_in(folders):
        relative = path.relative_to(prose.ROOT)
        if relative.suffix in prose.MASKS:
            text = path.read_text(encoding="utf-8")
            masked = prose.MASKS[relative.suffix](text)
            assert len(masked) == len(text), relative
            assert masked.count("\n") == text.count("\n"), relative


def test_command_prints_findings_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("Ties are broken\nby lot.\n")

    code = prose.main([str(tmp_path)])

    assert code == 1
    assert capsys.readouterr().out == (
        "page.md:2: by lot: at random; random draws; chosen at random with the seed [lot]\n"
    )


def test_command_is_silent_about_good_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "page.md").write_text("Ties are broken at random.\n")
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "page.md").write_text("by lot\n")
    (tmp_path / "picture.png").write_bytes(b"\xff")

    code = prose.main([str(tmp_path)])

    assert (code, capsys.readouterr().out) == (0, "")


def test_every_rule_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code = prose.main(["--rules"])

    listed = capsys.readouterr().out
    assert code == 0
    assert all(f"{phrase.name}: " in listed for phrase in prose.PHRASES)
