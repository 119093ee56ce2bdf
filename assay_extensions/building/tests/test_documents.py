"""Documents of other sources go through the same cut, removal of duplicates and publication."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay import samples
from assay_extensions.building.build import build
from assay_extensions.building.settings import NotBuilt, Period, Settings
from assay_extensions.building.shingles import share, shingles, words
from tests.helpers.dumps import write

SAMPLES = Path(samples.__file__).parent
ALL = Settings()


def built(
    source: Path, folder: Path, settings: Settings = ALL
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The manifest and the documents of a build."""
    manifest = build(source, folder, settings, processes=0)
    return manifest, [
        json.loads(line) for line in (folder / "collection/posts.jsonl").read_text().splitlines()
    ]


@pytest.mark.parametrize("name", ["documents.jsonl", "trec-documents.txt", "bolt-threads.xml"])
def test_published_documents_are_a_source_with_the_same_documents(tmp_path: Path, name: str) -> None:
    _, documents = built(SAMPLES / name, tmp_path / "built")

    _, again = built(tmp_path / "built/collection/posts.jsonl", tmp_path / "again")

    assert again == documents
    assert documents


def test_threads_of_json_lines_have_pages_and_numbered_formulas(tmp_path: Path) -> None:
    manifest, documents = built(SAMPLES / "documents.jsonl", tmp_path / "built")

    page = (tmp_path / "built/html/10_2021/10_03/10.html").read_text()
    assert manifest["after"] == {"answers": 21, "questions": 8, "comments": 1}
    assert '<span class="math-container" id="1">p</span>' in documents[0]["body"]
    assert '<span class="math-container" id="1">p</span>' in page
    assert page.count('<article class="answer"') == sum(each.get("thread") == "10" for each in documents)
    assert not (tmp_path / "built/collection/Posts.xml").exists()


def lines(*rows: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(each)}\n" for each in rows)


def test_documents_are_cut_by_their_date(tmp_path: Path) -> None:
    rows = lines(
        {"docno": "a", "text": "Old", "published": "2017-05-01"},
        {"docno": "b", "text": "In time", "published": "2018-05-01T12:00:00+02:00"},
        {"docno": "c", "text": "Later with $x$", "published": "2019-05-01"},
        {"docno": "d", "text": "Undated"},
    )
    source = write(tmp_path, "documents.jsonl", rows)
    settings = Settings(collection=Period("2018-01-01", "2019-01-01"), topics=Period("2019-01-01"))

    manifest, documents = built(source, tmp_path / "built", settings)

    candidates = (tmp_path / "built/private/candidates.jsonl").read_text().splitlines()
    assert [(each["docno"], each["published"]) for each in documents] == [("b", "2018-05-01T10:00:00")]
    assert manifest["cut"] == {"documents outside of the period": 1, "documents without a date": 1}
    assert [json.loads(line)["id"] for line in candidates] == ["c"]


def test_dates_of_a_table_are_in_its_column_published(tmp_path: Path) -> None:
    table = "docno\ttext\tpublished\nt1\tOne\t2018-01-01\nt2\tTwo\t2019-01-01\n"
    settings = Settings(collection=Period("", "2019-01-01"))

    _, documents = built(write(tmp_path, "table.tsv", table), tmp_path / "built", settings)

    assert [each["docno"] for each in documents] == ["t1"]


def test_dollars_of_documents_are_no_formulas(tmp_path: Path) -> None:
    manifest, documents = built(SAMPLES / "trec-documents.txt", tmp_path / "built")

    assert manifest["formulas"]["all"] == 0
    assert '<span class="dollar">$</span>40 a month' in documents[0]["body"]


def test_folder_of_html_and_text_is_one_document_per_file(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    (folder / "more").mkdir(parents=True)
    write(
        folder,
        "owls.html",
        "<html><head><title>Owls &amp; cranes</title></head><body><p>A<script>x()</script></p></body></html>",
    )
    write(folder / "more", "notes.txt", "First line.\n\nSecond & last.")
    write(folder, "latin.txt", b"\xe9t\xe9")
    write(folder, "math.xhtml", '<html><body><p>So <math alttext="x^2"><mi>x</mi></math>.</p></body></html>')

    manifest, documents = built(folder, tmp_path / "built")

    assert [(each["docno"], each.get("title"), each["body"]) for each in documents] == [
        ("latin", None, "<p>été</p>"),
        ("math", None, '<p>So <span class="math-container" id="1">x^2</span>.</p>'),
        ("notes", None, "<p>First line.</p>\n<p>Second &amp; last.</p>"),
        ("owls", "Owls & cranes", "<p>A</p>"),
    ]
    assert (manifest["skipped"], manifest["before"]["read as Windows-1252"]) == ({}, 1)
    assert (tmp_path / "built/html/owls.html").is_file()


BASE = (
    "the quick brown fox jumps over the lazy dog while seven wizards boil a large black kettle of tea at noon"
)


def test_exact_and_near_duplicates_are_left_out(tmp_path: Path) -> None:
    rows = lines(
        {"docno": "a", "text": BASE},
        {"docno": "b", "text": BASE.replace("noon", "night")},
        {"docno": "c", "text": f"  {BASE.upper()}!"},
        {
            "docno": "d",
            "text": "An entirely different text about the tides of the northern seas and their moons",
        },
        {"docno": "e", "text": "..."},
        {"docno": "f", "text": "---"},
    )
    source = write(tmp_path, "documents.jsonl", rows)

    kept = {
        kind: [each["docno"] for each in built(source, tmp_path / kind, Settings(duplicates=kind))[1]]
        for kind in ("keep", "exact", "near")
    }

    assert kept == {"keep": list("abcdef"), "exact": list("abdef"), "near": list("adef")}
    assert (tmp_path / "near/private/duplicates.tsv").read_text().splitlines() == [
        "docno\tkept\toverlap", "b\ta\t0.9474", "c\ta\t1.0",
    ]  # fmt: skip


def test_overlap_decides_which_documents_are_near_duplicates(tmp_path: Path) -> None:
    rows = lines({"docno": "a", "text": BASE}, {"docno": "b", "text": BASE.replace("noon", "night")})
    source = write(tmp_path, "documents.jsonl", rows)

    _, documents = built(source, tmp_path / "built", Settings(duplicates="near", overlap=0.95))

    assert [each["docno"] for each in documents] == ["a", "b"]


def test_near_duplicates_are_those_of_all_pairs(tmp_path: Path) -> None:
    texts = [" ".join(f"w{(n * 7 + k) % 97 if k % 11 else n % 3}" for k in range(60)) for n in range(120)]
    source = write(
        tmp_path, "d.jsonl", lines(*({"docno": f"{n}", "text": text} for n, text in enumerate(texts)))
    )
    sets = [shingles(words(text)) for text in texts]

    _, documents = built(source, tmp_path / "built", Settings(duplicates="near"))

    kept = [int(each["docno"]) for each in documents]
    assert all(share(sets[a], sets[b]) < 0.8 for a in kept for b in kept if a < b)
    assert all(any(share(sets[n], sets[k]) >= 0.8 for k in kept) for n in range(120) if n not in kept)
    assert 0 < len(kept) < 120


def test_source_without_documents_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "other.xml", "<?xml version='1.0'?><feed></feed>")

    with pytest.raises(NotBuilt, match="no posts of a dump and no documents"):
        build(tmp_path / "other.xml", tmp_path / "built", Settings(), processes=0)
