"""Imports of formula indexes: their rows, several indexes of one collection, repeated and killed imports."""

import gzip
import io
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError
from django.db import connection
from django.test import Client
from django.urls import reverse

from assay.errors import Refused
from assay.formats.documents.batch import AGAIN
from assay.formats.documents.index_rows import NO_TYPE, NO_WIDTH
from assay.formats.documents.indexes import HEADERS, Representation
from corpus.imports import jobs as import_jobs
from corpus.imports import recognition
from corpus.imports.services import start_import
from corpus.models import Collection, Document, Formula, FormulaMathML, Import
from jobs import services as jobs
from jobs.models import Job
from tests.corpus.imports.test_services import output_of
from tests.fixtures import Factory, wait_until
from tests.helpers.articles import tarred, zipped
from tests.helpers.dumps import answer, dump, question, row, write
from tests.helpers.factories import make_collection, make_organizer

pytestmark = pytest.mark.django_db

V1, V2, V3 = ("\t".join(header) + "\n" for header in HEADERS.values())


def empty(slug: str = "math") -> Collection:
    return make_collection(slug, status=Collection.Status.EMPTY)


def imported(
    collection: Collection, *paths: Path, representation: Representation | None = None, version: int = 0
) -> Job:
    """A finished import, done or failed."""
    sources = recognition.sources_of(paths)
    job = start_import(
        collection=collection, sources=sources, by=None, representation=representation, version=version
    )
    jobs.run(job.pk)
    job.refresh_from_db()
    collection.refresh_from_db()
    return job


def state_of(collection: Collection) -> list[dict[str, Any]]:
    """Every formula of a collection, without primary keys."""
    fields = [field.name for field in Formula._meta.fields if field.name not in {"id", "collection"}]
    return list(collection.formulas.order_by("code").values(*fields))


def mathml_of(collection: Collection) -> list[tuple[str, str, str]]:
    return list(collection.mathml.order_by("form", "code").values_list("form", "code", "content"))


def index(n: int, *, header: str = V2, first: int = 1, latex: str = "x_{%d}") -> str:
    formula = (
        f"{i}\t{i // 5}\t{i // 10}\tanswer\t{i % 1000}\t{latex % i}\n" for i in range(first, first + n)
    )
    return header + "".join(formula)


def test_real_index_has_its_known_counts(data: Path) -> None:
    collection = empty()

    job = imported(collection, data / "arqmath" / "formulas" / "formula_index_v2_sample.tsv")

    assert job.state == Job.State.DONE, job.error
    assert collection.status == Collection.Status.READY
    assert {name: n for name, n in collection.counts.items() if n} == {
        "formulas": 1000,
        "formulas in titles": 24,
        "formulas in questions": 222,
        "formulas in answers": 587,
        "formulas in comments": 167,
        "formulas as LaTeX": 1000,
        "formulas with a visual id": 1000,
        "visually distinct formulas": 760,
    }
    assert job.result["skipped"] == {}
    first = collection.formulas.get(code="14395889")
    assert (first.post, first.thread, first.place) == ("1597292", "1558734", Formula.Place.ANSWER)
    assert (first.visual, first.is_visual_given, first.latex) == ("350821", True, r"\exp(1)=e")


def test_real_topic_formulas_have_two_representations(data: Path) -> None:
    collection = empty()
    folder = data / "arqmath" / "formulas"

    job = imported(collection, folder / "2021_formulas_slt.tsv", folder / "2021_formulas_latex.tsv")

    assert job.state == Job.State.DONE, job.error
    assert collection.counts["formulas"] == 843
    assert collection.counts["formulas as LaTeX"] == collection.counts["formulas as SLT"] == 843
    assert collection.formulas.get(code="q_1").latex == r"n\times n"
    assert collection.mathml.get(code="q_1").content.startswith('<math xmlns="http://www.w3.org/1998/Math/')
    assert collection.formulas.get(code="q_1").post == "3666538"


def test_repeated_import_duplicates_nothing_and_skips_nothing(tmp_path: Path) -> None:
    collection = empty()
    path = write(tmp_path, "index.tsv", index(500))
    imported(collection, path)
    before = state_of(collection)

    again = imported(collection, path)

    assert state_of(collection) == before
    assert len(before) == 500
    assert again.result["skipped"] == {}


def test_later_index_updates_formulas(tmp_path: Path) -> None:
    collection = empty()
    imported(collection, write(tmp_path, "old.tsv", V2 + "1\t5\t4\tanswer\t9\tx\n2\t5\t4\tanswer\t9\tx\n"))

    imported(collection, write(tmp_path, "new.tsv", V2 + "1\t6\t4\tcomment\t8\ty\n3\t5\t4\ttitle\t7\tz\n"))

    rows = collection.formulas.order_by("code").values_list("code", "post", "place", "visual", "latex")
    assert list(rows) == [("1", "6", 3, "8", "y"), ("2", "5", 2, "9", "x"), ("3", "5", 0, "7", "z")]


def test_later_index_updates_mathml(tmp_path: Path) -> None:
    old, new = "<math><mi>x</mi></math>", "<math><mi>y</mi></math>"
    collection = empty()
    imported(
        collection,
        write(tmp_path, "old.tsv", f"{V1}1\t5\t4\tanswer\t{old}\n2\t5\t4\tanswer\t{old}\n"),
    )

    later = imported(
        collection,
        write(tmp_path, "new.tsv", f"{V1}1\t5\t4\tanswer\t{new}\n3\t5\t4\tanswer\t{new}\n"),
    )

    assert later.state == Job.State.DONE, later.error
    assert mathml_of(collection) == [("slt", "1", new), ("slt", "2", old), ("slt", "3", new)]


@pytest.mark.parametrize("names", [("latex.tsv", "slt.tsv"), ("slt.tsv", "latex.tsv")])
def test_indexes_can_be_imported_in_any_order(tmp_path: Path, names: tuple[str, str]) -> None:
    latex = V3 + "1\t5\t4\tcomment\t77\t8\t9\tsplit\tx\n2\t5\t4\tanswer\t\t\t9\t\ty\n"
    slt = V1 + "1\t5\t4\tcomment\t<math><mi>x</mi></math>\n3\t5\t4\ttitle\t<math><mi>z</mi></math>\n"
    write(tmp_path, "latex.tsv", latex)
    write(tmp_path, "slt.tsv", slt)
    collection = empty()

    for name in names:
        assert imported(collection, tmp_path / name).state == Job.State.DONE

    rows = collection.formulas.order_by("code")
    fields = "code", "comment", "visual", "is_visual_given", "old_visual", "issue", "latex"
    assert list(rows.values_list(*fields)) == [
        ("1", "77", "9", True, "8", "split", "x"),
        ("2", "", "9", True, "", "", "y"),
        ("3", "", "", False, "", "", ""),
    ]
    assert mathml_of(collection) == [
        ("slt", "1", "<math><mi>x</mi></math>"),
        ("slt", "3", "<math><mi>z</mi></math>"),
    ]


def test_index_without_visual_ids_keeps_those_of_a_clustering(tmp_path: Path) -> None:
    collection = empty()
    path = write(tmp_path, "index.tsv", V1 + "1\t5\t4\tanswer\tx\n")
    imported(collection, path)
    collection.formulas.update(visual="v1")

    imported(collection, path)

    assert collection.formulas.get().visual == "v1"


def test_folder_of_packed_files_is_imported(tmp_path: Path) -> None:
    for number in range(4):
        content = index(100, first=1 + 100 * number).encode()
        (tmp_path / f"{number}.tsv.gz").write_bytes(gzip.compress(content))
    write(tmp_path, "README.txt", "Not an index.")
    collection = empty()

    job = imported(collection, tmp_path)

    assert job.state == Job.State.DONE, job.error
    assert collection.counts["formulas"] == 400
    assert [file.counts for file in job.imports.all()] == [{"formulas": 100}] * 4


def test_index_and_posts_can_be_imported_together(tmp_path: Path) -> None:
    write(tmp_path, "Posts.xml", dump("posts", question(4), question(5)))
    write(tmp_path, "index.tsv", V2 + "1\t4\t4\tquestion\t9\tx\n")
    collection = empty()

    imported(collection, tmp_path)

    assert (collection.counts["questions"], collection.counts["formulas"]) == (2, 1)
    imported(collection, write(tmp_path, "more.xml", dump("posts", question(6))))
    assert (collection.counts["questions"], collection.counts["formulas"]) == (3, 1)


def test_skipped_rows_are_counted_with_their_first_lines(tmp_path: Path) -> None:
    bad = "x\n" * 5 + "900\t1\t1\theadline\t3\tx\n"
    path = write(tmp_path, "index.tsv", index(3) + bad + index(3, header="", first=4))
    collection = empty()

    job = imported(collection, path)

    file = job.imports.get()
    assert file.counts == {"formulas": 6}
    assert file.skipped == {NO_WIDTH: 5, NO_TYPE: 1}
    assert file.skipped_lines == {NO_WIDTH: [5, 6, 7], NO_TYPE: [10]}


def test_repeated_ids_in_another_chunk_or_file_are_counted(tmp_path: Path) -> None:
    # The first chunk ends near byte 65,536, so lines 2 and 40,002 are in different chunks.
    path_1 = write(tmp_path, "1.tsv", index(40_000) + "1\t7\t7\ttitle\t7\tlast\n")
    path_2 = write(tmp_path, "2.tsv", index(10, first=40_001) + "2\t7\t7\ttitle\t7\tlast\n")
    collection = empty()

    job = imported(collection, path_1, path_2)

    first, second = job.imports.order_by("id")
    assert (first.counts, first.skipped, first.skipped_lines) == (
        {"formulas": 40_000},
        {AGAIN: 1},
        {AGAIN: [40_002]},
    )
    assert (second.counts, second.skipped, second.skipped_lines) == (
        {"formulas": 10},
        {AGAIN: 1},
        {AGAIN: [12]},
    )
    assert set(collection.formulas.filter(latex="last").values_list("code", flat=True)) == {"1", "2"}
    assert collection.counts["formulas"] == 40_010


def test_index_without_a_usable_row_is_refused_with_its_line(tmp_path: Path) -> None:
    collection = empty()

    job = imported(collection, write(tmp_path, "index.tsv", V2 + "1\t2\n2\t3\n"))

    assert job.state == Job.State.FAILED
    assert job.error == f"index.tsv, line 2: {NO_WIDTH}. No row can be imported."
    assert collection.status == Collection.Status.INCOMPLETE
    assert not collection.formulas.exists()


def test_options_set_the_representation_and_check_the_version(tmp_path: Path) -> None:
    path = write(tmp_path, "index.tsv", V1 + "1\t5\t4\tanswer\t<math><mi>x</mi></math>\n")
    collection = empty()

    imported(collection, path, representation="opt")
    assert [form for form, _, _ in mathml_of(collection)] == ["opt"]
    with pytest.raises(Refused, match="is not a formula index of version 2: its columns are id, post_id"):
        imported(collection, path, version=2)


def test_collections_may_have_formulas_with_the_same_ids(tmp_path: Path) -> None:
    path = write(tmp_path, "index.tsv", V1 + "1\t5\t4\tanswer\tx\n")
    first, second = empty("first"), empty("second")

    imported(first, path)
    imported(second, path)

    assert (first.formulas.count(), second.formulas.count()) == (1, 1)


def has_index() -> bool:
    with connection.cursor() as cursor:
        return "formula_visual" in connection.introspection.get_constraints(cursor, "corpus_formula")


@pytest.mark.parametrize("text", [index(3), V2 + "no usable row\n"])
def test_index_by_visual_id_is_missing_only_during_the_first_import(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    had_index = []
    store = import_jobs._store

    def watched(*arguments: Any) -> None:
        had_index.append(has_index())
        store(*arguments)

    monkeypatch.setattr(import_jobs, "_store", watched)
    imported(empty("one"), write(tmp_path, "index.tsv", text))
    after_first = has_index()
    Formula.objects.get_or_create(collection=make_collection(), code="1", post="1", thread="1", place=0)
    imported(empty("two"), write(tmp_path, "index.tsv", text))

    half = len(had_index) // 2
    assert had_index == [False] * half + [True] * half
    assert after_first
    assert has_index()


def test_command_reports_skipped_rows_and_checks_its_options(tmp_path: Path) -> None:
    path = write(tmp_path, "index.tsv", index(3) + "x\n")

    output = output_of("import_collection", "math", path, "--index-version=2", "--formulas-are=latex")

    assert "index.tsv: 3 formulas" in output
    assert f"skipped 1: {NO_WIDTH} (line 5)" in output
    assert "math now contains 3 formulas." in output
    with pytest.raises(CommandError, match="is not a formula index of version 3"):
        output_of("import_collection", "math", path, "--index-version=3")


def test_page_of_an_import_lists_skipped_rows(client: Client, tmp_path: Path) -> None:
    organizer = make_organizer()
    client.force_login(organizer)
    upload = SimpleUploadedFile("index.tsv", (index(3) + "x\n").encode())
    form = {"slug": "math", "upload": upload, "representation": "latex"}

    answer = client.post(reverse("corpus:start_import"), form)
    job = Job.objects.get()
    jobs.run(job.pk)
    page = client.get(answer["Location"]).content.decode()

    assert "3 formulas" in page
    assert f"1: {NO_WIDTH}" in page
    assert "(line 5)" in page


@pytest.mark.django_db(transaction=True)
@pytest.mark.long
def test_killed_import_continues_when_it_is_repeated(fork: Factory, tmp_path: Path, settings: Any) -> None:
    """SIGKILL after the first chunk. The same command then imports the rest, and nothing twice."""
    settings.JOB_LOST_AFTER_SECONDS = 1
    n = 200_000
    path = write(tmp_path, "index.tsv", index(n, latex=r"x_{%d} + \frac{a}{b}") + "7\t1\t1\ttitle\t1\tx\n")
    running = fork(["manage.py", "import_collection", "math", str(path)], tmp_path / "log")
    wait_until(lambda: Import.objects.filter(position__gt=100_000).exists(), reason=running.output)
    running.kill()
    before = Import.objects.get()
    n_before = Formula.objects.count()

    output = output_of("import_collection", "math", path)

    assert not before.is_complete
    assert 0 < n_before < n
    assert f"math now contains {n:,} formulas." in output
    assert f"skipped 1: {AGAIN} (line {n + 2:,})" in output
    assert Formula.objects.count() == Formula.objects.values("code").distinct().count() == n
    assert (Job.objects.get().attempt, FormulaMathML.objects.count()) == (2, 0)


FILES = {
    "math/Comments.xml": dump("comments", row(Id=7, PostId=2, Text="Why?", Score=0)),
    "math/Posts.xml": dump("posts", question(1), answer(2, 1)),
    "math/readme.txt": "%PDF",
}


def upload(client: Client, **files: bytes) -> str:
    """Upload files to a new collection, run the import, and return its page."""
    client.force_login(make_organizer())
    uploads = [SimpleUploadedFile(name.replace("_", "."), content) for name, content in files.items()]
    address = reverse("corpus:start_import")
    answer = client.post(address, {"slug": "math", "upload": uploads}, follow=True)
    if job := Job.objects.first():
        jobs.run(job.pk)
        return client.get(reverse("corpus:import", args=[job.pk])).content.decode()
    return answer.content.decode()


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_archive_of_a_dump_is_one_import_in_the_right_order(
    client: Client, pack: Callable[[Mapping[str, str]], bytes]
) -> None:
    page = upload(client, dump_zip=pack(FILES))

    assert [file.name for file in Import.objects.order_by("pk")] == ["Posts.xml", "Comments.xml"]
    assert page.index("1. Posts.xml") < page.index("2. Comments.xml")
    assert "of no known kind: readme.txt" in page
    assert Document.objects.get(docno="2").comments.count() == 1


def test_several_files_are_one_import(client: Client) -> None:
    contents = {name.rpartition("/")[2].replace(".", "_"): text.encode() for name, text in FILES.items()}

    upload(client, **contents)

    assert Document.objects.get(docno="2").comments.count() == 1
    assert Job.objects.count() == 1


def test_archive_that_is_damaged_or_a_bomb_is_refused(
    client: Client, settings: LazySettings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("Posts.xml", "Comments.xml"):
            archive.writestr(name, b" " * 1_000_000)

    damaged = upload(client, dump_zip=zipped(FILES)[:-30] + b"0" * 30)
    too_large = upload(client, dump_zip=bomb.getvalue())

    assert "<h1>Import files into a collection</h1>" in damaged
    assert not Collection.objects.exists()
    assert "more than 100 times its size" in too_large
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
