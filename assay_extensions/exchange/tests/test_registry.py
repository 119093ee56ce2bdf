"""Test collections in the forms of other tools: written, read again, and refused with file and line."""

import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from assay.cli.main import main
from assay.errors import BadFile, InputError
from assay.formats.qrels.columns import columns_from
from assay_extensions.exchange import cards
from assay_extensions.exchange.content import Document, Folder, TestCollection, Topic, Zipped
from assay_extensions.exchange.qrels import rows_of
from assay_extensions.exchange.registry import FORMS, Add, read

DOCUMENTS = [
    Document("d1", "Owls", "Owls sing\tat “night”; $a<b$."),
    Document("d2", "", "Only a text"),
    Document("ü3", "Only a title", ""),
]
TOPICS = [Topic("T.1", "owls at night", "Which owls sing?", "Relevant is …"), Topic("T.2", "harbor")]
QRELS = {
    "train": columns_from([(b"T.2", b"d2", 0), (b"T.2", b"d1", 2)]),
    "test": columns_from([(b"T.1", b"d1", 1), (b"T.1", "ü3".encode(), -1)]),
}
OWLS = TestCollection(
    "owls",
    TOPICS,
    QRELS,
    lambda: iter(DOCUMENTS),
    title="Owls: a set",
    license="CC BY-SA 4.0",
    url="https://a.example",
)


def adding(folder: Path) -> Add:
    """Writes files into a folder."""

    def add(name: str, pieces: Iterable[bytes]) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(pieces))

    return add


def written(form: str, folder: Path) -> Path:
    FORMS[form].write(OWLS, adding(folder))
    return folder


def zipped(folder: Path, top: str = "") -> BytesIO:
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, top + path.relative_to(folder).as_posix())
    return file


@pytest.mark.parametrize("form", FORMS)
def test_collection_is_read_as_it_was_written(form: str, tmp_path: Path) -> None:
    folder = written(form, tmp_path / "owls")

    for source in (
        Folder(folder),
        Zipped(zipped(folder), "owls.zip"),
        Zipped(zipped(folder, "a/"), "owls.zip"),
    ):
        again = read(source)

        assert again.name == "owls"
        assert list(again.topics) == TOPICS
        assert list(again.documents()) == DOCUMENTS
        rows = {split: list(rows_of(columns)) for split, columns in again.qrels.items()}
        assert rows == {split: list(rows_of(columns)) for split, columns in QRELS.items()}


@pytest.mark.parametrize("form", FORMS)
def test_qrels_of_topics_and_documents_outside_the_collection_are_left_out(form: str, tmp_path: Path) -> None:
    rows = [(b"T.2", b"d1", 2), (b"T.2", b"d9", 1), (b"T.9", b"d1", 1)]
    collection = replace(OWLS, qrels={"test": columns_from(rows)})

    counts = FORMS[form].write(collection, adding(tmp_path))

    assert list(rows_of(read(Folder(tmp_path)).qrels["test"])) == [("T.2", "d1", 2)]
    assert (counts["qrels line"], counts["left-out line"]) == (1, 2)
    assert "2 lines of the qrels left out" in (tmp_path / "README.md").read_text()


def test_files_are_those_that_the_tools_read(tmp_path: Path) -> None:
    beir, catalog = written("beir", tmp_path / "b"), written("ir-datasets", tmp_path / "i")

    assert json.loads((beir / "corpus.jsonl").read_text().splitlines()[0])["_id"] == "d1"
    assert json.loads((beir / "queries.jsonl").read_text().splitlines()[1])["text"] == "harbor"
    assert (beir / "qrels/train.tsv").read_text() == "query-id\tcorpus-id\tscore\nT.2\td1\t2\nT.2\td2\t0\n"
    files = json.loads((catalog / "owls.json").read_text())["files"]
    assert {key: file["count"] for key, file in files.items()} == {
        "docs": 3, "queries": 2, "qrels/train": 2, "qrels/test": 1,
    }  # fmt: skip
    assert files["qrels/train"]["grades"] == [0, 2]
    compile((catalog / "owls.py").read_text(), "owls.py", "exec")
    assert 'ir_datasets.load("owls/train")' in (catalog / "owls.py").read_text()


def test_card_names_license_files_and_what_is_left_out(tmp_path: Path) -> None:
    card = (written("hugging-face", tmp_path / "h") / "README.md").read_text()

    assert card.startswith('---\npretty_name: "Owls: a set"\nlicense: cc-by-sa-4.0\n')
    assert "  - split: train\n    path: qrels/train.parquet\n" in card
    assert "Left out: 1 document that the pool has, without a grade" in card
    assert "- Home page: https://a.example" in card


@pytest.mark.parametrize(
    ("words", "known"),
    [
        ("https://creativecommons.org/licenses/by/4.0/", "cc-by-4.0"),
        ("CC BY-NC-SA 3.0", "cc-by-nc-sa-3.0"),
        ("MIT", "mit"),
        ("https://www.apache.org/licenses/LICENSE-2.0", "apache-2.0"),
        ("ask us", "other"),
    ],
)
def test_license_gets_the_id_of_the_hub(words: str, known: str) -> None:
    assert cards.license_id(words) == known


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("corpus.jsonl", '{"_id": "d1"}\n{"title": "x"}\n', "corpus.jsonl, line 2: _id is missing"),
        (
            "corpus.jsonl",
            '{"_id": "d 1"}\n',
            "corpus.jsonl, line 1: _id 'd 1' is not a text without white space",
        ),
        ("corpus.jsonl", '{"_id": "d1", "text": 4}\n', "corpus.jsonl, line 1: text is not a text"),
        ("queries.jsonl", '{"_id": "T.1"\n', "queries.jsonl, line 1: not a JSON object in UTF-8"),
        ("queries.jsonl", '{"_id": 1}\n\n{"_id": "1"}\n', "queries.jsonl, line 3: topic 1 is already in"),
        ("queries.jsonl", "\n", "has no topics"),
        ("queries.jsonl", '{"_id": "other"}\n', "no topic of the qrels test is among its topics"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nT.1\td1\tx\n", "qrels/test.tsv: line 2: grade 'x'"),
    ],
)
def test_error_is_named_with_file_and_line(name: str, content: str, message: str, tmp_path: Path) -> None:
    folder = written("beir", tmp_path)
    (folder / name).write_text(content)

    with pytest.raises(BadFile, match=message.replace("'", ".")):
        list(read(Folder(folder)).documents())


def test_other_folder_zip_and_parquet_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"is no test collection: it needs documents.jsonl and topics.jsonl"):
        read(Folder(tmp_path))
    with pytest.raises(BadFile):
        Zipped(BytesIO(b"PK\x03\x04 no zip"), "x.zip")
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        archive.writestr("documents.jsonl", "{}" * 999)
    data = bytearray(packed.getvalue())
    data[30 + len("documents.jsonl")] = 0xFF  # the first byte of the content: a block of no known type
    damaged = Zipped(BytesIO(data), "x.zip")
    with (
        pytest.raises(BadFile, match=r"documents.jsonl is damaged"),
        damaged.opened("documents.jsonl") as file,
    ):
        file.read()
    whole = Zipped(BytesIO(packed.getvalue()), "x.zip")
    with pytest.raises(NotImplementedError, match="ours"), whole.opened("documents.jsonl"):
        raise NotImplementedError("ours")
    folder = written("hugging-face", tmp_path / "h")
    (folder / "queries/queries.parquet").write_bytes(b"PAR1 not parquet")
    with pytest.raises(BadFile, match=r"queries/queries.parquet is not a parquet file"):
        read(Folder(folder))


def test_missing_pyarrow_is_named_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(InputError, match=r'pip install "assay\[parquet\]"'):
        written("hugging-face", tmp_path)


def test_command_turns_real_files_into_any_form_and_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: Path
) -> None:
    posts = data / "stackexchange/conlang_meta/Posts.xml"
    topics = data / "arqmath/topics/topics.arqmath-2021-task1-origin.xml"
    qrels = data / "arqmath/qrels/qrels.arqmath-2021-task1-official.txt"
    single = ["--documents", str(posts), "--topics", str(topics), "--qrels", f"2021={qrels}", "--name", "m"]
    export = ["collection", "export"]

    assert main([*export, *single, "--to", "beir", "--output", str(tmp_path / "a.zip")]) == 0
    for before, form, after in (
        ("a.zip", "hugging-face", "b"),
        ("b", "ir-datasets", "c"),
        ("c", "beir", "m"),
    ):
        arguments = [*export, str(tmp_path / before), "--to", form, "--output", str(tmp_path / after)]
        assert main([*arguments, "--quiet"]) == 0

    assert "169 documents, 100 topics, 8 qrels lines, 31,780 left-out lines" in capsys.readouterr().err
    with (tmp_path / "a.zip").open("rb") as archive:
        again = Zipped(archive, "a.zip")
        for name in ("corpus.jsonl", "queries.jsonl", "qrels/2021.tsv"):
            with again.opened(name) as file:
                assert file.read() == (tmp_path / "m" / name).read_bytes()


def test_command_refuses_what_it_cannot_do_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = written("beir", tmp_path / "owls")
    (source / "corpus.jsonl").write_text("no JSON\n")
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    export = ["collection", "export", "--to", "assay", "--output", str(tmp_path / "out")]

    for arguments, message in (
        ([str(source)], "corpus.jsonl, line 1: not a JSON object"),
        ([], "name a SOURCE, or --documents and --topics"),
        (["ir_datasets:vaswani"], "pip install ir_datasets"),
        ([str(tmp_path / "missing.zip")], "No such file"),
        ([str(source), "--name", "a/b"], "cannot be the name of a file"),
    ):
        assert main([*export, *arguments]) == 2
        assert message in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["owls"]
