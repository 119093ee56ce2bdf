"""Files of a build: those that an import reads, pages for people, and formulas of real posts."""

import csv
import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from assay import samples
from assay.formats.documents import index_rows, jsonl, stackexchange
from assay.formats.documents.dump import Reader
from assay_extensions.building.build import build
from assay_extensions.building.settings import Period, Settings
from tests.helpers.dumps import answer, dump, plain_rows, question, row, write

SETTINGS = Settings(collection=Period("", "2019-01-01"), topics=Period("2019-01-01"))
SPAN = re.compile(r'<span class="math-container" id="(\d+)">([^<]*)</span>')


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build of the sample dump."""
    folder = tmp_path_factory.mktemp("built") / "built"
    build(samples.path("dump/Posts.xml").parent, folder, SETTINGS, processes=0)
    return folder


def converted(path: Path) -> Any:
    """The batch of an import."""
    with path.open("rb") as file:
        reader = Reader(file, path.name)
        data = b"".join(chunk.data for chunk in reader)
    return (
        jsonl.convert(data) if reader.form.name == "jsonl" else stackexchange.convert(data, reader.form.name)
    )


def test_import_reads_the_published_files_without_skipping_a_row(folder: Path) -> None:
    lines = converted(folder / "collection/posts.jsonl")
    files = {path.stem: converted(path) for path in sorted((folder / "collection").glob("*.xml"))}

    assert lines.counts == files["Posts"].counts == Counter(questions=3, answers=3)
    assert len(lines.lines["comment"]) == len(files["Comments"].lines["comment"]) == 2
    assert not lines.skipped
    assert not any(batch.skipped for batch in files.values())


def test_every_formula_of_the_index_is_in_the_imported_post(folder: Path) -> None:
    lines = converted(folder / "collection/posts.jsonl").lines
    texts = "".join([*lines["document"].values(), *lines["comment"].values()])
    imported = re.findall(r'data-formula-id="(\d+)"[^>]*>', texts)

    index = [row for n in range(1, 16) for row in index_of(folder / f"formulas/latex/{n}.tsv")]

    assert sorted(map(int, imported)) == [int(each["id"]) for each in index] == list(range(1, 16))


def index_of(path: Path) -> list[dict[str, str]]:
    """The rows of a file of an index."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_index_is_imported_as_version_3(folder: Path) -> None:
    with (folder / "formulas/latex/4.tsv").open("rb") as file:
        reader = Reader(file, "4.tsv")
        (chunk,) = reader

    packed = index_rows.convert(chunk.data, reader.form.name)

    assert reader.form.name == "formulas-latex-v3"
    assert not packed.skipped
    assert sum(packed.counts.values()) == 1


def test_page_has_the_whole_thread(folder: Path) -> None:
    page = html.parse(folder / "html/1_2017/1_03/1.html").getroot()

    assert page.get_element_by_id("title").text_content() == r"Why is \sqrt{2} irrational?"
    assert [article.get("id") for article in page.iter("article")] == ["question-1", "answer-2"]
    about = page.find_class("about")[0].text_content()
    assert about == "Score 14 · number-theory, proof-writing · Ada (user 1, reputation 310) · 2017-03-02"
    assert [each.text_content() for each in page.find_class("related")[1].iter("a")] == ["[4]"]
    comment = page.get_element_by_id("comment-1").text_content()
    assert comment == "Which proof did you read? `$x$` is code, a<b is not. Score 2 · Noor · 2017-03-02"
    assert "user17" in page.get_element_by_id("comment-2").text_content()
    assert [span.get("id") for span in page.find_class("math-container")][:3] == ["1", "2", "3"]


def test_links_between_pages_lead_to_pages(folder: Path) -> None:
    pages = list((folder / "html").rglob("*.html"))

    hrefs = [
        path.parent / href
        for path in pages
        for href in html.parse(path).getroot().xpath("//section[@class='related']//a/@href")
    ]

    assert len(hrefs) == 2
    assert all(href.resolve() in {path.resolve() for path in pages} for href in hrefs)


def test_page_of_a_hostile_post_has_no_script(tmp_path: Path) -> None:
    body = '<p onclick="x()">a<script>alert(1)</script><a href="javascript:x()">b</a><iframe src="//e"></iframe></p>'
    posts = [
        question(
            1,
            Title="<script>alert(2)</script> & $a<b$",
            Body=body,
            OwnerDisplayName="<img src=x onerror=y()>",
        ),
        answer("2", 1, Body='<style>*{}</style><img src="x" onerror="y()"><form><input></form>'),
        question(3, Title='T <span class="math-container" style="top:0" onclick="x()"></span>'),
    ]
    write(tmp_path, "Posts.xml", dump("posts", *posts))
    write(
        tmp_path,
        "Comments.xml",
        dump("comments", row(Id=1, PostId=1, Text="<b onload=y()>", CreationDate="2019-01-01T00:00:00")),
    )

    build(tmp_path, tmp_path / "built", Settings(), processes=0)

    page = (tmp_path / "built/html/1_2019/1_01/1.html").read_text()
    root = html.fromstring(page)
    assert not {"script", "iframe", "form", "input"} & {element.tag for element in root.iter()}
    assert not [name for element in root.iter() for name in element.attrib if name.startswith("on")]
    assert not [href for href in root.xpath("//@href") if "javascript" in href]
    assert root.get_element_by_id("title").text_content() == "<script>alert(2)</script> & a<b"
    assert "default-src 'none'" in page
    # an empty formula keeps its tag when formulas are marked, so it is text here
    assert (
        '<span class="math-container" style' not in (tmp_path / "built/html/1_2019/1_01/3.html").read_text()
    )


def test_sums_of_pages_are_those_of_the_files(folder: Path) -> None:
    lines = [line.split("  ") for line in (folder / "html/SHA256SUMS").read_text().splitlines()]

    assert sorted(name for _, name in lines) == sorted(
        path.relative_to(folder / "html").as_posix() for path in (folder / "html").rglob("*.html")
    )
    for digest, name in lines:
        assert hashlib.sha256((folder / "html" / name).read_bytes()).hexdigest() == digest


def test_formulas_of_200_real_threads_are_in_the_index_and_in_their_posts(data: Path, tmp_path: Path) -> None:
    threads = [
        json.loads(line)
        for path in sorted((data / "stackexchange" / "math_threads").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    posts, comments = [], []
    for thread in threads:
        head = thread["question"]
        is_other = thread["site"] == "mathoverflow.net"  # the ids of the two sites are apart
        shift = 10**9 if is_other else 0
        posts.append(
            question(
                head["id"] + shift,
                Title=head["title"],
                Body=head["body_html"],
                CreationDate=head["creation_date"],
            )
        )
        posts += [
            answer(
                each["id"] + shift,
                head["id"] + shift,
                Body=each["body_html"],
                CreationDate=each["creation_date"],
            )
            for each in thread["answers"]
        ]
        groups = [thread["comments"]["question"], *thread["comments"].get("answers", {}).values()]
        comments += [
            row(
                Id=each["id"] + shift,
                PostId=each["post_id"] + shift,
                Text=each["text"],
                CreationDate=each["creation_date"],
            )
            for group in groups
            for each in group
        ]
    write(tmp_path, "Posts.xml", dump("posts", *posts))
    write(tmp_path, "Comments.xml", dump("comments", *comments))

    manifest = build(tmp_path, tmp_path / "built", Settings(has_pages=False), processes=0)

    formulas = manifest["formulas"]
    rows = [each for path in (tmp_path / "built/formulas/latex").iterdir() for each in index_of(path)]
    kept = plain_rows(tmp_path / "built/collection/Posts.xml") + plain_rows(
        tmp_path / "built/collection/Comments.xml"
    )
    spans = {
        number: latex
        for post in kept
        for name in ("Title", "Body", "Text")
        for number, latex in SPAN.findall(post.get(name, ""))
    }
    assert (formulas["title"], formulas["question"] + formulas["answer"]) == (
        34,
        5555,
    )  # as the extraction counts them
    assert formulas["lost"] == 0
    assert len(rows) == len(spans) == formulas["all"]
    for each in rows:
        latex = spans[each["id"]].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        assert " ".join(latex.split()) == " ".join(each["formula"].split())
