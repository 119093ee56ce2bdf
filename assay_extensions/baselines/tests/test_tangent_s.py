"""Tangent-S: trees, symbol pairs, subtree similarity against published scores, and the formula of a topic."""

import csv
import gzip
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from assay.errors import BadFile, InputError
from assay.formats.topics.reader import read_topics
from assay_extensions.baselines.formula_index import FormulaIndex, FormulaSource, build, index_files
from assay_extensions.baselines.formula_trees import DEEPEST, KINDS, Kind, Tree, parse
from assay_extensions.baselines.subtree_similarity import is_alignable, similarity
from assay_extensions.baselines.symbol_pairs import LONGEST, candidates, pairs
from assay_extensions.baselines.tangent_s import CONSTANT, Compared, Query, _ranked, query_of, tangent_s

MATH = '"<math xmlns=""http://www.w3.org/1998/Math/MathML"">{}</math>"'


def test_tree_has_labels_edges_and_children_in_the_order_of_visits() -> None:
    tree = parse("[∑[V!f],o[V!n],u[V!k[=[N!0]]]]", "slt")

    assert tree.labels == ["∑", "V!n", "V!f", "V!k", "=", "N!0"]
    assert tree.edges == ["", "o", "n", "u", "n", "n"]
    assert tree.parents == [-1, 0, 0, 0, 3, 4]
    assert tree.children == [[1, 2, 3], [], [], [4], [5], []]


@pytest.mark.parametrize("text", ["", "x", "[V!x", "[V!x]]", "[V!x],a[N!2]", "[V!x,]", "[V!x,ab[N!2]]", "]"])
def test_other_strings_are_no_trees(text: str) -> None:
    with pytest.raises(InputError, match="not the string of a tree"):
        parse(text, "slt")


def test_depth_of_operator_trees_is_limited_and_that_of_rows_is_not() -> None:
    def chain(edge: str, n: int) -> str:
        return f"[V!x{edge}" * (n - 1) + "[V!x" + "]" * n

    assert len(parse(chain("", 5000), "slt")) == 5000
    deepest = parse(chain(",0", DEEPEST), "opt")
    assert similarity(deepest, deepest, "opt") == (1, 1, 1)
    with pytest.raises(InputError, match=f"more than {DEEPEST} levels"):
        parse(chain(",0", DEEPEST + 1), "opt")


@pytest.mark.parametrize(
    ("string", "kind", "expected"),
    [
        # The root's child + has a child, so there are no pairs with the end of a line.
        ("[V!x[+[V!y]],a[N!2]]", "slt", ["V!x N!2 a", "V!x + n", "V!x V!y nn", "+ V!y n"]),
        ("[V!x,a[N!2]]", "slt", ["V!x N!2 a", "V!x 0! n", "N!2 0! n"]),
        ("[V!x]", "slt", ["V!x 0! n"]),
        ("[U!plus,0[V!x],1[N!1]]", "opt", ["U!plus V!x 0", "U!plus N!1 0", "V!x 0! 0", "N!1 0! 0"]),
        (
            "[O!SUP,0[U!plus,0[V!x],1[V!y]],1[N!2]]",
            "opt",
            ["O!SUP U!plus 0", "O!SUP V!x 00", "O!SUP V!y 00", "O!SUP N!2 1", "U!plus V!x 0", "U!plus V!y 0"],
        ),
        ("[O!root,w[E!]]", "slt", ["O!root 0! n"]),  # E! by w is no pair, nor is its end
    ],
)
def test_symbol_pairs_are_those_worked_out_by_hand(string: str, kind: Kind, expected: list[str]) -> None:
    tokens = pairs(parse(string, kind), kind)

    assert Counter(tokens) == Counter(pair.replace(" ", "\t").encode() for pair in expected)


def test_pairs_are_at_most_four_edges_apart_and_long_ones_are_digests() -> None:
    row = parse("[V!a[V!b[V!c[V!d[V!e[V!f]]]]]]", "slt")
    long = parse(f"[T!{'z' * 50}[V!b]]", "slt")

    assert b"V!a\tV!e\tnnnn" in pairs(row, "slt")
    assert len(pairs(row, "slt")) == 5 + 4 + 3 + 2
    assert max(map(len, pairs(long, "slt"))) <= LONGEST


@pytest.mark.parametrize(
    ("query", "candidate", "expected"),
    [
        ("V!x", "V!y", True),
        ("V!x", "V!xy", False),  # one character, and more
        ("V!ab", "V!xyz", True),
        ("N!2", "N!3", True),
        ("N!2", "N!2,5", False),  # no number
        ("O!divide", "O!root", False),
        ("U!plus", "U!times", False),
        ("F!sin", "F!cos", True),
        ("V!x", "N!2", False),
        ("+", "-", False),
        ("+", "+", True),
    ],
)
def test_labels_are_alignable_by_type(query: str, candidate: str, expected: bool) -> None:
    assert is_alignable(query, candidate) is expected


@pytest.mark.parametrize(
    ("query", "candidate", "kind", "expected"),
    [
        (
            "[V!i[=[O!root,w[-[N!1]]]]]",
            "[V!j[:=[O!root,w[-[N!1]]]]]",
            "slt",
            (0.6153846153846154, 0.8, 0.6),
        ),
        (
            "[N!10,a[-[N!10]]]",
            "[V!A,a[-[N!1]]]",
            "slt",
            (0.5714285714285715, 0.6666666666666666, 0.3333333333333333),
        ),
        (
            "[O!divide,o[∂[V!f],o[N!3]],u[∂[V!x,a[N!3]]]]",
            "[O!divide,o[∂[V!f]],u[∂[V!x,a[N!1]]]]",
            "slt",
            (0.8450704225352113, 1.0, 0.7142857142857143),
        ),
        (
            "[O!rem,0[O!SUP,0[N!5],1[N!133]],1[N!8]]",
            "[O!rem,0[O!SUP,0[N!7],1[V!ℓ]],1[N!5]]",
            "opt",
            (0.7741935483870969, 0.8, 0.4),
        ),
        (
            "[U!plus,0[O!SUP,0[V!𝑎],1[V!𝑛]],1[N!1]]",
            "[U!plus,0[O!SUP,0[V!𝑎],1[U!plus,0[V!𝑛],1[N!1]]],1[N!1]]",
            "opt",
            (0.7741935483870969, 0.5714285714285714, 0.8),
        ),
        ("[V!x]", "[N!2]", "slt", (0.0, 0.0, 0.0)),
        ("[V!x]", "[V!x]", "slt", (1.0, 1.0, 1.0)),
    ],
)
def test_similarity_is_that_of_tangent_s_to_the_last_digit(
    query: str, candidate: str, kind: Kind, expected: tuple[float, ...]
) -> None:
    assert similarity(parse(query, kind), parse(candidate, kind), kind) == expected


def test_size_that_a_label_claims_is_not_enumerated() -> None:
    tree = parse(f"[M!(){'9' * 20}x2,w[V!x]]", "slt")  # as of <menclose notation="M!()99…x2">

    assert similarity(tree, tree, "slt") == (1, 1, 1)


def test_elements_of_tables_match_by_row_and_column() -> None:
    # The cell 1 is at the same row and column in both; the cell 3 is not, though it is the third in both.
    query = parse("[M!2x2,w[N!1,e[V!a,e[N!3,e[N!4]]]]]", "slt")
    candidate = parse("[M!1x3,w[N!1,e[V!b,e[N!3]]]]", "slt")

    # M! by unification, the cells (0, 0) and (0, 1): 3 of 5 nodes, and 2 of 4 edges, M! to N!1 and N!1 to V!a.
    assert similarity(query, candidate, "slt") == pytest.approx((2 * 0.6 * 0.5 / 1.1, 3 / 4, 1 / 5))


@pytest.mark.parametrize("kind", KINDS)
def test_published_scores_are_reproduced(data: Path, kind: Kind) -> None:
    with gzip.open(data / "tangent_s" / f"mss_{kind}.tsv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))

    @cache
    def tree(text: str) -> Tree:
        text = text.replace('\\"', '"')  # some rows were quoted twice
        return parse(text[1:-1].replace('""', '"') if text.startswith('"') else text, kind)

    equal = 0
    for row in rows:
        scores = similarity(tree(row["query"]), tree(row["candidate"]), kind)
        published = (float(row[name]) for name in ("mss", "precision", "recall"))
        equal += all(abs(score - other) < 1e-9 for score, other in zip(scores, published, strict=True))

    assert equal / len(rows) >= 0.998


def write_index(path: Path, rows: list[tuple[str, str, str, str]], name: str = "post_id") -> Path:
    lines = [
        f"{code}\t{post}\t{post}\t{place}\t{MATH.format(mathml)}\n" for code, post, place, mathml in rows
    ]
    path.write_text(f"id\t{name}\tthread_id\ttype\tformula\n{''.join(lines)}")
    return path


ROWS = [
    ("1", "11", "answer", "<mi>x</mi>"),
    ("2", "11", "answer", "<msup><mi>x</mi><mn>2</mn></msup>"),
    ("3", "10", "question", "<msup><mi>x</mi><mn>2</mn></msup>"),
    ("4", "12", "answer", "<msup><mi>y</mi><mn>2</mn></msup>"),
    ("5", "13", "comment", "<msup><mi>x</mi><mn>2</mn></msup>"),
    ("6", "14", "answer", "<mi>z</mi><mi>z</mi>"),  # no tree: math has one child
]
SQUARE = Query("T", "q_1", {"slt": "[V!x,a[N!2]]"})


@pytest.fixture
def index(tmp_path: Path) -> Path:
    source = FormulaSource(index_files([write_index(tmp_path / "1.tsv", ROWS)]), processes=0)
    (tmp_path / "index").mkdir()
    build(tmp_path / "index", source)
    assert source.skipped == {"formulas without SLT": 1}
    return tmp_path / "index"


def test_index_has_each_distinct_tree_once_and_no_comments(index: Path) -> None:
    opened = FormulaIndex(index)

    assert opened.formula.tolist() == [b"1", b"2", b"3", b"4"]
    assert [opened.string("slt", tree) for tree in opened.trees["slt"].tolist()] == [
        "[V!x]",
        "[V!x,a[N!2]]",
        "[V!x,a[N!2]]",
        "[V!y,a[N!2]]",
    ]
    assert len(opened.pairs["slt"].docno) == 3
    assert opened.kinds == ("slt",)


def test_candidates_are_ordered_by_common_pairs(index: Path) -> None:
    opened = FormulaIndex(index)

    # Three pairs each. [V!x] has one, V!x 0! n: 2 * 1 / (3 + 1); y² has one in common, N!2 0! n: 2 * 1 / (3 + 3).
    rows = candidates(parse("[V!x,a[N!2]]", "slt"), "slt", opened.pairs["slt"], k=10)

    assert [opened.string("slt", row) for row in rows.tolist()] == ["[V!x,a[N!2]]", "[V!x]", "[V!y,a[N!2]]"]
    assert len(candidates(parse("[V!x,a[N!2]]", "slt"), "slt", opened.pairs["slt"], k=1)) == 1


def test_formulas_and_posts_have_the_combined_scores(index: Path) -> None:
    (formulas,) = tangent_s([SQUARE], index, unit="formula", depth=10, processes=0)
    (answers,) = tangent_s([SQUARE], index, unit="answer", depth=10, processes=0)
    (documents,) = tangent_s([SQUARE], index, unit="document", depth=10, processes=0)

    exact = CONSTANT + 0.0861 - 0.1694 + 1.8469
    unified = CONSTANT + 0.0861 - 0.1694 + 1.8469 / 2
    # x matches one of two symbols, and no edge: MSS 2 * 0.5 * 0.5 / 1.
    alone = CONSTANT + 0.0861 * 0.5 - 0.1694 + 1.8469 / 2
    assert formulas.docno.tolist() == [b"3", b"2", b"4", b"1"]
    assert formulas.score.tolist() == pytest.approx([exact, exact, unified, alone])
    assert formulas.post is not None
    assert formulas.post.tolist() == [b"10", b"11", b"12", b"11"]
    assert answers.docno.tolist() == [b"11", b"12"]  # the best formula of a post counts
    assert answers.score.tolist() == pytest.approx([exact, unified])
    assert documents.docno.tolist() == [b"11", b"10", b"12"]


def test_tree_that_was_not_compared_counts_zero(index: Path) -> None:
    opened = FormulaIndex(index)
    trees = {"slt": opened.trees["slt"], "opt": np.array([-1, 0, -1, 2], dtype=np.int32)}
    both = FormulaIndex(index)
    both.__dict__.update(trees=trees, pairs={"slt": opened.pairs["slt"], "opt": opened.pairs["slt"]})
    results = {
        "slt": Compared(np.array([1]), np.array([1.5])),
        "opt": Compared(np.array([0]), np.array([0.25])),
    }

    ranked = _ranked(Query("T", "", {}), results, both, unit="formula", depth=10)

    assert ranked.docno.tolist() == [
        b"2",
        b"3",
    ]  # 2 has both; 3 has no OPT; 4 has an OPT that was not compared
    assert ranked.score.tolist() == pytest.approx([CONSTANT + 1.75, CONSTANT + 1.5])


@pytest.mark.parametrize(("order", "n_files"), [(1, 1), (-1, 1), (1, 3)])
def test_run_does_not_depend_on_files_and_their_order(tmp_path: Path, order: int, n_files: int) -> None:
    rows = ROWS[::order]
    for number in range(n_files):
        write_index(tmp_path / f"{number}.tsv", rows[number::n_files])
    (tmp_path / "index").mkdir()
    build(tmp_path / "index", FormulaSource(index_files(sorted(tmp_path.glob("*.tsv"))), processes=0))

    (ranked,) = tangent_s([SQUARE], tmp_path / "index", unit="formula", depth=10, processes=0)

    assert ranked.docno.tolist() == [b"3", b"2", b"4", b"1"]


def test_file_without_formulas_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.tsv").write_text("id\tvisual_id\n1\t2\n")
    (tmp_path / "latex.tsv").write_text("id\tpost_id\tthread_id\ttype\tformula\n1\t11\t10\tanswer\tx^2\n")

    with pytest.raises(BadFile, match=r"run\.tsv"):
        index_files([tmp_path / "run.tsv"])
    with pytest.raises(InputError, match="LaTeX has no trees"):
        index_files([tmp_path / "latex.tsv"])


TOPICS = """<Topics><Topic number="A.1">
<Title>About &lt;span class="math-container" id="q_1"&gt;$x$&lt;/span&gt;</Title>
<Question>&lt;span class="math-container" id="q_2"&gt;$x^2$&lt;/span&gt;,
 &lt;span class="math-container" id="q_3"&gt;$y^2$&lt;/span&gt;</Question></Topic></Topics>"""


def test_formula_of_a_question_is_the_largest_of_the_title_or_else_of_the_text() -> None:
    (topic,) = read_topics(TOPICS.encode(), "topics.xml")
    body = {"q_2": "[V!x,a[N!2]]", "q_3": "[V!y,a[N!2]]"}
    title = {"q_1": "[V!x]"}

    assert query_of(topic, {"slt": title | body}, 1) == Query("A.1", "q_1", {"slt": "[V!x]"})
    assert {query_of(topic, {"slt": body}, seed).formula for seed in range(20)} == {"q_2", "q_3"}
    assert query_of(topic, {"slt": body}, 4) == query_of(topic, {"slt": body}, 4)
    assert query_of(topic, {"slt": body | {"q_3": "[V!y]"}}, 1).formula == "q_2"
    assert query_of(topic, {"slt": {}}, 1) == Query("A.1", "", {})


def test_questions_of_2021_have_a_formula_of_their_title_if_it_has_one(data: Path) -> None:
    formulas = data / "arqmath" / "formulas" / "2021_formulas_slt.tsv"
    strings = FormulaSource(index_files([formulas]), processes=0).strings()
    path = data / "arqmath" / "topics" / "topics.arqmath-2021-task1-origin.xml"
    topics = read_topics(path.read_bytes(), path.name)

    queries = {topic.code: query_of(topic, strings, 1) for topic in topics}

    assert sum(bool(query.strings) for query in queries.values()) == 100
    in_title = sum(f'"{queries[topic.code].formula}"' in topic.title for topic in topics)
    assert in_title == sum("math-container" in topic.title for topic in topics) == 53
