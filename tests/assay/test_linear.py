"""All functions that parse text from outside need time in proportion to its length, and none recurses.

Each function reads many repeated units at two sizes. Eight times the text takes eight times as long if the time is
linear, and 64 times if it is quadratic. The time is that of the processor, the least of several, and counts only
where it is long enough to be measured.
"""

import ast
import gc
import importlib
import inspect
import io
import json
import pkgutil
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

import pytest

import assay
import assay_extensions
from assay.errors import AssayError
from assay.formats.documents import forum as bolt
from assay.formats.documents import jsonl, stackexchange, trec
from assay.formats.documents.batch import Batch, Malformed, Unusable
from assay.formats.documents.dump import Reader
from assay.formats.qrels.reader import QrelsError
from assay.formats.qrels.tables import table_rows
from assay.formats.reports import Tally
from assay.formats.runs.reader import check_run
from assay.formats.separated import SeparatedLines
from assay.formats.topics.reader import read_topics
from assay.formulas.mathml import read_html
from assay.formulas.slt import slt
from assay.html import forum, highlight, links
from assay.html.sanitize import clean_body, clean_title
from assay.nuggets.files import read_nuggets
from assay.protocols.loader import load_protocol, parse_protocol
from assay.protocols.measures import parse_measure
from assay_extensions.baselines.formula_trees import parse
from assay_extensions.baselines.tokens import tokenize
from assay_extensions.label_studio.config import read_config
from assay_extensions.label_studio.tasks import read_tasks
from assay_extensions.turkle.moves import Table
from tracks.markdown import plain_html

SIZE = 2_000  # characters
FACTOR = 8
BOUND = 20  # between the factor and its square
SHORT = 0.006  # seconds of the longer text: a quadratic function of these sizes takes longer, or does no harm
MATH = '<math xmlns="http://www.w3.org/1998/Math/MathML">'
PROTOCOL = load_protocol("trec-adhoc")
RAG = load_protocol("trec-rag-2024")
STARS = read_config(b"<View><Text name='t' value='$a'/><Rating name='r' toName='t'/></View>", "x.xml")
REFUSALS = (AssayError, Malformed, QrelsError, Unusable, ValueError)

# fmt: off
UNITS = [
    "x", "1", "_", ".", "-", ":", ";", ",", "=", "/", "#", " ", "x=",
    "x<y", "<a", "<br", "<y", "${", "$", "$$", "\\(", "\\[", "\\begin{", "\\begin{align}", "{", "}", "(", ")", "\\frac",
    "&", "&amp", "&amp;", "&#1", "[", "](", "[a](//x ", "<!--", "http://", "http://x(", '"', "'", "\\", "*a ", "**a",
    "_a ", "`", "`a", "a ", "\n", "\n \n", "\t", "<div>", "</div>", "<b></i>", "<p>", "<p ", "<p x='", "<pre>\n",
    "<a href=x>", "<span class='math-container'>", "<span class='math-container' ", "math-container ", "<math>",
    "<math ", "</math>",
    '<annotation encoding="application/x-tex">', "<annotation ", "<table><b></b>", "<b><table><td></b></table>",
    "<b><!--</b>-->", "<foo>", "<row ", "<row/>", "<Topic number='1'/>", "<topic>", "<mi>x</mi>", "<mrow>",
    "<mo>(</mo>", "<svg><td>", "A\tx\n", '"x\n', "1\t1\t1\tanswer\tx\n", "1 Q0 d 1 1.0 t\n", "$5 ab ",
    "\ufdd0", "a=1\n", "<b>", "<table><tr><td>", "<svg>", "<foo>x</foo>", '<span class="math-container">x', "$$ a {",
    "\\begin{align}{ $ \\( \\[ ", "\x00", "[a](http://x(", "$" + "{" * 999,
]
# fmt: on
# Functions that need more than text, or that read it inside other text. ENTRY_POINTS has the others.
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "formula in HTML": lambda text: clean_body(f'<p><span class="math-container">{text}</span> x'),
    "MathML in HTML": lambda text: clean_body(f"<math>{text}</math>"),
    "link": lambda text: links.read(f"//{text}"),
    "guidelines in Markdown": plain_html,
    "links of stored HTML": lambda text: links.resolve(text, {}, ()),
    "posts of links": lambda text: links.posts([text], ()),
    "highlight": lambda text: highlight.around(f"{text}{highlight._opening('1')}", "1"),
    "MathML": lambda text: slt(f"{MATH}{text}</math>"),
    "row of MathML": lambda text: slt(f"{MATH}<mrow>{text}</mrow></math>"),
    # libxml2 compares an end tag with all open elements, of which it takes at most 2,048: the longer text has more.
    "formula that is not XML": lambda text: read_html(3 * text),
    "tokens": lambda text: tokenize(f'{text}<span class="math-container">{text}</span>', "english-latex"),
    "tree of a formula": lambda text: parse(f"[x{text}", "slt"),
    "broken JSONL": lambda text: jsonl.convert(f'{{"docno": {text}'.encode()),
    "separated columns": lambda text: SeparatedLines(b",", ("topic", "docno"), lambda *_: None).take(
        1, f"{text}\n".encode(), is_last=True
    ),
    "chunks of a dump": lambda text: list(Reader(io.BytesIO(f"<posts>{text}".encode()), "Posts.xml")),
    "topics": lambda text: read_topics(text.encode(), "topics.xml"),
    "topics in XML": lambda text: read_topics(f"<Topics>{text}</Topics>".encode(), "topics.xml"),
    "topics of NTCIR": lambda text: read_topics(f"<topics>{text}</topics>".encode(), "topics.xml"),
    "measure": parse_measure,
    "qrels in a table": lambda text: table_rows(f"topic,docno,grade\n{text}"),
    "run": lambda text: check_run(io.BytesIO(text.encode()), protocol=PROTOCOL, name="run.txt"),
    "attributes of a post": lambda text: forum.to_html(f"<a {text}>x</a>"),
    "posts in JSON lines": lambda text: jsonl.convert(json.dumps({"docno": "1", "source": text}).encode()),
    "posts in BOLT's XML": lambda text: bolt.convert(
        f'<doc id="t"><post id="p1" {text}>{text}</post></doc>'.encode()
    ),
}
# Functions of these packages read text from outside if their first parameter is text and has another name than these.
PACKAGES = (
    "answers",
    "formats",
    "formulas",
    "html",
    "label_studio",
    "machines",
    "nuggets",
    "passages",
    "protocols",
    "structure",
    "templates",
    "trec_eval",
    "turkle",
)
NO_TEXT = {"path", "name", "slug", "form", "kind", "packing", "measure", "delimiter", "topic"}
# The further arguments that a function needs; None if it is a step of another function of this list.
# fmt: off
ARGUMENTS: dict[str, dict[str, object] | None] = {
    "formats.documents.batch.decoded_line": {"batch": Batch()},
    "formats.documents.batch.limited": {"name": "body"},
    "formats.documents.index_rows.convert": {"form": "formulas-latex-v1"},
    "formats.documents.index_rows.names_of": None,
    "formats.documents.indexes.recognized": {"name": "x.tsv"},
    "formats.documents.reading.convert": {"form": "jsonl"},
    "formats.documents.sources.form_of": {"name": "x.xml"},
    "formats.documents.stackexchange.convert": {"form": "posts"},
    "formats.documents.stackexchange.elements": {"batch": Batch()},
    "formats.documents.table_rows.convert": {"form": "csv of=2 docno=1 body=2"},
    "formats.documents.table_rows.cells_of": {"kind": "csv"},
    "formats.judgments.reader.parse_judgments": {"name": "x.csv"},
    "label_studio.config.read_config": {"name": "x.xml"},
    "label_studio.tasks.read_tasks": {"name": "x.json", "config": STARS},
    "machines.judge_files.prompts.answer_token": {"tokens": (), "parser": "final-score/1", "grades": ()},
    "machines.judge_files.prompts.probabilities_in": {"tokens": (), "parser": "final-score/1", "grades": ()},
    "formats.manifest.parse_manifest": {"name": "x.csv", "protocol": PROTOCOL, "has_file": bool},
    "formats.qrels.cites.as_cites": {"cites": ()},
    "formats.qrels.tables.table_rows": None,
    "formats.rows.read_rows": {"name": "x.csv", "fields": ["a"]},
    "formats.tokens.is_word": {"most": 10},
    "formats.runs.records.json_object": {"number": 1, "tally": Tally()},
    "formats.runs.reader.named_in": {"protocol": PROTOCOL},
    "formats.runs.rows.score_of": None,
    "formats.runs.rows.rank_of": None,
    "formats.runs.rows.width_hint": {"got": 1},
    "formats.separated.quoted": {"separator": b","},
    "formats.separated.cells": {"separator": b","},
    "formats.separated.n_columns": {"separator": b","},
    "formats.topics.bolt.visible_source": {"hidden": (), "listed": ()},
    "formats.topics.reader.read_topics": {"name": "x.txt"},
    "formats.topics.reader.read_topic_file": {"name": "x.txt"},
    "formats.topics.reader.read_labels": {"name": "x.csv"},
    "formats.topics.reader.read_known_items": {"name": "x.tsv"},
    "formats.topics.tables.read_table": None,
    "formats.topics.xml.read_xml": {"name": "x.xml"},
    "formats.topics.lines.read_lines": {"is_formula": False},
    "formats.topics.reader.read_codes": {"name": "x.txt"},
    "formulas.extraction.mark": {"first_id": 1},
    "formulas.grouping.presentation_of": None,  # of prepared formulas, which are short: it is another library's
    "formulas.mathml.read_content": None,
    "formulas.mathml.read_html": None,
    "formulas.mathml.read_xml": None,
    "html.form.form_parts": {"values": {}},
    "html.frame.frame_body": {"values": {}},
    "html.forum.passage": {"span": forum.Span(0, 1)},
    "html.highlight.mark": {"formula_id": "1"},
    "html.highlight.around": None,
    "html.images.described": {"host": "x.example"},
    "html.images.file_names": None,  # of references, which are short
    "html.images.show": {"images": {}},
    "html.latex.delimited": None,
    "html.latex.is_money": None,
    "html.latex.plain_inline": None,
    "html.latex.closing": None,
    "html.latex.find_end": None,
    "html.latex.in_span": {"attributes": ""},
    "html.links.resolve": {"addresses": {}, "hosts": ()},
    "html.sanitize.beginning": {"most": 10**9},
    "html.tidy.tidy": None,
    "machines.work.answers.read_answer": {"topic": "1", "docno": "d", "rules": PROTOCOL.judging},
    "machines.work.output.whole_rows": {"suffix": ".jsonl"},
    "nuggets.assignments.read_assignments": {"name": "x", "judging": PROTOCOL.judging},
    "nuggets.files.read_nuggets": {"name": "x"},
    "nuggets.files.records": {"name": "x"},
    "answers.rubric_files.read_rubrics": {"name": "x"},
    "answers.rubric_files.read_graded": {"name": "x"},
    "answers.support.read_support": {"name": "x"},
    "protocols.schema.naming.is_named": {"scheme": "{team}-{kind}-{number}", "words": {"kind": ["a"]}},
    "protocols.schema.naming.named": None,  # of a scheme, which has at most 100 characters
    "protocols.description.label_value": {"label": "languages"},
    "protocols.loader.parse_protocol": {"name": "x.toml"},
    "protocols.loader.read_checked": {"name": "x.toml"},
    "protocols.units.pair_docno": {"other": "d7"},
    "structure.declarations.below": {"child": "depth"},
    "structure.reading.line_complaints": None,
    "structure.reading.strict_json": None,
    "structure.toml_files.decoded": {"name": "x.toml"},
    "structure.toml_files.line_of": {"key": "x"},
    "structure.toml_files.read_toml": None,
    "structure.unknown_keys.nearest": {"accepted": ("depth", "kind")},
    "templates.filled": {"values": {}},
    "turkle.moves.answer_of": {"question": None},
    "turkle.moves.move": {
        "name": "x.html",
        "slug": "x",
        "title": "x",
        "batches": {"x": Table("x", ["a"], [])},
        "results": {},
    },
    "turkle.moves.read_table": {"name": "x.csv"},
}
# fmt: on


def entry_points() -> Iterator[tuple[str, Callable[[str], object]]]:
    """All public functions that are given text, so that a new one cannot be forgotten."""
    of_core = pkgutil.walk_packages(assay.__path__, "assay.")
    of_extensions = pkgutil.walk_packages(assay_extensions.__path__, "assay_extensions.")
    for info in chain(of_core, of_extensions):
        package, *rest = info.name.split(".")[1:]
        if package not in PACKAGES or rest[:1] == ["site"]:
            continue
        for name, function in vars(importlib.import_module(info.name)).items():
            if not inspect.isfunction(function) or function.__module__ != info.name or name.startswith("_"):
                continue
            first = next(iter(inspect.signature(function).parameters.values()), None)
            if first is not None and first.annotation in (str, bytes) and first.name not in NO_TEXT:
                yield f"{'.'.join([package, *rest])}.{name}", function


ENTRY_POINTS = {name: function for name, function in entry_points() if ARGUMENTS.get(name, {}) is not None}


def opened(name: str) -> Callable[[str], object]:
    """An entry point as a function of text alone. A new one that needs more arguments fails until they are stated."""
    function, arguments = ENTRY_POINTS[name], ARGUMENTS.get(name) or {}
    is_bytes = next(iter(inspect.signature(function).parameters.values())).annotation is bytes
    inspect.signature(function).bind("", **arguments)
    return lambda text: function(text.encode() if is_bytes else text, **arguments)  # type: ignore[call-arg,arg-type]


def seconds(function: Callable[[str], object], text: str) -> float:
    """Processor time, also of what a generator yields; a refusal counts as a result, any other exception fails."""
    start = time.process_time()
    with suppress(*REFUSALS):
        result = function(text)
        if isinstance(result, Iterator):
            deque(result, maxlen=0)
    return time.process_time() - start


def is_linear(function: Callable[[str], object], make: Callable[[int], str]) -> bool:
    short, long = make(SIZE), make(FACTOR * SIZE)
    more = seconds(function, long)
    if more < SHORT:
        return True
    once = min(seconds(function, short) for _ in range(3))
    return any(again < max(SHORT, BOUND * once) for again in chain([more], measured_again(function, long)))


def measured_again(function: Callable[[str], object], text: str) -> Iterator[float]:
    """Further measurements, each made when it is asked for."""
    return (seconds(function, text) for _ in range(12))


pytestmark = [
    pytest.mark.no_cover,  # it would be measured, too
    pytest.mark.filterwarnings("ignore::assay.errors.InputWarning"),
]


@pytest.fixture(autouse=True)
def no_garbage_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_time_grows_with_the_length_of_the_text(name: str) -> None:
    function = FUNCTIONS[name]

    slow = [unit for unit in UNITS if not is_linear(function, repeated(unit))]

    assert slow == []


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_every_function_that_is_given_text_is_linear(name: str) -> None:
    function = opened(name)

    slow = [unit for unit in UNITS if not is_linear(function, repeated(unit))]

    assert slow == []


def repeated(unit: str) -> Callable[[int], str]:
    """An odd number of units at both sizes: an even number of quotes ends what an odd number leaves open."""
    return lambda n: unit * (n // len(unit) | 1)


def numbered(unit: str, *, before: str = "", after: str = "") -> Callable[[int], str]:
    """Units with different numbers, as the names of attributes are."""
    return lambda n: before + "".join(unit.format(i) for i in range(n // len(unit))) + after


def nested(start: str, end: str, *, before: str = "", after: str = "") -> Callable[[int], str]:
    return lambda n: before + start * (n // len(start + end)) + end * (n // len(start + end)) + after


CASES: dict[str, tuple[Callable[[str], object], Callable[[int], str]]] = {
    "attributes": (clean_body, numbered("x{} ", before="<p ", after=">")),
    "attributes of an end tag": (clean_body, numbered("x{} ", before="</p ", after=">")),
    "attributes that quote": (clean_body, numbered("x{}='>\"' ", before="<p ", after=">")),
    "attributes behind a comment": (clean_body, numbered("x{} ", before='<!-- <a x=" --><p ', after='">')),
    "attributes of MathML in HTML, too long for a formula": (
        slt,
        lambda n: numbered("x{} ", before="<math ", after="><mi>x</mi></math>")(4 * n),
    ),
    "controls of Label Studio": (
        lambda text: read_config(text.encode(), "x.xml"),
        numbered("<Header value='a'/><Rating name='r{}' toName='t'/>", before="<View>", after="</View>"),
    ),
    "choices of Label Studio": (
        lambda text: read_config(text.encode(), "x.xml"),
        numbered(
            "<Choice value='{}'/>", before="<View><Choices name='c' toName='t'>", after="</Choices></View>"
        ),
    ),
    "tasks of Label Studio": (
        lambda text: read_tasks(text.encode(), "x.json", STARS),
        numbered('{{"id": {}, "data": {{"a": "x"}}}},', before="[", after='{"data": {"a": ""}}]'),
    ),
    "wrong tasks of Label Studio": (
        lambda text: read_tasks(text.encode(), "x.json", STARS),
        numbered('{{"id": {}}},\n', before="[", after="{}]"),
    ),
    "attributes of a row": (
        lambda text: stackexchange.convert(text.encode(), "posts"),
        numbered("x{}='' ", before="<row ", after="/>"),
    ),
    "formatting in every paragraph": (clean_body, numbered("<b a={}><p>x</i>")),
    "text before a table": (clean_body, lambda n: "<table>" + "x<br>" * (n // 5)),
    "spaces behind a formula": (
        clean_body,
        lambda n: '<p><span class="math-container">x</span>' + " " * n + "y",
    ),
    "words between amounts": (clean_body, lambda n: "$5 " + "a" * n + "{}$"),
    "digits of a reference": (clean_title, lambda n: "&#" + "1" * n),
    "digits in a formula": (clean_body, lambda n: f'<span class="math-container">&#{"1" * n};</span>'),
    "properties of a BOLT topic": (
        lambda text: read_topics(text.encode(), "topics.xml"),
        lambda n: (
            "<bolt-ir-topics><topic number='1'><properties>"
            + "<a>x</a>" * (n // 8)
            + "</properties></topic></bolt-ir-topics>"
        ),
    ),
    "attributes of a topic": (
        lambda text: read_topics(text.encode(), "topics.xml"),
        lambda n: numbered("a{}='' ", before="<topics><topic ", after="/></topics>")(4 * n),
    ),
    "turns of a conversation": (
        lambda text: read_topics(text.encode(), "topics.json"),
        lambda n: '[{"number": 1, "turn": [{}' + ', {"number": 2, "utterance": "x"}' * (n // 32) + "]}]",
    ),
    "topics in an array": (
        lambda text: read_topics(text.encode(), "topics.json"),
        numbered('\n{{"code": "{}"}},', before="[", after='{"code": "x"}]'),
    ),
    **{
        f"topics of TREC with {unit}": (
            lambda text: read_topics(text.encode(), "topics.txt"),
            lambda n, unit=unit: "<top><num>1" + unit * (n // len(unit)),
        )
        for unit in ("<num>1", "<!--", "x", "<x> ", "\n ", "&amp;")
    },
    **{
        f"documents of TREC with {unit}": (
            lambda text: trec.convert(text.encode()),
            lambda n, unit=unit: f"<DOC><DOCNO>1</DOCNO>{unit * (n // len(unit))}</DOC>",
        )
        for unit in ("<a>", "<a></a>", "<!--", "<DOCHDR>", "<body>", "</DOC", "\n ")
    },
    "nested elements": (clean_body, nested("<div>", "</div>")),
    "nested spans with paragraphs": (clean_body, nested("<span><p>", "</span></p>")),
    "nested braces": (clean_body, nested("{", "}", before="$", after="$")),
    "nested rows": (slt, nested("<mrow>", "</mrow>", before=MATH, after="</math>")),
    "nested fences": (
        slt,
        nested("<mrow><mo>(</mo>", "<mo>)</mo></mrow>", before=MATH, after="</math>"),
    ),
    "nested lists in JSON": (
        lambda text: jsonl.convert(text.encode()),
        nested("[", "]", before='{"docno":"1","x":', after="}"),
    ),
    "sentences of an answer": (
        lambda text: check_run(io.BytesIO(text.encode()), protocol=RAG, name="run.jsonl").repaired(),
        lambda n: (
            '{"run_id": "r", "topic_id": "t", "references": ["a"'
            + ', "a"' * (n // 8)
            + '], "answer": [{}'
            + ', {"text": "x y", "citations": [0, 0]}' * (n // 36)
            + "]}"
        ).replace("{}, ", ""),
    ),
    "answers of a run": (
        lambda text: check_run(io.BytesIO(text.encode()), protocol=RAG, name="run.jsonl"),
        numbered(
            '{{"run_id": "r", "topic_id": "{}", "references": [], "answer": [{{"text": "x", "citations": []}}]}}\n'
        ),
    ),
    "strings in a run of JSON": (
        lambda text: check_run(io.BytesIO(text.encode()), protocol=PROTOCOL, name="run.json"),
        lambda n: '{"t": {"d": "' + '\\"' * n + '", "e": 1}}',
    ),
    "nuggets of a topic": (
        lambda text: list(read_nuggets(text.encode(), "n")[0].problems(RAG.nuggets)),
        numbered('{{"text": "{}"}},', before='{"qid": "t", "nuggets": [', after='{"text": "x"}]}'),
    ),
    "dotted key": (lambda text: parse_protocol(text, name="x.toml"), lambda n: "a." * (4 * n)),
    "strings that do not end": (lambda text: parse_protocol(text, name="x.toml"), lambda n: '"\\' * (20 * n)),
    "keys that no protocol has": (
        lambda text: parse_protocol(text, name="x.toml"),
        lambda n: "".join(f"a{number}=1\n" for number in range(n // 16)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_time_grows_with_the_length_of_a_hostile_text(name: str) -> None:
    function, make = CASES[name]

    assert is_linear(function, make)


ROOT = Path(__file__).parents[2]
POSSESSIVE_GROUP = re.compile(r"[)][*+?][+]")
SIMPLE = re.compile(r"[(][?]:[^()|]*[)][*+?][+]")  # a possessive group without groups and alternatives in it


def strings() -> Iterator[tuple[str, str]]:
    """Every string of the library with its place."""
    for path in sorted(
        path for room in ("assay", "assay_extensions") for path in (ROOT / room).rglob("*.py")
    ):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
                text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
                yield f"{path.relative_to(ROOT)}:{node.lineno}", text


def test_possessive_groups_have_no_alternatives() -> None:
    """Python before 3.11.5, as in Debian 12, matches them wrongly (gh-106052): `(?>(?:a|b)*)`, not `(?:a|b)*+`."""
    wrong = [place for place, text in strings() if POSSESSIVE_GROUP.search(SIMPLE.sub("", text))]

    assert not wrong


@pytest.mark.parametrize("pattern", [r"(?:a|b)*+", r"(?:a(?:b)?)++", r"(a|b)?+"])
def test_groups_that_match_wrongly_are_noticed(pattern: str) -> None:
    assert POSSESSIVE_GROUP.search(SIMPLE.sub("", pattern))
