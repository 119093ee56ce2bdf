"""`assay baseline` and `assay fuse` on the sample files: the runs that they write, and what they refuse."""

import json
from pathlib import Path

import pytest

from assay import samples
from assay.cli.main import main
from assay.protocols.loader import shipped_text

TASK1 = "arqmath-2020-task1"
COLLECTION, TOPICS = str(samples.path("documents.jsonl")), str(samples.path("topics.xml"))
LINKS = ["--links", str(samples.path("links.tsv")), "--questions", str(samples.path("questions.tsv"))]
ABACUS, LEMMA = str(samples.path("runs/abacus.tsv")), str(samples.path("runs/lemma.tsv"))
QRELS = str(samples.path("qrels.txt"))


def baseline(name: str, *options: str, protocol: str = TASK1, collection: str = COLLECTION) -> int:
    files = ["--topics", TOPICS, "--collection", collection, "--processes", "1"]
    return main(["baseline", name, "--protocol", protocol, *files, *options])


def rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


@pytest.mark.parametrize("name", ["tf-idf", "bm25"])
def test_text_baseline_is_a_run_of_answers_that_the_protocol_accepts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = tmp_path / "run.tsv"

    status = baseline(name, "--output", str(path), "--tag", "ours")

    lines = rows(path.read_text())
    kinds = {row["docno"]: row["kind"] for row in map(json.loads, Path(COLLECTION).read_text().splitlines())}
    assert status == 0
    assert {kinds[docno] for _, docno, *_ in lines} == {"answer"}
    assert {tag for *_, tag in lines} == {"ours"}
    assert {docno for topic, docno, rank, *_ in lines if (topic, rank) == ("A.1", "1")} <= {"21", "24"}
    assert f"{len(lines)} documents for 5 topics" in capsys.readouterr().err
    assert main(["check", "--protocol", TASK1, "--topics", TOPICS, str(path)]) == 0


def test_run_does_not_depend_on_the_order_of_the_collection(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reversed_lines = Path(COLLECTION).read_text().splitlines(keepends=True)[::-1]
    (tmp_path / "other.jsonl").write_text("".join(reversed_lines))

    baseline("bm25", "--depth", "3")
    first = capsys.readouterr().out
    baseline("bm25", "--depth", "3", collection=str(tmp_path / "other.jsonl"))

    assert capsys.readouterr().out == first
    assert len(rows(first)) == 15


def test_index_is_kept_and_gives_the_same_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "index"
    baseline("bm25")
    without = capsys.readouterr().out

    baseline("bm25", "--index", str(folder))
    built, times = capsys.readouterr().out, {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    baseline("bm25", "--index", str(folder))

    assert without == built == capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == times


@pytest.mark.parametrize("options", [["--tokenizer", "words"], ["--k1", "2"], ["--b", "0"]])
def test_option_of_bm25_changes_the_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    baseline("bm25")
    before = capsys.readouterr().out

    assert baseline("bm25", *options) == 0
    assert capsys.readouterr().out != before


def test_tokenizer_of_the_protocol_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.toml"
    own.write_text(shipped_text(TASK1) + '\n[baselines]\ntokenizer = "words"\n')
    baseline("bm25", "--tokenizer", "words")
    wanted = capsys.readouterr().out
    baseline("bm25")
    usual = capsys.readouterr().out

    baseline("bm25", protocol=str(own))

    assert capsys.readouterr().out == wanted != usual


def test_linked_posts_are_the_answers_of_duplicates_by_votes(capsys: pytest.CaptureFixture[str]) -> None:
    status = baseline("linked-posts", *LINKS)

    output = capsys.readouterr()
    assert status == 0
    assert [(topic, docno, float(score)) for topic, docno, _, score, _ in rows(output.out)] == [
        *[("A.1", "21", 14.0), ("A.1", "23", 8.0), ("A.1", "22", 6.0), ("A.1", "24", -1.0)],
        *[("A.2", "31", 12.0), ("A.2", "33", 6.0), ("A.2", "32", 3.0)],
        *[("A.3", "51", 10.0), ("A.3", "52", 5.0), ("A.3", "53", -2.0)],
    ]
    assert "no documents for A.4 A.5: they have no duplicates" in output.err


def test_related_questions_are_followed_if_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    baseline("linked-posts", "--related", *LINKS)

    lines = rows(capsys.readouterr().out)
    assert [docno for topic, docno, *_ in lines if topic == "A.2"] == ["31", "41", "33", "32", "42"]


def test_links_of_a_build_and_threads_of_topics_are_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "collection").mkdir()
    (tmp_path / "private").mkdir()
    (tmp_path / "collection" / "posts.jsonl").write_bytes(Path(COLLECTION).read_bytes())
    (tmp_path / "private" / "links.tsv").write_bytes(samples.path("links.tsv").read_bytes())
    (tmp_path / "topics.jsonl").write_text('{"code": "A.1", "title": "a", "thread": "901"}\n')

    baseline("linked-posts", "--topics", str(tmp_path / "topics.jsonl"), collection=str(tmp_path))

    assert [docno for _, docno, *_ in rows(capsys.readouterr().out)] == ["21", "23", "22", "24"]


def tangent(*options: str, protocol: str = "arqmath-2021-task2", topics: str = "formula-topics.xml") -> int:
    files = [
        *("--topics", str(samples.path(topics)), "--formulas", str(samples.path("formulas-slt.tsv"))),
        *("--topic-formulas", str(samples.path("topic-formulas-slt.tsv")), "--processes", "1"),
    ]
    return main(["baseline", "tangent-s", "--protocol", protocol, *files, *options])


def test_tangent_s_ranks_formulas_with_their_posts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, topics = tmp_path / "run.tsv", str(samples.path("formula-topics.xml"))

    status = tangent("--output", str(path))

    assert status == 0
    assert "without OPT" in capsys.readouterr().err
    lines = rows(path.read_text())
    assert [line[:4] for line in lines if line[0] == "B.1"][:2] == [
        ["B.1", "2401", "24", "1"],
        ["B.1", "2101", "21", "2"],
    ]
    formulas = str(samples.path("formulas-latex.tsv"))
    check = ["check", "--protocol", "arqmath-2021-task2", "--topics", topics, "--formulas", formulas]
    assert main([*check, str(path)]) == 0


def test_operator_trees_take_part_if_index_and_topics_have_them(capsys: pytest.CaptureFixture[str]) -> None:
    tangent()
    without = {line[1]: float(line[4]) for line in rows(capsys.readouterr().out)}
    options = ["--formulas", str(samples.path("formulas-opt.tsv"))]
    options += ["--topic-formulas", str(samples.path("topic-formulas-opt.tsv"))]

    status = tangent(*options)

    output = capsys.readouterr()
    scores = {line[1]: float(line[4]) for line in rows(output.out)}
    assert status == 0
    assert "without OPT:" not in output.err
    # The OPT of formula 2401 has 7 symbols, of which all but one number match that of the topic exactly.
    assert scores["2401"] - without["2401"] == pytest.approx(0.9657 - 0.0153 - 0.3301 * 6 / 7)
    assert set(without) < set(scores)


def test_tangent_s_ranks_answers_where_the_protocol_retrieves_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = tangent(protocol=TASK1, topics="topics.xml")

    output = capsys.readouterr()
    assert status == 0
    assert [line[:3] for line in rows(output.out)][:2] == [["A.1", "23", "1"], ["A.1", "51", "2"]]
    assert "no documents for A.3 A.4 A.5: they have no formula with a tree" in output.err


def test_pool_of_questions_limits_the_formulas_to_those_of_its_posts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = tmp_path / "pool.tsv"
    tangent()
    complete = rows(capsys.readouterr().out)
    pool.write_text("A.1\t24\t1\nA.1\t23\t2\nA.7\t21\t1\n")

    tangent("--pool", str(pool), "--candidates", "2")

    output = capsys.readouterr()
    seeded = rows(output.out)
    of_pool = [line[:3] + line[4:] for line in complete if line[0] == "B.1" and line[2] in {"23", "24"}]
    assert [line[:3] + line[4:] for line in seeded] == of_pool[:2]
    assert "no documents for B.2" in output.err


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("A.8\t24\t1\n", "no topic of the pool has the number of a topic: A.8 and B.1, B.2"),
        ("A.1\t24\t1\nC.1\t23\t1\n", "the pool has two topics with the number 1, one of them C.1"),
        ("A.1\n", "pool.tsv: line 1: expected a topic and, in column 2, a docno"),
    ],
)
def test_pool_that_fits_no_topic_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: str, complaint: str
) -> None:
    pool = tmp_path / "pool.tsv"
    pool.write_text(lines)

    assert tangent("--pool", str(pool)) == 2
    assert complaint in capsys.readouterr().err


def test_index_of_formulas_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tangent("--index", str(tmp_path / "index"))
    built = capsys.readouterr().out

    assert tangent("--index", str(tmp_path / "index"), "--candidates", "2000") == 0
    assert capsys.readouterr().out == built
    assert tangent("--index", str(tmp_path / "index"), "--candidates", "1") == 0
    assert len(rows(capsys.readouterr().out)) < len(rows(built))
    copy = tmp_path / "formulas-slt.tsv"
    copy.write_bytes(samples.path("formulas-slt.tsv").read_bytes())
    assert tangent("--index", str(tmp_path / "index"), "--formulas", str(copy)) == 2
    assert "was made with other slt" in capsys.readouterr().err


def test_fused_run_is_accepted_and_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fused.tsv"

    status = main(["fuse", "--protocol", TASK1, "--topics", TOPICS, "--output", str(path), ABACUS, LEMMA])

    assert status == 0
    assert {tag for *_, tag in rows(path.read_text())} == {"fused"}
    assert main(["check", "--protocol", TASK1, "--topics", TOPICS, str(path)]) == 0
    qrels = str(samples.path("qrels.txt"))
    assert main(["evaluate", "--protocol", TASK1, "--qrels", qrels, str(path)]) == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--method", "mnz"],
        ["--method", "rrf"],
        ["--method", "condorcet"],
        ["--method", "rbc", "--constant", "0.5"],
        ["--norm", "rank"],
        ["--norm", "z-score"],
        ["--norm", "none"],
        ["--weights", "1,3"],
        ["--depth", "2"],
        ["--tag", "ours"],
        ["--train", QRELS],
        ["--train", QRELS, "--measure", "P@5"],
        ["--train", QRELS, "--method", "segfuse"],
        ["--train", QRELS, "--method", "segfuse", "--norm", "max"],
        ["--train", QRELS, "--method", "slidefuse", "--constant", "2"],
    ],
)
def test_option_of_fusion_has_an_effect(capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    main(["fuse", "--protocol", TASK1, ABACUS, LEMMA])
    before = capsys.readouterr().out

    assert main(["fuse", "--protocol", TASK1, *options, ABACUS, LEMMA]) == 0
    assert capsys.readouterr().out != before


@pytest.mark.parametrize(
    ("method", "option", "default"), [("rrf", "--rrf-k", "60"), ("gmnz", "--constant", "1")]
)
def test_constant_of_a_method_has_an_effect(
    capsys: pytest.CaptureFixture[str], method: str, option: str, default: str
) -> None:
    arguments = ["fuse", "--protocol", TASK1, "--method", method, ABACUS, LEMMA]
    main([*arguments, option, default])
    before = capsys.readouterr().out

    main([*arguments, option, "5"])

    assert capsys.readouterr().out != before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--weights", "1,2,3"], "3 weights for 2 runs"),
        (["--weights", "1,-2"], "not a list of numbers above 0"),
        (["--method", "mnz", "--norm", "z-score"], "CombMNZ cannot use z-scores"),
        (["--depth", "1001"], "at most 1,000 documents per topic"),
        (["--tag", "my run"], "without white space"),
        (["--topics", "{codes}"], "topic A.2 is not in the topics"),
        (["--protocol", "bolt-ir-p3"], "cite passages of posts"),
        (["--method", "posfuse"], "PosFuse is trained; give qrels"),
        (["--method", "isr", "--train", QRELS], "isr has nothing to learn from qrels"),
        (["--train", QRELS, "--measure", "nDGC"], "there is no measure 'nDGC'"),
        (["--train", QRELS, "--measure", "alpha_nDCG@5"], "the qrels have no subtopics"),
        (["--protocol", "arqmath-2020-task2", "--train", QRELS], "grade distinct formulas"),
    ],
)
def test_fusion_that_is_not_possible_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (tmp_path / "codes.txt").write_text("A.1\n")
    words = [word.format(codes=tmp_path / "codes.txt") for word in arguments]

    try:
        status = main(["fuse", "--protocol", TASK1, *words, ABACUS, LEMMA])
    except SystemExit as ended:
        status = int(ended.code or 0)

    output = capsys.readouterr()
    assert (status, output.out) == (2, "")
    assert message in output.err


def test_tables_compare_the_best_run_with_the_run_of_a_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline("bm25", "--output", str(tmp_path / "bm25.tsv"))
    manifest = [f"{LEMMA},Lemma,lemma,primary", f"{tmp_path / 'bm25.tsv'},Organizers,bm25,baseline"]
    (tmp_path / "manifest.csv").write_text("\n".join(["file,team,tag,kind", *manifest]) + "\n")
    (tmp_path / "tracks.toml").write_text(
        f"""[[track]]
name = "Answers"
protocol = "{TASK1}"
runs = "manifest.csv"
topics = "{TOPICS}"
qrels = "{samples.path("qrels.txt")}"
"""
    )
    capsys.readouterr()

    gains = ["tables", "--table", "gains", "--measure", "nDCG'"]
    status = main([*gains, str(tmp_path / "tracks.toml")])

    *_, row = rows(capsys.readouterr().out)
    assert status == 0
    assert row[:2] == ["nDCG'", "bm25"]
    assert row[3] == "Lemma: lemma"
    assert float(row[5]) == pytest.approx(100 * (float(row[4]) / float(row[2]) - 1), abs=0.05)
    manual = [f"{line},{made}" for line, made in zip(manifest, ("automatic", "manual"), strict=True)]
    (tmp_path / "manifest.csv").write_text("\n".join(["file,team,tag,kind,made", *manual]) + "\n")
    assert main([*gains, "--baselines", "automatic", str(tmp_path / "tracks.toml")]) == 2
    assert "there is no table 'gains'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("bm25", ["--protocol", "arqmath-2021-task2"], "retrieves visually-distinct-formula units"),
        ("bm25", ["--protocol", "bolt-ir-p3"], "cite passages of posts"),
        ("bm25", ["--topics", "{codes}"], "A topic file contains"),
        ("bm25", ["--collection", "{codes}"], "codes.txt is neither XML"),
        ("bm25", ["--collection", "{documents}"], "no documents of the kind that the protocol retrieves"),
        ("bm25", ["--index", "{folder}"], "has files but no complete index"),
        ("bm25", ["--b", "1.5"], "not a number from 0 to 1"),
        ("bm25", ["--k1", "-1"], "not a number from 0 to 1000"),
        ("bm25", ["--depth", "1001"], "at most 1,000 documents per topic"),
        ("linked-posts", [], "no links.tsv"),
        (
            "linked-posts",
            ["--links", "{codes}"],
            "line 1: expected question, linked question and duplicate or",
        ),
        ("linked-posts", LINKS[:2], "the question of A.1, A.2, A.3, A.4, A.5 is not known"),
        ("linked-posts", [*LINKS, "--protocol", "trec-adhoc"], "linked posts are answers"),
    ],
)
def test_baseline_that_is_not_possible_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, options: list[str], message: str
) -> None:
    codes, documents = tmp_path / "codes.txt", tmp_path / "documents.jsonl"
    codes.write_text("A.1\n")
    documents.write_text('{"docno": "1", "text": "a"}\n')
    words = [word.format(codes=codes, documents=documents, folder=tmp_path) for word in options]

    try:
        status = baseline(name, *words)
    except SystemExit as ended:
        status = int(ended.code or 0)

    output = capsys.readouterr()
    assert (status, output.out) == (2, "")
    assert message in output.err.replace(f"{COLLECTION}/private/", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--protocol", "bolt-ir-p3"], "cite passages of posts"),
        (["--topic-formulas", "{latex}"], "Content MathML; LaTeX has no trees"),
        (["--formulas", "{run}"], "run.tsv"),
        (["--candidates", "0"], "not a whole number"),
    ],
)
def test_tangent_s_that_is_not_possible_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    (tmp_path / "run.tsv").write_text("A.1\t11\t1\t3.0\tabacus\n")
    (tmp_path / "latex.tsv").write_bytes(samples.path("formulas-latex.tsv").read_bytes())
    files = {"run": tmp_path / "run.tsv", "latex": tmp_path / "latex.tsv"}
    words = [word.format(**files) for word in options]
    arguments = ["--topics", str(samples.path("formula-topics.xml"))]
    given = {"--formulas": "formulas-slt.tsv", "--topic-formulas": "topic-formulas-slt.tsv"}
    arguments += [
        word for name, file in given.items() if name not in words for word in (name, str(samples.path(file)))
    ]

    try:
        status = main(["baseline", "tangent-s", "--protocol", "arqmath-2021-task2", *arguments, *words])
    except SystemExit as ended:
        status = int(ended.code or 0)

    output = capsys.readouterr()
    assert (status, output.out) == (2, "")
    assert message in output.err


@pytest.mark.parametrize(
    "options", [["--tokenizer", "words"], ["--collection", "{other}"]], ids=["tokenizer", "files"]
)
def test_index_of_something_else_is_not_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    other = tmp_path / "other.jsonl"
    other.write_bytes(Path(COLLECTION).read_bytes())
    baseline("bm25", "--index", str(tmp_path / "index"))

    status = baseline(
        "bm25", "--index", str(tmp_path / "index"), *[word.format(other=other) for word in options]
    )

    assert status == 2
    assert "was made with other" in capsys.readouterr().err


def test_folder_into_which_formulas_were_converted_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = {}
    for name in ("formulas-latex.tsv", "formula-topics.xml"):
        folders[name] = tmp_path / name
        convert = ["collection", "convert", str(samples.path(name)), "--output", str(folders[name])]
        assert main([*convert, "--converter", "latex2mathml", "--quiet"]) == 0
    options = ["--formulas", str(folders["formulas-latex.tsv"])]
    options += ["--topic-formulas", str(folders["formula-topics.xml"]), "--processes", "1"]
    topics = ["--topics", str(samples.path("formula-topics.xml"))]

    assert main(["baseline", "tangent-s", "--protocol", "arqmath-2021-task2", *topics, *options]) == 0

    assert rows(capsys.readouterr().out)
