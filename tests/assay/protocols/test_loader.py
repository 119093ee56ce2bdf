"""The loader accepts protocols, or refuses them with file and key."""

import hashlib
import json

import pytest

from assay.cli.main import main
from assay.protocols import loader
from assay.protocols.loader import ProtocolError, load_protocol, parse_protocol, shipped_text
from assay.samples import path

GOOD = loader.shipped_text("arqmath-2021-task1")
RUN_KINDS = GOOD[GOOD.index("[[runs.kind]]") : GOOD.index("[pool]")]
ONE_KIND = '[[runs.kind]]\nkey = "only"\n'

# A part of the good protocol, its replacement, and the expected message.
BROKEN = {
    "not TOML": ("[runs]", "[runs", "not TOML"),
    "unknown key at the top": (
        'unit = "answer"',
        'unit = "answer"\ncolor = 1',
        "color: unknown key; allowed here",
    ),
    "unknown key in a table": (
        "max_ranks = 1000",
        "max_rank = 1000",
        "runs.max_rank: unknown key; did you mean max_ranks? Allowed here: answers, attributes, columns,",
    ),
    "missing key": ("max_ranks = 1000\n", "", "runs.max_ranks: missing"),
    "missing table": ('strategy = "top-k"', "", "pool.strategy: missing"),
    "unknown strategy": (
        '"top-k"',
        '"top-50"',
        "pool.strategy: 'top-50' is not allowed; use top-k, distinct-units",
    ),
    "unknown format": ('"trec-6"', '"csv"', "runs.formats[2]: 'csv' is not allowed; use arqmath-5"),
    "unknown unit": ('unit = "answer"', 'unit = "page"', "unit: 'page' is not allowed; use answer, document"),
    "a word for a number": (
        "max_ranks = 1000",
        'max_ranks = "many"',
        "runs.max_ranks: expected a whole number, got 'many'",
    ),
    "true for a number": (
        "max_ranks = 1000",
        "max_ranks = true",
        "runs.max_ranks: expected a whole number, got True",
    ),
    "a number for a word": (
        'title = "ARQMath 2021, Task 1: answer retrieval"',
        "title = 5",
        "title: expected a string",
    ),
    "a word for a list": (
        'formats = ["arqmath-5", "trec-6"]',
        'formats = "trec-6"',
        "runs.formats: expected a list",
    ),
    "a table for a list of tables": ("[[runs.kind]]", "[runs.kind]", "not TOML"),
    "no kind": (RUN_KINDS, "", "runs.kind: missing; this key is required"),
    "a kind with capitals": ('"alternate"', '"Alternate"', "runs.kind[2].key: 'Alternate' is not accepted"),
    "a kind with a long key": ('"alternate"', f'"{"a" * 41}"', "at most 40 characters"),
    "two kinds of one key": (
        '"alternate"',
        '"primary"',
        "runs.kind[2].key: 'primary' is the key of two kinds",
    ),
    "a header with a space": (
        "[pool]",
        '[[runs.question]]\nkey = "gpu"\nlabel = "Which GPU?"\nheader = "the gpu"\n\n[pool]',
        "runs.question[1].header: 'the gpu' is no path, such as method.retrieval.name",
    ),
    "one header for two questions": (
        "[pool]",
        (
            '[[runs.question]]\nkey = "gpu"\nlabel = "Which GPU?"\nheader = "answers.cpu"\n\n'
            '[[runs.question]]\nkey = "cpu"\nlabel = "Which CPU?"\n\n[pool]'
        ),
        "runs.question[2].header: 'answers.cpu' answers two questions",
    ),
    "a title of two lines": ("depth = 45", 'title = "a\\nb"', "runs.kind[1].title: 'a\\nb' is not one line"),
    "negative depth": ("depth = 45", "depth = -1", "runs.kind[1].depth: -1 is below 1 or above"),
    "a depth of nothing": (
        "depth = 45",
        "depth = 0",
        "runs.kind[1].depth: 0 is below 1 or above runs.max_ranks, 1000; leave the key out if runs of the kind are not",
    ),
    "a depth that no run has": (
        "depth = 45",
        "depth = 1001",
        "runs.kind[1].depth: 1001 is below 1 or above runs.max_ranks, 1000",
    ),
    "no depth at all": (RUN_KINDS, ONE_KIND, "runs.kind: the strategy top-k needs a depth"),
    "nothing scored": (
        RUN_KINDS,
        f"{ONE_KIND}depth = 5\nscored = false\n",
        "runs.kind: no kind is scored",
    ),
    "no run of a kind": ("depth = 45", "depth = 45\nmax_per_team = 0", "kind[1].max_per_team: 0 is below 1"),
    "oracles that are not baselines": (
        "depth = 45",
        "depth = 45\noracles = ['linked']",
        "kind[1].oracles: the kind is not one of baselines; add baseline = true",
    ),
    "fewer than no runs owed": (
        "depth = 45",
        "depth = 45\nmin_per_team = -1",
        "kind[1].min_per_team: -1 is below 0",
    ),
    "more runs owed than accepted": (
        "depth = 45",
        "depth = 45\nmin_per_team = 2\nmax_per_team = 1",
        "kind[1].min_per_team: 2 is above max_per_team, 1",
    ),
    "a submitter": ('"organizers"', '"anyone"', "'anyone' is not allowed; use teams, organizers"),
    "pooled as a kind without depth": (
        'pooled_as = "primary"',
        'pooled_as = "baseline"',
        "runs.kind[3].pooled_as: 'baseline' is not a kind with a depth; use primary, alternate",
    ),
    "a tag pooled as an unknown kind": (
        '"TF-IDF" = "alternate"',
        '"TF-IDF" = "other"',
        "runs.kind[3].pooled_as_by_tag.TF-IDF: 'other' is not a kind with a depth",
    ),
    "tags without a rule for the others": (
        'pooled_as = "primary"',
        "",
        "runs.kind[3].pooled_as_by_tag: state in pooled_as how the runs with other tags are pooled",
    ),
    "two depths": (
        'pooled_as = "primary"',
        'pooled_as = "primary"\ndepth = 3',
        "runs.kind[3].pooled_as: the kind has a depth of its own",
    ),
    "no ranks": ("max_ranks = 1000", "max_ranks = 0", "runs.max_ranks: 0 is below 1"),
    "two grades of one key": (
        'key = "medium"',
        'key = "high"',
        "judging.grade[2].key: 'high' is used by two choices",
    ),
    "two grades of one value": ("value = 2", "value = 3", "two grades have the same value"),
    "two choices of one shortcut": (
        'shortcut = "x"',
        'shortcut = "3"',
        "shortcut: '3' is used by two choices",
    ),
    "a negative grade": (
        "value = 0",
        "value = -1",
        "judging.grade[4].value: -1 is below 0; describe the choice as one of [[judging.non_answer]]",
    ),
    "no source": ("Mansouri, Zanibbi, Oard and Agarwal, Overview", "", None),
    "a slug with a space": (
        'slug = "arqmath-2021-task1"',
        'slug = "arqmath 2021"',
        "slug: expected lower-case letters, digits and single hyphens, got 'arqmath 2021'",
    ),
    "a made-up digest": ('unit = "answer"', 'unit = "answer"\ndigest = "0"', "digest: unknown key"),
    "unknown measure": ("AP(rel=2)'", "MEAN(rel=2)'", "there is no measure 'MEAN'; use nDCG, AP"),
    "no measure": ("measures = [", "measures = []\nrest = [", "scoring.rest: unknown key"),
}


@pytest.mark.parametrize("slug", loader.shipped_slugs())
def test_shipped_protocol_loads_under_its_own_slug(slug: str) -> None:
    protocol = load_protocol(slug)

    assert protocol.slug == slug
    assert protocol == parse_protocol(shipped_text(slug), name=slug)  # which checks the rules, too
    assert protocol.digest == hashlib.sha256(loader.shipped_text(slug).encode()).hexdigest()


@pytest.mark.parametrize("name", [name for name, case in BROKEN.items() if case[2]])
def test_broken_protocol_is_refused_with_file_and_key(name: str) -> None:
    old, new, expected = BROKEN[name]
    assert GOOD.count(old) >= 1

    with pytest.raises(ProtocolError) as refusal:
        parse_protocol(GOOD.replace(old, new, 1), name="lab.toml")

    assert str(refusal.value).startswith("lab.toml: ")
    assert str(expected) in str(refusal.value)


@pytest.mark.parametrize(
    ("table", "key", "hint"),
    [
        ("pool", "depth", "it belongs in [[runs.kind]]"),
        ("runs", "depth", "it belongs in [[runs.kind]]"),
        ("judging", "grades", "did you mean grade?"),
        ("judging", "assessors", "did you mean judges?"),
        ("qrels", "grades", "it belongs in [[qrels.set]]"),
        ("scoring", "metrics", "did you mean measures?"),
        ("", "metrics", "did you mean measures in [scoring]?"),
        ("", "grades", "did you mean grade in [judging]?"),
        ("", "name", "did you mean title?"),
        ("", "id", "did you mean slug?"),
    ],
)
def test_message_about_a_key_that_people_try_first_names_its_place(table: str, key: str, hint: str) -> None:
    text = GOOD.replace(f"[{table}]\n", f"[{table}]\n{key} = 1\n", 1) if table else f"{key} = 1\n{GOOD}"

    with pytest.raises(ProtocolError) as refusal:
        parse_protocol(text, name="lab.toml")

    assert f"{table}.{key}: unknown key; {hint}".lstrip(".") in str(refusal.value)


def test_shipped_protocols_have_starter_guidelines_where_people_judge() -> None:
    without = {slug for slug in loader.shipped_slugs() if not loader.starter_guidelines(slug)}

    assert without == {"ntcir-11-math"}  # the known item is the only relevant one
    assert loader.starter_guidelines("arqmath-2022-task1") == loader.starter_guidelines("arqmath-2020-task1")
    assert loader.starter_guidelines("lab") == ""
    assert "the question on the left. Read the question completely first, with its formulas." in (
        loader.starter_guidelines("arqmath-2020-task1")
    ), "a paragraph is a line"


def test_empty_source_is_refused() -> None:
    start, _, rest = GOOD.partition('source = """')
    _, _, end = rest.partition('"""')

    with pytest.raises(ProtocolError, match="source: empty"):
        parse_protocol(f'{start}source = ""{end}', name="lab.toml")


def test_unknown_protocol_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ProtocolError, match="arqmath-2020-task1, arqmath-2020-task2, arqmath-2021-task1"):
        load_protocol("arqmath-1999-task1")


def test_protocol_file_is_loaded_by_its_path(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "lab.toml"
    path.write_text(GOOD.replace("arqmath-2021-task1", "our-lab-2026"))

    assert load_protocol(str(path)).slug == "our-lab-2026"


def test_protocol_file_that_is_not_utf8_is_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "lab.toml"
    path.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(ProtocolError, match="not UTF-8"):
        load_protocol(str(path))


def test_windows_line_ends_and_a_byte_order_mark_are_accepted() -> None:
    protocol = parse_protocol("\ufeff" + GOOD.replace("\n", "\r\n"), name="lab.toml")

    assert protocol.slug == "arqmath-2021-task1"


def test_figures_of_arqmath_2021_task_1() -> None:
    protocol = load_protocol("arqmath-2021-task1")

    assert (protocol.runs.depth_of("primary"), protocol.runs.depth_of("alternate")) == (45, 15)
    assert protocol.runs.depth_of("baseline", "Tangent-S") == 15
    assert protocol.runs.depth_of("baseline", "Linked MSE posts") == 45
    assert protocol.runs.depth_of("baseline", "Tangent-S", "primary") == 45
    assert (protocol.qrels.min_relevant, protocol.qrels.relevant_from) == (2, 2)
    assert protocol.runs.max_ranks == 1000
    assert [grade.value for grade in protocol.judging.grades] == [3, 2, 1, 0]
    assert [choice.key for choice in protocol.judging.non_answers] == ["system-failure", "do-not-know"]
    assert all(choice.needs_comment for choice in protocol.judging.non_answers)


def test_figures_of_arqmath_2020_task_1() -> None:
    protocol = load_protocol("arqmath-2020-task1")

    assert protocol.pool.depth_is_default
    assert (protocol.runs.depth_of("primary"), protocol.runs.depth_of("alternate")) == (50, 20)
    assert protocol.qrels.min_relevant == 0


def test_figures_of_trec_ad_hoc() -> None:
    protocol = load_protocol("trec-adhoc")

    assert protocol.runs.formats == ("trec-6",)
    assert {protocol.runs.depth_of(kind) for kind in protocol.runs.keys} == {100}
    assert [grade.value for grade in protocol.judging.grades] == [2, 1, 0]
    assert not protocol.scoring.judged_only


# A protocol that uses the whole schema, which has a key for every figure of the published protocols.
EVERYTHING = """
slug = "everything"
title = "A protocol that uses every part of the schema"
source = "Written for this test."
unit = "visually-distinct-formula"

[topics]
participants_see = ["number", "query", "language-target"]
[topics.labels]
complexity = ["low", "medium", "high"]

[runs]
uses = { text = "text", both = "text and math" }
formats = ["arqmath-6", "ntcir-xml", "bolt-xml", "columns"]
max_ranks = 1000
ties = "file"
min_score = 0
max_score = 1.0
max_passage_characters = 250
max_seconds_per_topic = 600
forbidden_fields = ["rel", "chksrc", "trans", "dialect"]
[runs.columns]
order = ["topic", "docno", "skip", "score", "label"]
separator = "comma"
labels = { true = true, false = false }
[[runs.kind]]
key = "evaluation"
title = "evaluation run"
depth = 100
[[runs.kind]]
key = "post-interaction"
pooled_as = "evaluation"
pooled_as_by_tag = { "manual" = "evaluation" }
[[runs.kind]]
key = "baseline"
depth = 100
scored = false
min_per_team = 0
max_per_team = 10
submitted_by = "organizers"
baseline = true

[pool]
strategy = "top-k-by-score"
target = 100
near_duplicate_overlap = 0.95
order = "move-to-front"

[instances]
clustering = "collection"
strategy = "reciprocal-rank-vote"
limit = 5

[judging]
layout = "formula-instances"
judges = 2
groups = ["graduate", "undergraduate"]
dual_share = 0.5
in_context = false
training_topics = 7
dual_topics = 2
[[judging.grade]]
key = "yes"
value = 2
label = "Yes"
definition = "Relevant."
[[judging.grade]]
key = "no"
value = 0
label = "No"
definition = "Not relevant."
[[judging.non_answer]]
key = "not-matching"
label = "Not matching"
definition = "This instance does not belong to the formula under which it is grouped."
[[judging.question]]
key = "translation"
label = "Is the translation acceptable?"
after = ["yes"]
languages = ["arz"]
choice = [{ key = "acceptable", label = "Acceptable" }, { key = "problematic", label = "Problematic", shortcut = "p" }]
[[judging.question]]
key = "errors"
label = "Which errors?"
kind = "any-of"
after = ["no", "topic.complexity:low"]
after_all = ["translation:problematic"]
at_most = 2
required = false
choice = [{ key = "term", label = "Term" }, { key = "number", label = "Number" }]
[[judging.question]]
key = "seconds"
label = "How long is it readable?"
kind = "number"
min = 0
max = 60
unit = "s"

[qrels]
aggregate = "sum"
export_groups = true
min_relevant = 2
relevant_from = 3
[qrels.columns]
order = ["topic", "docno", "skip", "grade"]
words = { Good = 0, Bad = 0 }

[scoring]
measures = ["P(rel=3)@5"]
relevant_from = 3
average = "common"
collapse_instances = true
duplicates_are_false_alarms = true
topic_classes = ["complexity"]

[agreement]
binary_from = 1

[interaction]
seconds_per_topic = 120
run_kind = "post-interaction"

[published]
topics = 58
mean_pool = 140.0
"""


def test_schema_has_a_key_for_every_published_figure() -> None:
    protocol = parse_protocol(EVERYTHING, name="everything.toml")

    assert protocol.interaction is not None
    assert protocol.interaction.seconds_per_topic == 120
    assert protocol.judging.questions[0].labels["problematic"] == "Problematic"
    assert protocol.runs.min_score == 0.0
    assert protocol.runs.kind("baseline").max_per_team == 10
    assert protocol.runs.scored_keys == ("evaluation", "post-interaction")
    assert protocol.published == {"topics": 58, "mean_pool": 140}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            'after = ["yes"]',
            'after = ["maybe"]',
            "'maybe' is not the key of a grade; use yes, no, or question:choice",
        ),
        ('after = ["yes"]', 'after = ["yes", "yes"]', "judging.question[1].after: 'yes' is listed twice"),
        ('key = "translation"', 'key = "a b"', "judging.question[1].key: 'a b' is not 1 to 50 letters"),
        ('label = "Is the translation acceptable?"', 'label = " "', "judging.question[1].label: empty"),
        ('languages = ["arz"]', 'languages = ["?"]', "judging.question[1].languages: '?' is not a code"),
        ('languages = ["arz"]', 'languages = ["arz", "arz"]', "'arz' is listed twice"),
        (
            ', { key = "problematic", label = "Problematic", shortcut = "p" }',
            "",
            "judging.question[1].choice: a question of the kind one-of needs at least two choices, got 1",
        ),
        (
            '"Problematic"',
            '"Acceptable"',
            "judging.question[1].choice[2].label: 'Acceptable' is the label of two choices",
        ),
        (
            'key = "problematic"',
            'key = "a b"',
            "choice[2].key: 'a b' is not 1 to 50 letters",
        ),
        ('"Problematic"', '""', "judging.question[1].choice[2].label: empty"),
        (
            "[qrels]",
            (
                '[[judging.question]]\nkey = "translation"\nlabel = "Another?"\nafter = ["no"]\n'
                'kind = "yes-no"\n[qrels]'
            ),
            "judging.question[4].key: 'translation' is used by two questions",
        ),
        (
            "[qrels]",
            (
                '[[judging.question]]\nkey = "again"\nlabel = "Is the translation acceptable?"\nafter = ["no"]\n'
                'kind = "yes-no"\n[qrels]'
            ),
            "judging.question[4].label: 'Is the translation acceptable?' is asked twice",
        ),
        (
            'after_all = ["translation:problematic"]',
            'after_all = ["translation:bad"]',
            "judging.question[2].after_all: 'bad' is not a choice of translation; use acceptable, problematic",
        ),
        (
            'after = ["yes"]',
            'after = ["errors:term"]',
            "judging.question[1].after: 'errors' is not asked before this question; use a grade, or put the other",
        ),
        (
            'after_all = ["translation:problematic"]',
            'after_all = ["errors:term"]',
            "'errors' is not asked before this question; use translation",
        ),
        ('"topic.complexity:low"', '"topic.size:low"', "'size' is not a label of topics; use complexity"),
        (
            '"topic.complexity:low"',
            '"topic.complexity:x"',
            "'x' is not a value of complexity; use low, medium",
        ),
        (
            'key = "seconds"',
            'key = "seconds"\nafter = ["translation:problematic", "errors:none"]',
            "judging.question[3].after: 'none' is not a choice of errors; use term, number",
        ),
        (
            'shortcut = "p" }]',
            'shortcut = "pp" }]',
            "judging.question[1].choice[2].shortcut: 'pp' is not one key",
        ),
        (
            '{ key = "term", label = "Term" }',
            '{ key = "term", label = "Term", shortcut = "p" }',
            "judging.question[2].choice[1].shortcut: 'p' is used by two choices of the page",
        ),
        (
            'key = "number", label = "Number"',
            'key = "term", label = "Number"',
            "'term' is used by two choices",
        ),
        ("at_most = 2", "at_most = 3", "at_most: 3 is not between 1 and the number of choices, 2"),
        ("at_most = 2", "at_most = 1\nat_least = 2", "judging.question[2].at_least: 2 is above at_most, 1"),
        (
            "at_most = 2",
            "max = 2",
            "judging.question[2].max: has no effect on the kind any-of; it is a key of the kind",
        ),
        ("min = 0\nmax = 60", "min = 61\nmax = 60", "judging.question[3].min: 61 is above max, 60"),
        (
            'unit = "s"',
            "max_characters = 5",
            "max_characters: has no effect on the kind number; it is a key of the kind",
        ),
        (
            'kind = "number"\nmin = 0\nmax = 60\nunit = "s"',
            'kind = "text"\nmax_characters = 0',
            "judging.question[3].max_characters: 0 is not between 1 and 10000",
        ),
        (
            'unit = "s"',
            'choice = [{ key = "a", label = "A" }]',
            "judging.question[3].choice: has no effect on number; use one-of, any-of, span or ranking",
        ),
        (
            'kind = "any-of"',
            'kind = "span"',
            "judging.question[2].kind: the kind span marks parts of one text; use the layout topic-document",
        ),
        (
            'kind = "any-of"\n',
            'kind = "span"\nmax_characters = 5\n',
            "max_characters: has no effect on the kind span",
        ),
        (
            'kind = "any-of"',
            'kind = "any"',
            "judging.question[2].kind: 'any' is not allowed; use one-of, any-of, yes-no, number",
        ),
        ("limit = 5", "limit = 0", "instances.limit"),
        ("near_duplicate_overlap = 0.95", "near_duplicate_overlap = 1.5", "not above 0 and at most 1"),
        ("judges = 2", "judges = 0", "judging.judges: 0 is below 1"),
        ('strategy = "top-k-by-score"', 'strategy = "round-robin-until"\n#', None),
        ("target = 100", "", None),
        (
            'run_kind = "post-interaction"',
            'run_kind = "late"',
            "interaction.run_kind: 'late' is not a kind of run; use evaluation, post-interaction, baseline",
        ),
        ('measures = ["P(rel=3)@5"]', "measures = []", "scoring.measures: empty"),
        (
            '"arqmath-6", ',
            '"arqmath-6", "trec-6", ',
            "runs.formats: arqmath-6 and trec-6 both have six columns and cannot be distinguished",
        ),
        ('"arqmath-6", ', '"bolt-xml", ', "runs.formats: a format is listed twice"),
        (
            '"language-target"]',
            '"color"]',
            "topics.participants_see[3]: 'color' is not allowed; use number, title",
        ),
        ("{ text =", "{ Text =", "runs.uses: 'Text' is not accepted; use lower-case letters"),
        ('"text and math"', '" "', "runs.uses.both: empty; give a title"),
        (', "columns"]', "]", "runs.columns: the table describes the format columns of runs.formats"),
        ('ties = "file"', 'ties = "rank"', "runs.ties: bolt-xml has no ranks; use docno or file"),
        (
            '"docno", "skip", "score"',
            '"docno", "docno", "score"',
            "runs.columns.order: docno is listed twice",
        ),
        (
            '["topic", "docno", "skip", "score"',
            '["docno", "skip", "score"',
            "runs.columns.order: topic is missing",
        ),
        ('"score", "label"]', '"label"]', "runs.columns.order: names neither score nor rank"),
        (
            "labels = { true = true, false = false }",
            "",
            "runs.columns.labels: name the words of the column label",
        ),
        ("{ true = true,", '{ "a b" = true,', "runs.columns.labels: 'a b' is not one word"),
        ('"skip", "grade"]', '"skip"]', "qrels.columns.order: grade is missing"),
        ("Good = 0", "Good = 7", "qrels.columns.words.Good: 7 is not the value of a grade; use 0, 2"),
        ("mean_pool = 140.0", 'mean_pool = "many"', "published.mean_pool: expected a number"),
        ('"everything"', f'"{"e" * 101}"', "slug: 101 characters long; at most 100 are accepted"),
        ('title = "A protocol', 'title = "A\\u0000protocol', "title: 'A\\x00protocol"),
        ("value = 2", "value = 1000", "judging.grade[1].value: 1000 is above 999"),
        (
            'key = "not-matching"',
            'key = "not matching"',
            "judging.non_answer[1].key: 'not matching' is not 1 to 50 letters",
        ),
        ('key = "not-matching"', f'key = "{"n" * 51}"', "is not 1 to 50 letters"),
        ("judges = 2", f"judges = {'9' * 5000}", "a number is too long"),
        ("judges = 2", f"judges = 0x{'f' * 5000}", "judging.judges: the number must be finite and at most"),
        (
            'title = "A',
            f'title = 0x{"f" * 5000} # "A',
            "title: expected a string, got a number that is too long",
        ),
        (
            "limit = 5",
            "limit = 2147483648",
            "instances.limit: the number must be finite and at most 2147483647",
        ),
        ("near_duplicate_overlap = 0.95", "near_duplicate_overlap = nan", "the number must be finite"),
    ],
)
def test_values_out_of_range_and_contradictions_are_refused(old: str, new: str, expected: str | None) -> None:
    text = EVERYTHING.replace(old, new, 1)

    if expected is None:
        assert parse_protocol(text, name="x.toml").slug == "everything"
    else:
        with pytest.raises(ProtocolError) as refusal:
            parse_protocol(text, name="x.toml")
        assert expected in str(refusal.value)


def test_round_robin_needs_a_target() -> None:
    text = EVERYTHING.replace('"top-k-by-score"', '"round-robin-until"').replace("target = 100", "")

    with pytest.raises(ProtocolError, match=r"pool\.target"):
        parse_protocol(text, name="x.toml")


def test_ranks_of_a_format_without_ranks_cannot_be_refused() -> None:
    text = loader.shipped_text("bolt-ir-p3").replace("[runs]\n", '[runs]\nout_of_range_ranks = "error"\n')

    with pytest.raises(ProtocolError, match=r"no format of runs\.formats has ranks; leave the key out"):
        parse_protocol(text, name="x.toml")


def test_toml_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(ProtocolError, match="nested too deeply"):
        parse_protocol(f"slug = {'[' * 40_000}", name="x.toml")


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("3", r"non_answer\[2\].qrels_code: 3 is a grade of the qrels"),
        ("-1", "-1 is below 0; leave the key out"),
        ("5", "two non-answers have the same qrels_code"),
    ],
)
def test_code_of_a_non_answer_differs_from_grades_and_other_codes(code: str, complaint: str) -> None:
    text = loader.shipped_text("arqmath-2021-task1").replace("qrels_code = 6", f"qrels_code = {code}")

    with pytest.raises(loader.ProtocolError, match=complaint):
        loader.parse_protocol(text, name="p.toml")


PROTOCOL = ["--protocol", "semeval-2016-task3"]


def test_runs_and_gold_are_read_and_scored_as_the_scorer_does(capsys: pytest.CaptureFixture[str]) -> None:
    """The order of the thread: good comments are at 1 and 5, 2 and 4, 1, and 3 and 4."""
    run = str(path("runs/cqa-order.txt"))

    assert main(["check", *PROTOCOL, "--topics", str(path("cqa-topics.jsonl")), run]) == 0
    capsys.readouterr()
    gold = str(path("cqa-gold.txt"))
    assert main(["evaluate", *PROTOCOL, "--qrels", gold, "--format", "json", "--quiet", run]) == 0

    values = {row["measure"]: row["value"] for row in json.loads(capsys.readouterr().out)}
    map_at_10 = ((1 + 2 / 5) / 2 + (1 / 2 + 2 / 4) / 2 + 1 + (1 / 3 + 2 / 4) / 2) / 4
    retrieved, possible = (2, 3, 4, 6, 7, 7, 7, 7, 7, 7), (4, 7, 7, 7, 7, 7, 7, 7, 7, 7)
    assert values["AP(rel=2,norm=retrieved)@10"] == pytest.approx(map_at_10, abs=1e-4)
    assert values["AvgRec(rel=2)@10"] == pytest.approx(
        sum(n / most for n, most in zip(retrieved, possible, strict=True)) / 10, abs=1e-4
    )
    assert values["RR(rel=2)@10"] == pytest.approx((1 + 1 / 2 + 1 + 1 / 3) / 4, abs=1e-4)
    assert (values["labelR(rel=2)"], values["labelP(rel=2)"]) == (1.0, pytest.approx(7 / 20, abs=1e-4))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"subtopics:P_IA@5"',
            '"subtopics:xinfAP"',
            "scoring.measures[4]: xinfAP needs qrels with strata, and subtopics has subtopics only",
        ),
        (
            '"subtopics:P_IA@5"',
            '"subtopics:xinfAP"',
            "scoring.measures: subtopics: xinfAP needs qrels with strata, ",
        ),
        (
            '"P@5", "nDCG@5"',
            '"P@5", "xinfAP", "StRecall@5"',
            "xinfAP needs qrels with strata, StRecall@5",
        ),
        (
            'kind = "any-of"',
            'kind = "one-of"',
            "choices_from: has no effect on one-of; it is a key of any-of",
        ),
        (
            "choices_from",
            'choice = [{ key = "a", label = "A" }]\nchoices_from',
            "has no effect, because",
        ),
        (
            "otherwise = 0",
            "otherwise = 1",
            "qrels.set[1].otherwise: 1 is not 0, the grade of subtopics that are not",
        ),
        (
            "otherwise = 0",
            "grades = { relevant = 1 }",
            "qrels.set[1].grades: has no effect on an any-of question",
        ),
        (
            "[[qrels.set]]",
            '[[judging.question]]\nkey = "why"\nlabel = "Why?"\nkind = "text"\nafter = ["covers:1"]\n\n[[qrels.set]]',
            "judging.question[2].after: the choices of 'covers' depend on the topic, so no condition can name one",
        ),
    ],
)
def test_subtopics_where_they_cannot_be_are_refused(old: str, new: str, message: str) -> None:
    text = path("diversity-lab.toml").read_text()
    assert old in text

    with pytest.raises(ProtocolError) as refused:
        parse_protocol(text.replace(old, new, 1), name="lab.toml")

    assert message in str(refused.value)


def test_set_of_grades_takes_no_measures_of_subtopics() -> None:
    text = path("arguments-lab.toml").read_text().replace('"quality:P@5"', '"quality:alpha_nDCG@5"')

    with pytest.raises(
        ProtocolError, match="needs qrels with subtopics, and quality has grades only; a set has"
    ):
        parse_protocol(text, name="lab.toml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'formats = ["rag-2024"]',
            'formats = ["trec-6"]',
            "runs.formats: 'trec-6' does not fit unit",
        ),
        ('strategy = "answers"', 'strategy = "top-k"', "pool.strategy: 'top-k' does not fit"),
        ('layout = "generated-answer"', 'layout = "topic-document"', "use generated-answer"),
        ("max_ranks = 1 ", "max_ranks = 5 ", "runs.max_ranks: 5, but a run has one answer per topic; use 1"),
        ("max_words = 400", "max_words = 0", "runs.answers.max_words: 0 is below 1"),
        ("most = 30", "most = 0", "nuggets.most: 0 is below 1"),
        (
            "max_words = 400",
            'characters_label = "limit"',
            "'limit' is not a label of topics",
        ),
        ('"SupportF"]', '"SupportF(citations=3)"]', "counts more citations of a sentence than are judged"),
        ('"SupportF"]', '"V(max_rel=3)"]', "counts full support from another grade than the highest, 2"),
        (
            'unit = "generated-answer"',
            'unit = "document"',
            "runs.formats: 'rag-2024' is for unit",
        ),
        (
            'unit = "generated-answer"',
            'unit = "document"',
            "nuggets and pool.order = 'by-answer' are for",
        ),
        ('unit = "generated-answer"', 'unit = "document"', "V is about generated answers"),
    ],
)
def test_keys_of_generated_answers_belong_together(old: str, new: str, message: str) -> None:
    text = shipped_text("trec-rag-2024")
    assert text.count(old) == 1

    with pytest.raises(ProtocolError) as refusal:
        parse_protocol(text.replace(old, new), name="rag.toml")

    assert message in str(refusal.value)


SPAN = """
[[judging.question]]
key = "wrong"
label = "Mark the wrong words"
kind = "span"
at_most = 4
choice = [{ key = "added", label = "Added" }]

[[qrels.set]]
key = "stance"
question = "stance"
grades = { pro = 1, con = 0 }

[[judging.question]]
key = "stance"
label = "Stance"
choice = [{ key = "pro", label = "Pro" }, { key = "con", label = "Con" }]
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("at_most = 4", "at_most = 4", None),
        ("at_most = 4", "at_most = 101", "judging.question[1].at_most: 101 is not between 1 and 100"),
        (
            "at_most = 4",
            "max_characters = 4",
            "max_characters: has no effect on the kind span; it is a key of the kind",
        ),
        (
            'choice = [{ key = "added", label = "Added" }]',
            "",
            "a question of the kind span needs at least one choice, got 0",
        ),
        (
            'question = "stance"',
            'question = "wrong"',
            "qrels.set[1].question: marked parts are exported with the judgments and feed no qrels; use stance",
        ),
        (
            'label = "Stance"',
            'label = "Stance"\nafter = ["wrong:added"]',
            "judging.question[2].after: 'wrong' has no choices that a condition can name; use a grade",
        ),
        (
            'layout = "topic-document"',
            'layout = "citation"',
            "the kind span marks parts of one text; use the layout topic-document, question-answer or form",
        ),
        (
            "at_most = 4",
            'field = "title"',
            "judging.question[1].field: has an effect on the kind span in the layout form only; leave it out",
        ),
    ],
)
def test_span_is_refused_where_no_text_can_be_marked(old: str, new: str, message: str | None) -> None:
    text = shipped_text("trec-adhoc") + SPAN
    assert text.count(old) == 1

    if message is None:
        assert parse_protocol(text, name="span.toml").judging.marks_text
        return
    with pytest.raises(ProtocolError) as refusal:
        parse_protocol(text.replace(old, new), name="span.toml")

    assert message in str(refusal.value)
