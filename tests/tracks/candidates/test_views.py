"""Candidates: their import, the table with filters and distributions, and samples by quotas."""

import gzip
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse

from assay.candidates.conditions import meets, parse_conditions
from assay.candidates.reader import CandidateLines
from assay.cli.main import main
from assay.digests import sha256_of
from assay.errors import Refused
from assay.samples import path
from corpus.models import Author, Collection, DocumentLink
from jobs import services as jobs
from jobs.files import storage
from jobs.models import Job, UnclaimedFile
from tests.helpers.api import api, call
from tests.helpers.candidates import CANDIDATES, LABELS, import_candidates, make_choice, make_sample
from tests.helpers.factories import (
    make_answer,
    make_assessor,
    make_collection,
    make_document,
    make_organizer,
    make_track,
    make_user,
)
from tracks.choosing import services as choosing
from tracks.models import Candidate, CandidateFile, CandidateSample, Track

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _files(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"
    settings.IMPORT_DIR = str(tmp_path / "import")
    (tmp_path / "import").mkdir()
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)


@pytest.fixture
def track(db: None) -> Track:
    return make_track("lab", status=Track.Status.DRAFT)


@pytest.fixture
def organizer(client: Client) -> Client:
    client.force_login(make_organizer("olga"))
    return client


def address(name: str, *arguments: object) -> str:
    return reverse(f"tracks:{name}", args=["lab", *arguments])


def page(client: Client, where: str) -> str:
    return client.get(where).content.decode()


def ids(html: str) -> list[str]:
    return re.findall(r'<a href="/tracks/lab/candidate/(\d+)/">', html)


@pytest.mark.parametrize("is_packed", [False, True])
def test_organizer_imports_candidates(organizer: Client, track: Track, is_packed: bool) -> None:
    content = gzip.compress(CANDIDATES) if is_packed else CANDIDATES
    empty = page(organizer, address("candidates"))
    upload = ContentFile(content, name="candidates.jsonl")

    running = organizer.post(address("import_candidates"), {"upload": upload}, follow=True).content.decode()
    jobs.run(Job.objects.get().pk)

    assert "No candidates yet" in empty
    assert "Import candidates for lab from candidates.jsonl" in running
    file = CandidateFile.objects.get()
    assert file.n_candidates == 12
    with file.file.open() as kept:
        assert kept.read() == content
    stored = track.candidates.get(docno="9006")
    lines = CandidateLines([CANDIDATES], "c", has_text=True)
    row = next(row for row in lines if row.id == "9006")
    assert lines.n_bytes == len(CANDIDATES)
    assert (stored.title, stored.body, stored.text) == (row.title, row.body, row.text)
    assert (stored.score, stored.answers, stored.formulas, stored.n_duplicates) == (25, 6, 2, 2)
    assert (stored.n_related, stored.reputation, stored.length) == (1, 88, row.length)
    assert stored.date.isoformat() == "2020-03-11T10:10:00+00:00"
    assert file.sha256 == sha256_of(CANDIDATES)


def test_file_of_the_import_folder_is_imported(organizer: Client, track: Track, settings: Any) -> None:
    Path(settings.IMPORT_DIR, "c.jsonl").write_bytes(CANDIDATES)

    organizer.post(address("import_candidates"), {"path": "c.jsonl"})
    jobs.run(Job.objects.get().pk)
    missing = organizer.post(address("import_candidates"), {"path": "d.jsonl"}).content.decode()
    neither = organizer.post(address("import_candidates"), {"path": ""}).content.decode()

    assert track.candidates.count() == 12
    assert "The import folder has no file d.jsonl." in missing
    assert "Choose a file to upload, a path on the server or a collection, and only one of them." in neither


def test_worker_reads_no_file_outside_of_the_import_folder(
    organizer: Client, track: Track, settings: Any, tmp_path: Path
) -> None:
    (tmp_path / "secret.jsonl").write_bytes(CANDIDATES)
    here, settings.IMPORT_DIR = (
        settings.IMPORT_DIR,
        str(tmp_path / "elsewhere"),
    )  # only the worker sees the folder
    organizer.post(address("import_candidates"), {"path": "../secret.jsonl"})
    settings.IMPORT_DIR = here

    jobs.run(Job.objects.get().pk)

    assert "secret.jsonl is not in the import folder." in Job.objects.get().error
    assert not track.candidates.exists()


def test_file_with_errors_changes_nothing_and_is_not_kept(
    organizer: Client, track: Track, django_capture_on_commit_callbacks: Any
) -> None:
    user = make_organizer()
    import_candidates(track, user)

    with django_capture_on_commit_callbacks(execute=True):
        import_candidates(
            track, user, b'{"id": "1"}\n{"id": "2", "title": "T", "votes": 1}\n', "broken.jsonl"
        )

    html = page(organizer, address("candidates"))
    assert "broken.jsonl has errors:" in html
    assert "line 1: a candidate has a title or a body" in html
    assert "line 2: unknown key &#x27;votes&#x27;" in html
    assert track.candidates.count() == 12
    assert not UnclaimedFile.objects.exists()


def test_later_file_replaces_candidates_and_samples_until_the_first_decision(
    track: Track, django_capture_on_commit_callbacks: Any
) -> None:
    user, other = make_organizer(), make_organizer()
    import_candidates(track, user)
    sample = make_sample(track, [user, other])
    before = CandidateFile.objects.get().file.name
    with django_capture_on_commit_callbacks(execute=True):
        import_candidates(track, user, b'{"id": "a", "title": "A"}\n{"id": "b", "title": "B"}\n', "b.jsonl")

    assert list(track.candidates.order_by("docno").values_list("docno", flat=True)) == ["a", "b"]
    assert not CandidateSample.objects.filter(pk=sample.pk).exists()
    assert not storage.default_storage.exists(before)

    sample = make_sample(track, [user, other], quotas=("2",))
    choosing.decide(sample=sample, docno="a", is_accepted=True, labels=LABELS, by=user)
    with pytest.raises(Refused, match="Another file would take away 1 decision on the candidates"):
        import_candidates(track, user)


def test_only_a_draft_takes_candidates(organizer: Client) -> None:
    make_track("lab", status=Track.Status.OPEN)

    upload = ContentFile(CANDIDATES, name="c.jsonl")
    html = organizer.post(address("import_candidates"), {"upload": upload}).content.decode()

    assert "lab is open for runs; topics are chosen for a draft only." in html
    assert not Job.objects.exists()


CONDITIONS = [
    *(
        "score=7..",
        "answers=2..3",
        "formulas=..2",
        "duplicates=1..",
        "linked=1..",
        "linked=1..2",
        "related=0",
        "reputation=100..",
        "length=20..",
    ),
    *(
        "date=2020-02-02..2020-03-01",
        "date=..2020-01-09",
        "tags=calculus|parity",
        "text=sum digits",
        "text=WHY is",
        "date=2020-01-01..9999-12-31",
    ),
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_filter_of_the_page_and_condition_of_the_command_choose_the_same(
    organizer: Client, track: Track, condition: str
) -> None:
    import_candidates(track, make_organizer())
    rows = CandidateLines([CANDIDATES], "c", has_text=True)
    expected = [row.id for row in rows if meets(row, parse_conditions(condition), {})]
    name, _, value = condition.partition("=")

    html = organizer.get(address("candidates"), {name: value}).content.decode()

    assert expected
    assert ids(html) == sorted(expected)
    assert f"{len(expected)} of 12 candidates with" in " ".join(html.split())


def test_table_is_sorted_and_shows_the_distribution(organizer: Client, track: Track) -> None:
    import_candidates(track, make_organizer())
    numbers = sorted((json.loads(line)["score"], json.loads(line)["id"]) for line in CANDIDATES.splitlines())

    by_score = page(organizer, f"{address('candidates')}?sort=-score&plot=score")
    by_tag = page(organizer, f"{address('candidates')}?plot=tags")
    by_month = page(organizer, f"{address('candidates')}?plot=date&score=10..")

    assert ids(by_score) == [docno for _, docno in reversed(numbers)]
    assert 'aria-sort="descending"' in by_score
    cells = [re.sub(r"\s", "", cell) for cell in re.findall(r"<td(?: class=\"num\")?>([^<]*)</td>", by_score)]
    assert dict(zip(cells[::2], cells[1::2], strict=False)) | {"0": "1", "5–8": "3", "9–16": "3"} == dict(
        zip(cells[::2], cells[1::2], strict=False)
    )
    assert '"labels": ["calculus"' in by_tag
    assert '"labels": ["2020-03", "2020-05", "2020-06"]' in by_month


def test_wrong_filter_is_named_and_filters_nothing(organizer: Client, track: Track) -> None:
    import_candidates(track, make_organizer())

    html = page(organizer, f"{address('candidates')}?score=many")
    nothing = page(organizer, f"{address('candidates')}?score=99..")

    assert "score=many cannot be read; use 5, 5.., ..5 or 1..5" in html
    assert len(ids(html)) == 12
    assert "No candidate meets these conditions." in nothing


def test_candidate_shows_text_counts_and_its_duplicates(organizer: Client, track: Track) -> None:
    import_candidates(track, make_organizer())
    make_document(track.collection, "51")  # type: ignore[arg-type]

    html = page(organizer, address("candidate", "9006"))

    assert 'Why is <span class="math-container" data-display="inline">0! = 1</span>?' in html
    assert '<a class="mono" href="/collections/lab-posts/threads/51/"' in html
    assert '<span class="mono">52</span>' in html


def test_drawn_sample_is_that_of_the_command_to_the_byte(
    organizer: Client, track: Track, tmp_path: Path
) -> None:
    import_candidates(track, make_organizer())
    people = [make_organizer("ines"), make_assessor(track, "marek")]
    fields = {
        "where": "score=1.., text=a",
        "quotas": "3: duplicates=1..\r\n1",
        "per_topic": 2,
        "seed": 11,
        "first_person": people[0].pk,
        "second_person": people[1].pk,
        "labels": "category: Proof, concept\nlevel: low, high",
    }

    html = organizer.post(address("new_sample"), fields, follow=True).content.decode()
    file = organizer.get(address("sample_file", 1, "sample.json"))

    assert "Drawn: sample 1." in html
    options = ["--where", "score=1.., text=a", "--quota", "3: duplicates=1..", "--quota", "1"]
    command = [
        "candidates",
        "sample",
        str(path("candidates.jsonl")),
        "--seed",
        "11",
        "--per-topic",
        "2",
        *options,
    ]
    assert main([*command, "--output", str(tmp_path / "s.json"), "--quiet"]) == 0
    assert file.content == (tmp_path / "s.json").read_bytes()
    assert file["Content-Disposition"] == 'attachment; filename="lab-sample-1-sample.json"'
    sample = track.candidate_samples.get()
    assert sample.labels == {"category": ["proof", "concept"], "level": ["low", "high"]}
    assert [row["id"] for row in json.loads(file.content)["sample"]] == [
        row.candidate.docno for row in sample.rows.all()
    ]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"quotas": "9: duplicates=1.."}, "9 wanted, 8 available: duplicates=1.."),
        ({"quotas": "a lot"}, "“a lot” is not a quota"),
        ({"quotas": "1: color=red"}, "“color=red” is not a condition"),
        ({"where": "score=x"}, "score=x cannot be read"),
        ({"labels": "category"}, "“category” is not a name, a colon and values"),
        ({"labels": "score: 1, 2"}, "“score: 1, 2” is not a name"),
        ({"labels": "category: policy"}, "has no category &#x27;policy&#x27;; use"),
        ({"second_person": None}, "Name two different people"),
    ],
)
def test_sample_that_cannot_be_drawn_is_refused_with_the_figures(
    organizer: Client, track: Track, changed: dict[str, Any], words: str
) -> None:
    user, other = make_organizer(), make_organizer()
    import_candidates(track, user)
    fields = {"quotas": "1", "per_topic": 1, "seed": 1, "first_person": user.pk, "second_person": other.pk}
    given = fields | {key: user.pk if value is None else value for key, value in changed.items()}

    html = organizer.post(address("new_sample"), given).content.decode()

    assert words in html
    assert not track.candidate_samples.exists()


def test_people_are_organizers_or_assessors(organizer: Client, track: Track) -> None:
    stranger = make_user()
    import_candidates(track, make_organizer())
    fields = {"quotas": "1", "per_topic": 1, "seed": 1}

    html = organizer.post(
        address("new_sample"), fields | {"first_person": make_organizer().pk, "second_person": stranger.pk}
    ).content.decode()

    assert "Choose one of the list" in html


def test_second_sample_is_drawn_by_decisions_and_labels(organizer: Client, tmp_path: Path) -> None:
    choice = make_choice()
    for docno, category in (("9001", "proof"), ("9002", "proof"), ("9003", "concept")):
        for person in (choice.first, choice.second):
            labels = LABELS | {"category": category}
            choosing.decide(sample=choice.sample, docno=docno, is_accepted=True, labels=labels, by=person)
    quotas = ("1: decision=accepted, category=proof", "1: decision=accepted")

    second = make_sample(choice.track, [choice.first, choice.second], quotas=quotas, seed=3)

    (tmp_path / "labels.csv").write_bytes(organizer.get(address("sample_file", 2, "labels.csv")).content)
    (tmp_path / "sample.json").write_text(second.content)
    command = [
        "candidates",
        "sample",
        str(path("candidates.jsonl")),
        "--labels",
        str(tmp_path / "labels.csv"),
    ]
    again = ["--again", str(tmp_path / "sample.json"), "--output", str(tmp_path / "again.json"), "--quiet"]
    assert main([*command, *again]) == 0
    assert (tmp_path / "again.json").read_text() == second.content
    strata = {row.candidate.docno: row.stratum for row in second.rows.select_related("candidate")}
    assert strata == {"9001": 1, "9002": 1, "9003": 2}


def test_candidates_are_for_organizers_only(client: Client) -> None:
    choice = make_choice()
    client.force_login(choice.second)

    for name, arguments in (("candidates", []), ("candidate", ["9001"]), ("new_sample", [])):
        assert client.get(address(name, *arguments)).status_code == 403
    assert Candidate.objects.count() == 12


FORMULA = '<span class="math-container" data-formula-id="7" data-display="inline">x^2</span>'


def imported_questions(track: Track) -> Collection:
    """A collection that runs search, and one with two later questions, an answer, and all its questions again."""
    searched, later = make_collection("math-2018"), make_collection("math-2020")
    track.collection = searched
    track.save()
    make_document(searched, "1", kind="question", title="Old")
    own = make_document(later, "1", kind="question", title="Old")
    Author.objects.create(collection=later, code="5", name="Ada", reputation=120)
    first = make_document(
        later,
        "90",
        kind="question",
        title=f"Is {FORMULA} even?",
        body="<p>Why, if <em>n</em> is?</p>",
        tags=["parity"],
        score=3,
        author_code="5",
        published_at=datetime(2020, 3, 1, 9, tzinfo=UTC),
    )
    make_document(later, "91", kind="question", title="", body="<p>No title</p>", score=None)
    make_answer(first, "92")
    DocumentLink.objects.create(source=first, target=own, kind="related")
    DocumentLink.objects.create(source=own, target=first, kind="duplicate")
    return later


@pytest.mark.parametrize("is_by_page", [True, False])
def test_questions_of_an_imported_collection_become_candidates(
    organizer: Client, track: Track, tmp_path: Path, is_by_page: bool
) -> None:
    later = imported_questions(track)

    form = page(organizer, address("import_candidates"))
    if is_by_page:
        organizer.post(address("import_candidates"), {"questions": later.slug})
    else:
        answer = call(
            api(make_organizer()), "post", "import_candidates", "lab", data={"questions": later.slug}
        )
        assert answer.status_code == 202
    jobs.run(Job.objects.get().pk)

    assert '<option value="math-2020">' in form
    assert '<option value="math-2018">' not in form
    assert Job.objects.get().error == ""
    assert list(track.candidates.order_by("docno").values_list("docno", flat=True)) == ["90", "91"]
    row = track.candidates.get(docno="90")
    assert (row.score, row.answers, row.formulas, row.reputation, row.tags) == (3, 1, 1, 120, ["parity"])
    assert (row.duplicates, row.related, row.length) == (["1"], [], 7)
    assert row.title == f"Is {FORMULA} even?"
    assert not UnclaimedFile.objects.exists()
    sample = make_sample(track, [make_organizer("ines"), make_organizer("marek")], ("2",))
    file = tmp_path / "candidates.jsonl"
    file.write_bytes(
        b"".join(organizer.get(reverse("tracks:sample_file", args=["lab", 1, "candidates.jsonl"])))
    )
    command = ["candidates", "sample", str(file), "--seed", "7", "--quota", "2", "--per-topic", "10"]
    assert main([*command, "--output", str(tmp_path / "sample.json"), "--quiet"]) == 0
    assert (tmp_path / "sample.json").read_text() == sample.content


def test_collection_without_new_questions_or_two_sources_are_refused(organizer: Client, track: Track) -> None:
    later = imported_questions(track)
    both = {"questions": later.slug, "path": "c.jsonl"}

    refused = page_of_post(organizer, both)
    wrong = page_of_post(organizer, {"questions": "math-2018"})
    organizer.post(address("import_candidates"), {"questions": later.slug})
    later.documents.filter(kind="question").exclude(docno="1").update(kind="document")
    jobs.run(Job.objects.get().pk)

    assert "Choose a file to upload, a path on the server or a collection, and only one of them." in refused
    assert "Choose one of the list" in wrong
    assert "there are no candidates in the file" in Job.objects.get().error
    assert not CandidateFile.objects.exists()


def page_of_post(client: Client, data: dict[str, str]) -> str:
    return client.post(address("import_candidates"), data).content.decode()
