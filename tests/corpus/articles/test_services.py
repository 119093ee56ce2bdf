"""Import articles in XHTML with MathML, through the page and the command: documents, formulas, and what is skipped."""

from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from assay.formulas.slt import slt
from corpus import conversion
from corpus.articles import reading as article_files
from corpus.articles import services as article_services
from corpus.conversion import ArticleChunk
from corpus.models import Collection, Document, Formula, FormulaMathML, Import
from jobs import services as jobs
from jobs.models import Job
from tests.helpers.articles import WILDCARD, article, math, tarred, zipped
from tests.helpers.factories import make_organizer

POWER = "<msup><mn>10</mn><mi>n</mi></msup>"
NAME = "Zermelo–Fraenkel_(AT&T),_1"
WIKIPEDIA = {
    f"wp1/Articles/{NAME}.html": article(
        "Zermelo &amp; Fraenkel",
        f"It costs $5, or $6 in <a onclick='evil()' href='x'>euros</a>. "
        f"{math('10^{n}', POWER, own_id='Zermelo–Fraenkel_(AT&amp;T),_1:0')}",
        math(r"a &lt; \qvar@construct{y}", POWER, display="block"),
    ),
    "wp1/Articles/Ring.html": article(
        "Ring", math("", f"<mrow><mi>R</mi><mo>+</mo>{WILDCARD}</mrow>", own_id="Ring:7")
    ),
    "wp1/Articles/Broken.html": article("Broken", "text", math("", "<none/>"), "<math><mi>x</mi>"),
    "wp1/Articles/Latin.html": "<p>one\ntwo \xe9</p>".encode("latin-1"),
    "wp1/Articles/Undefined.html": b"<p>\x81</p>",
    "wp1/Articles/two words.html": article("Two words", "text"),
    "wp1/Articles/index.txt": "not an article",
}
ARXIV = {
    "0001/0710.3032_1_22.xhtml": article("", f"Let {math('x', '<mi>x</mi>', own_id='p1.m1')} be"),
    "0001/0710.3032_1_23.xhtml": article("", f"Let {math('y', '<mi>y</mi>', own_id='p1.m1')} be"),
}


def upload(client: Client, name: str, content: bytes, slug: str = "wiki") -> str:
    """Upload a file to a new collection, run the import, and return its page."""
    client.force_login(make_organizer())
    data = {"slug": slug, "upload": [SimpleUploadedFile(name, content)]}
    client.post(reverse("corpus:start_import"), data, follow=True)
    job = Job.objects.latest("pk")
    jobs.run(job.pk)
    return client.get(reverse("corpus:import", args=[job.pk])).content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_archive_of_articles_becomes_documents_with_their_formulas(
    client: Client, pack: Callable[[Mapping[str, str | bytes]], bytes]
) -> None:
    page = upload(client, "wpmath01.zip", pack(WIKIPEDIA))

    assert "4 documents, 3 formulas, 1 read as Windows-1252" in page
    assert Document.objects.get(docno="Latin").body == "<p>one\ntwo é</p>"
    document = Document.objects.get(docno=NAME)
    assert (document.kind, document.thread, document.title) == ("document", NAME, "Zermelo &amp; Fraenkel")
    assert 'It costs $5, or $6 in <a data-host="">euros</a>.' in document.body
    assert dict(Formula.objects.values_list("code", "latex")) == {
        f"{NAME}:0": "10^{n}",
        f"{NAME}:1": r"a < \qvar{y}",
        "Ring:7": r"R + \qvar{y}",
    }
    formula = Formula.objects.get(code="Ring:7")
    assert (formula.post, formula.thread, formula.get_place_display()) == ("Ring", "Ring", "document")
    kept = FormulaMathML.objects.get(code=f"{NAME}:0").content
    assert "annotation" not in kept
    assert slt(kept) == slt(f"<math>{POWER}</math>")


@pytest.mark.django_db
def test_page_of_the_import_names_file_and_line_of_what_is_skipped(client: Client) -> None:
    page = upload(client, "wpmath01.tar.gz", tarred(WIKIPEDIA))

    assert "a formula that has neither LaTeX nor Presentation MathML that can be read" in page
    assert "Broken.html, line 5" in page
    assert "a &lt;math&gt; that is not closed" in page
    assert "Undefined.html" in page
    assert "two words.html" in page


@pytest.mark.django_db
def test_formula_is_marked_in_its_article(client: Client) -> None:
    upload(client, "wpmath01.zip", zipped(WIKIPEDIA))

    thread = client.get(reverse("corpus:thread", args=["wiki", NAME]), {"formula": f"{NAME}:0"})
    page = client.get(reverse("corpus:formula", args=["wiki", f"{NAME}:0"])).content.decode()

    marked = 'class="math-container is-marked" data-formula-id="Zermelo–Fraenkel_(AT&amp;T),_1:0"'
    assert marked in thread.content.decode()
    assert marked in page
    assert "In the document" in page


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("empty.zip", zipped({"a.html": "", "b.html": b"\x81"}), "none of its 2 articles can be imported"),
        (
            "bomb.tar.gz",
            tarred({f"{n}.html": b" " * 9_000_000 for n in range(2)}),
            "more than 100 times its size",
        ),
        (
            "cut.tar.gz",
            tarred({f"{n}.xhtml": article("", f"{n}" * 99) for n in range(300)})[:-900],
            "damaged",
        ),
    ],
)
def test_archive_that_cannot_be_used_is_refused(
    client: Client, name: str, content: bytes, reason: str
) -> None:
    assert reason in upload(client, name, content)


@pytest.mark.django_db(transaction=True)
def test_command_imports_a_folder_of_paragraphs_and_continues_after_a_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(article_files, "CHUNK_FILES", 1)
    monkeypatch.setattr(conversion, "SMALL", 0)  # convert in processes, as for large files
    for name, content in ARXIV.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    out = StringIO()

    call_command("import_collection", "arxiv", str(tmp_path), stdout=out, stderr=StringIO())
    call_command("import_collection", "arxiv", str(tmp_path), stdout=StringIO(), stderr=StringIO())

    assert "arxiv now contains 2 documents, 2 formulas." in out.getvalue()
    assert set(Formula.objects.values_list("code", flat=True)) == {
        "0710.3032_1_22#p1.m1",
        "0710.3032_1_23#p1.m1",
    }
    assert [row.position for row in Import.objects.all()] == [2, 2]
    assert Collection.objects.get().counts["formulas in documents"] == 2


@pytest.mark.django_db
def test_import_that_failed_goes_on_after_its_last_chunk(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(article_files, "CHUNK_FILES", 1)
    stored: list[int] = []
    real = article_services._store

    def store_once(file: Import, chunk: ArticleChunk, *rest: object) -> None:
        if stored == [1]:
            raise RuntimeError("the worker was killed")
        stored.append(chunk.end)
        real(file, chunk, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as killed:
        killed.setattr(article_services, "_store", store_once)
        upload(client, "arxiv.tar.gz", tarred(ARXIV))
    job = Job.objects.get()
    after_the_first = Import.objects.get().position, Document.objects.count(), Formula.objects.count()
    jobs.retry(job=job)
    jobs.run(job.pk)

    assert after_the_first == (1, 1, 1)
    assert (Import.objects.get().position, Document.objects.count(), Formula.objects.count()) == (2, 2, 2)
    assert Import.objects.get().skipped == {}


@pytest.mark.django_db(transaction=True)
def test_folder_without_articles_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="There is no file"):
        call_command("import_collection", "empty", str(tmp_path), stdout=StringIO(), stderr=StringIO())


def _annotated(*annotations: str) -> str:
    return f"<math><semantics><mi>x</mi>{''.join(annotations)}</semantics></math>"


HOSTILE = {
    "Annotations.html": article(
        "Annotations",
        _annotated(
            '<annotation-xml encoding="application/mathml-content+xml"><ci>CONTENT</ci></annotation-xml>'
        ),
        _annotated("<annotation-xml><ci>CONTENT</ci></annotation-xml>"),
        _annotated(
            '<annotation-xml encoding="application/xhtml+xml"><div>HIDDEN<math><mi>HIDDEN</mi></math>'
            "<script>alert(1)</script></div></annotation-xml>"
        ),
        "<!-- <math><mi>HIDDEN</mi></math> --><math><mi><![CDATA[a<b</math>]]></mi></math>",
        '<math><mi xlink:href="javascript:alert(1)">y</mi></math>',
        "<math><apply><plus/><ci>CONTENT</ci><cn>2</cn></apply></math>",
        f"<math>{'<mrow>' * 5000}<mi>x</mi>{'</mrow>' * 5000}</math>",
    ),
    "Names.html": article(
        "Names",
        *(
            f'<math><mws:qvar name="{name}"/></math>'
            for name in ("&lt;script&gt;", "}{\\href{javascript:x}{y}", "")
        ),
        '<math id="Names:7:é–(,)"><mi>u</mi></math>',
        '<math id="Other:0"><mi>v</mi></math>',
    ),
    "Other.html": article(
        "Other", '<math id="Other:0"><mi>w</mi></math>', '<math id="Other:0"><mi>t</mi></math>'
    ),
}


@pytest.mark.django_db
def test_hostile_formulas_are_shown_once_or_reported_by_line(client: Client) -> None:
    """Other forms of a formula, hidden markup, undeclared prefixes, repeated ids, and names of wildcards."""
    page = upload(client, "hostile.zip", zipped(HOSTILE))

    latex = dict(Formula.objects.values_list("code", "latex"))
    assert [latex[f"Annotations:{n}"] for n in range(5)] == ["x", "x", "x", "a<b</math>", "y"]
    assert "Annotations:5" not in latex
    assert "Annotations:6" not in latex
    assert "Annotations.html, line 9" in page
    bodies = "".join(Document.objects.values_list("body", flat=True))
    assert not [word for word in ("CONTENT", "HIDDEN", "<script", "javascript:alert") if word in bodies]
    assert latex["Names:0"] == r"\qvar{<script>}"
    assert latex["Names:1"] == r"\qvar{\}\{\backslash href\{javascript:x\}\{y\}}"
    assert latex["Names:7:é–(,)"] == "u"
    assert "the same id again in the file" in page
    assert "a formula with the id of an earlier one of its article" in page
