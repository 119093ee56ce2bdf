"""The sample files: names, form, and how they agree with each other."""

import gzip
import json

import pytest

from assay import samples
from tests.samples.conftest import lines_of

MAX_BYTES = 120_000


def test_names_lists_every_file_of_the_folder() -> None:
    folder = samples.path("qrels.txt").parent

    files = {file.relative_to(folder).as_posix() for file in folder.rglob("*.*") if file.suffix != ".pyc"}

    assert set(samples.names()) == files - {"__init__.py", "README.md"}
    assert all(samples.path(name).is_file() for name in samples.names())


def test_an_unknown_name_is_refused_with_the_available_names() -> None:
    with pytest.raises(FileNotFoundError, match=r"'qrel.txt'; use one of .*\bqrels\.txt\b"):
        samples.path("qrel.txt")


def test_the_readme_lists_every_file() -> None:
    readme = (samples.path("qrels.txt").parent / "README.md").read_text(encoding="utf-8")

    missing = [name for name in samples.names() if f"`{name}`" not in readme]

    assert missing == []


def test_the_samples_stay_small() -> None:
    assert sum(samples.path(name).stat().st_size for name in samples.names()) < MAX_BYTES


def test_text_files_are_utf8_and_end_with_one_line_feed() -> None:
    for name in samples.names():
        if not name.endswith((".gz", ".zip")):
            data = samples.path(name).read_bytes()
            assert data.decode().rstrip("\n") + "\n" == data.decode(), name
            assert b"\r" not in data or name.startswith("turkle-project/"), name  # as Turkle writes them


def test_the_compressed_run_has_no_time_and_no_name() -> None:
    data = samples.path("runs/baseline.tsv.gz").read_bytes()

    assert data[3:8] == bytes(5)
    assert gzip.decompress(data).startswith(b"A.1\t33\t1\t")


def test_both_forms_of_the_abacus_run_have_the_same_rows() -> None:
    trec = [[topic, docno, *rest] for topic, _, docno, *rest in lines_of("runs/abacus-trec.txt")]

    assert trec == lines_of("runs/abacus.tsv")


def test_all_forms_of_the_topics_have_the_same_codes() -> None:
    codes = [word for (word,) in lines_of("topics.txt")]
    text = samples.path("topics.jsonl").read_text(encoding="utf-8")
    topics = [json.loads(line) for line in text.splitlines()]
    labels = samples.path("labels.csv").read_text(encoding="utf-8").splitlines()[1:]

    assert [topic["code"] for topic in topics] == codes
    assert [",".join((topic["code"], *topic["labels"].values())) for topic in topics] == labels


def test_every_formula_of_a_document_is_in_each_index() -> None:
    text = samples.path("documents.jsonl").read_text(encoding="utf-8")

    for form in ("latex", "slt", "opt"):
        lines = samples.path(f"formulas-{form}.tsv").read_text(encoding="utf-8").splitlines()[1:]
        in_posts = [line.split("\t") for line in lines if "\tcomment\t" not in line]
        assert len(in_posts) == text.count("math-container")
        for formula, post, *_ in in_posts:
            (document,) = (line for line in text.splitlines() if f'id=\\"{formula}\\"' in line)
            assert json.loads(document)["docno"] == post


@pytest.mark.parametrize(("assessor", "name"), [("ines", "qrels.txt"), ("marek", "qrels-marek.txt")])
def test_the_qrels_are_the_current_grades_of_an_assessor(assessor: str, name: str) -> None:
    lines = samples.path("judgments.csv").read_text(encoding="utf-8").splitlines()
    header, *rows = [line.split(",") for line in lines]
    judgments = [dict(zip(header, row, strict=True)) for row in rows]

    current = [row for row in judgments if row["assessor"] == assessor and row["is_current"] == "True"]

    grades = [[row["topic"], "0", row["docno"], row["grade"]] for row in current if row["grade"]]
    assert grades == lines_of(name)
