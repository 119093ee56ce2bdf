"""Runs of formulas, checked against an index: unknown formulas, wrong posts, formulas of comments."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from assay.formats.declaration import Declaration
from assay.formats.runs.reader import CheckedRun, check_run
from assay.formulas import PLACES
from assay.formulas.columns import Formulas
from assay.protocols.loader import load_protocol, parse_protocol, shipped_text
from corpus.models import Formula
from jobs import services as jobs
from participation.models import Team
from pooling.errors import RunRefused
from pooling.models import PoolEntry, Run
from pooling.pools import services as pool_services
from pooling.runs import services as run_services
from tests.helpers.factories import make_collection, make_document, make_organizer, make_topic, make_track
from tests.pooling.runs.test_submission import desk
from tracks.models import StoredProtocol

PROTOCOL = load_protocol("arqmath-2021-task2")
INDEX = [
    ("10", "5", "4", "question", "v1"),
    ("11", "6", "4", "answer", "v2"),
    ("12", "6", "4", "comment", "v1"),
    ("13", "", "", "answer", "v3"),  # from a map without posts
]
FORMULAS = Formulas.of(INDEX)
GOOD = "B.1\t10\t5\t1\t3.5\trun\nB.1\t11\t6\t2\t2.5\trun\n"


def check(text: str, **options: Any) -> CheckedRun:
    defaults: dict[str, Any] = {"protocol": PROTOCOL, "name": "run.tsv", "formulas": lambda _: FORMULAS}
    return check_run(io.BytesIO(text.encode()), **(defaults | options))


def complaints_of(checked: CheckedRun) -> list[tuple[str, int, str]]:
    complaints = [*checked.report.errors, *checked.report.warnings]
    return [(complaint.code, complaint.n, complaint.where) for complaint in complaints]


def test_formulas_in_their_posts_are_accepted() -> None:
    checked = check(GOOD)

    assert complaints_of(checked) == []
    assert checked.columns is not None
    assert checked.columns.docno.tolist() == [b"10", b"11"]


def test_unknown_formula_is_an_error() -> None:
    checked = check(GOOD + "B.1\t99\t5\t3\t1.5\trun\nB.2\t99\t5\t1\t1.5\trun\n")

    assert complaints_of(checked) == [("unknown-formula", 2, "lines 3, 4")]
    assert checked.columns is None


def test_formula_in_another_post_is_an_error() -> None:
    assert complaints_of(check(GOOD.replace("\t11\t6\t", "\t11\t5\t"))) == [("wrong-post", 1, "line 2")]


def test_formula_without_a_known_post_may_name_any_post() -> None:
    assert complaints_of(check("B.1\t13\t777\t1\t1.5\trun\n")) == []


def test_formulas_of_comments_are_left_out_and_counted() -> None:
    checked = check(GOOD + "B.1\t12\t6\t3\t1.5\trun\nB.2\t12\tnowhere\t1\t1.5\trun\n", topics=["B.1", "B.2"])

    assert [code for code, _, _ in complaints_of(checked)] == ["formula-in-comment", "missing-topics"]
    (warning, _) = checked.report.warnings
    assert (warning.n, warning.where) == (2, "lines 3, 4")
    assert warning.message == "2 of 4 lines name formulas of comments and were left out"
    assert checked.columns is not None
    assert checked.columns.docno.tolist() == [b"10", b"11"]
    assert checked.columns.topics.tolist() == ["B.1"]
    assert checked.columns.post is not None
    assert checked.columns.post.tolist() == [b"5", b"6"]


def test_elements_inside_formulas_rank_the_formula_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As LaTeXML makes ids: the element `p1.m1.2.3.cmml` is in the formula `p1.m1`; `p1.m1` is not in `p1.m12`."""
    monkeypatch.setattr("assay.formats.runs.formulas.AT_ONCE", 2)
    index = [(f"F#{own}", "F", "F", "document", "") for own in ("p1.m1", "p1.m2", "p1.m3")]
    ids = [
        "F#p1.m1.2.3.cmml",
        "F#p1.m3",
        "F#p1.m1.4",
        "F#p1.m2.1",
        "F#p1.m2",
        "F#p1.m12.1",
        "F#//math[1]",
        "x.m1.1",
    ]
    lines = [f"N-1 1 {own} {n} {9 - n} r" for n, own in enumerate(ids, 1)]
    options = {"protocol": load_protocol("ntcir-10-math"), "formulas": lambda _: Formulas.of(index)}

    good, bad = (check("\n".join(text) + "\n", **options) for text in (lines[:5], lines))

    assert good.columns is not None
    assert good.columns.docno.tolist() == [b"F#p1.m1", b"F#p1.m3", b"F#p1.m2"]
    assert good.report.warnings[0].message == (
        "3 of 5 lines name an element inside a formula: they rank the formula, once per topic, "
        "and 2 repeated lines were left out"
    )
    assert [(each.code, each.where) for each in bad.report.errors] == [
        ("unknown-formula", "lines 6, 8"),
        ("formula-by-path", "line 7"),
    ]


def test_lines_left_out_do_not_count_toward_the_ranks() -> None:
    lines = [f"B.1\t12\t6\t{rank}\t{9000 - rank}\trun" for rank in range(1, 2)]
    many = [f"B.1\t{i}\t6\t{i - 99}\t{5000 - i}\trun" for i in range(100, 1100)]
    formulas = Formulas.of([*INDEX, *((str(i), "6", "4", "answer", "v") for i in range(100, 1100))])

    checked = check("\n".join([*lines, *many]) + "\n", formulas=lambda _: formulas)

    assert not checked.report.errors
    assert checked.columns is not None
    assert len(checked.columns) == 1000


def test_run_of_only_formulas_of_comments_is_refused() -> None:
    checked = check("B.1\t12\t6\t1\t1.5\trun\n")

    assert [code for code, _, _ in complaints_of(checked)] == ["empty", "formula-in-comment"]
    assert checked.columns is None


def test_without_an_index_nothing_is_looked_up() -> None:
    assert complaints_of(check("B.1\t99\t5\t1\t1.5\trun\n", formulas=None)) == []


def test_all_formulas_are_unknown_in_an_empty_index() -> None:
    assert complaints_of(check(GOOD, formulas=lambda _: Formulas.of([]))) == [
        ("unknown-formula", 2, "lines 1, 2")
    ]


@pytest.mark.django_db
def test_submission_is_checked_against_the_collections_index() -> None:
    collection = make_collection()
    track = make_track(protocol=PROTOCOL.slug, collection=collection)
    make_topic(track, code="B.1")
    team = Team.objects.create(track=track, name="One")
    for code, post, thread, place, visual in INDEX:
        number = PLACES.index(place)
        Formula.objects.create(
            collection=collection, code=code, post=post, thread=thread, place=number, visual=visual
        )

    def submit(text: str) -> Any:
        return run_services.submit(
            track=track,
            team=team,
            by=make_organizer(),
            file=io.BytesIO(text.encode()),
            file_name="run.tsv",
            declared=Declaration(kind="primary"),
        )

    with pytest.raises(RunRefused) as refusal:
        submit(GOOD.replace("\t11\t", "\t99\t"))
    assert complaints_of(refusal.value.checked)[0] == ("unknown-formula", 1, "line 2")
    assert submit(GOOD + "B.1\t12\t6\t3\t1.5\trun\n").n_lines == 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("has_index", "sentence"),
    [(True, "Formula ids are looked up in"), (False, "Formula ids are not looked up: <em>")],
)
def test_submission_page_states_whether_formulas_are_looked_up(
    client: Client, has_index: bool, sentence: str
) -> None:
    collection = make_collection()
    track = make_track(protocol=PROTOCOL.slug, collection=collection)
    Team.objects.create(track=track, name="One")
    if has_index:
        Formula.objects.create(collection=collection, code="10", post="5", thread="4", place=1)
    client.force_login(make_organizer())

    page = client.get(reverse("pooling:submit", args=[track.slug]))

    assert sentence in page.content.decode()


def test_passages_are_looked_up_and_pooled_as_documents(db: None, folder: Path) -> None:
    page = desk("trec-adhoc", ["156493"])
    collection = make_collection("passages")
    for docno in ("7", "8"):
        make_document(collection, docno, kind="document", body=f"<p>Passage {docno}</p>")
    text = shipped_text("trec-adhoc").replace('unit = "document"', 'unit = "passage"')
    text = text.replace('formats = ["trec-6"]', 'formats = ["columns"]')
    text = text.replace("[pool]", '[runs.columns]\norder = ["topic", "docno", "rank"]\n\n[pool]')
    digest = parse_protocol(text, name="x").digest
    StoredProtocol.objects.filter(pk=page.track.protocol_id).update(text=text, digest=digest)
    page.track.collection = collection
    page.track.save()

    form = page.send(b"156493 9 1\n156493 7 2\n", name="r.tsv").content.decode()
    page.send(b"156493 8 1\n156493 7 2\n", name="r.tsv")
    page.track.refresh_from_db()
    pool = pool_services.request(track=page.track, by=make_organizer(), name="Pool 1", seed=1, depth={})
    jobs.run(pool.job_id or 0)

    assert "Give at most 1000 passages per topic" in form
    assert "The rank decides the order. Ties are ordered by passage id" in form
    assert "the document is not in the collection" in form
    assert Run.objects.get().tag == "Owls-primary"
    entries = PoolEntry.objects.filter(pool=pool).order_by("docno").select_related("document")
    assert [(entry.docno, entry.document and entry.document.body) for entry in entries] == [
        ("7", "<p>Passage 7</p>"),
        ("8", "<p>Passage 8</p>"),
    ]
