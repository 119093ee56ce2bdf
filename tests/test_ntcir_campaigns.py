"""Two campaigns of NTCIR from the import of their documents to scores worked out by hand, by the pages of the site."""

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assessment.judging import services as task_services
from corpus.models import Collection
from jobs import services as jobs
from jobs.models import Job
from pooling.models import Pool, Run
from scoring.models import Leaderboard, Qrels
from tests.helpers.articles import WILDCARD, article, math, zipped
from tests.helpers.confirming import confirm
from tests.helpers.factories import make_assessor, make_organizer, make_protocol
from tests.helpers.judging import judge, make_batch, make_team
from tracks.models import Track

pytestmark = pytest.mark.django_db

NAMES = ("Ring", "Abel–Ruffini_theorem", "Field_(mathematics),_1")
ARTICLES = {
    f"Articles/{name}.html": article(
        name, *(math(f"x_{n}", f"<mi>x</mi><mn>{n}</mn>", own_id=f"{name}:{n}") for n in range(3))
    )
    for name in NAMES
}
TOPIC = """<topic><num>{code}</num><query><formula id="f.0"><m:math><m:semantics><m:ci>x</m:ci>
<m:annotation-xml encoding="MathML-Presentation"><m:mrow><m:mi>x</m:mi>{wildcard}</m:mrow></m:annotation-xml>
</m:semantics></m:math></formula></query><criteria>Relevant if $x$ is there.</criteria></topic>"""


@pytest.fixture
def organizer(
    client: Client, settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> User:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    organizer = make_organizer()
    client.force_login(organizer)
    return organizer


def opened_track(client: Client, protocol: str, *codes: str) -> Track:
    """A track with imported articles and topics, open for runs."""
    client.post(
        reverse("corpus:start_import"), {"slug": "wiki", "upload": [_file("wiki.zip", zipped(ARTICLES))]}
    )
    run_jobs()
    topics = "".join(TOPIC.format(code=code, wildcard=WILDCARD) for code in codes)
    names = 'xmlns="http://ntcir-math.nii.ac.jp/" xmlns:m="http://www.w3.org/1998/Math/MathML"'
    form = {
        "name": "Walk",
        "slug": "walk",
        "protocol": make_protocol(protocol).pk,
        "collection": Collection.objects.get().pk,
        "topics": _file("topics.xml", f"<topics {names}>{topics}</topics>".encode()),
    }
    client.post(reverse("tracks:new_track"), form)
    confirm(client, reverse("tracks:open_track", args=["walk"]))
    return Track.objects.get()


def submit(client: Client, track: Track, tag: str, text: str) -> None:
    form = {"team": make_team(track).pk, "tag": tag, "kind": "primary", "made": "automatic", "uses": "math"}
    client.post(
        reverse("pooling:submit", args=[track.slug]),
        form | {"action": "submit", "file": _file(f"{tag}.txt", text.encode())},
    )


def pooled(client: Client, track: Track, name: str = "P") -> Pool:
    client.post(reverse("pooling:new_pool", args=[track.slug]), {"name": name, "seed": 7, "order": "random"})
    run_jobs()
    return Pool.objects.get(name=name)


def scored(client: Client, track: Track, pool: Pool) -> dict[str, dict[str, str]]:
    """Freeze the qrels, score the runs, and read the leaderboard's file: run -> column -> value."""
    address = reverse("scoring:freeze", args=[track.slug])
    digest = client.get(address, {"pool": pool.pk}).context["preview"].digest
    client.post(address, {"pool": pool.pk, "digest": digest})
    client.post(reverse("scoring:score", args=[Qrels.objects.get().pk]))
    run_jobs()
    file = reverse("scoring:leaderboard_file", args=[Leaderboard.objects.get().pk, "tsv"])
    header, *rows = (line.split("\t") for line in client.get(file).content.decode().splitlines())
    return {row[1]: dict(zip(header, row, strict=True)) for row in rows}


def run_jobs() -> None:
    for job in Job.objects.filter(state=Job.State.QUEUED).order_by("pk"):
        jobs.run(job.pk)


def _file(name: str, content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


@pytest.mark.usefixtures("organizer")
def test_element_inside_a_formula_ranks_the_formula(client: Client) -> None:
    """NTCIR-10's results name elements: by an id as LaTeXML makes it, or by an XPath with such an id."""
    track = opened_track(client, "ntcir-10-math", "N-1")
    hits = "".join(
        f'<hit xref="f" score="{9 - n}" rank="{n}"><formula xref="{own}"/></hit>'
        for n, own in enumerate(("Ring:2.1.4.cmml", "f#xpointer(//*[@id='Ring:2']/m:mi)", "Ring:0"), 1)
    )

    submit(
        client, track, "xml", f'<results><run runtag="xml"><result for="N-1">{hits}</result></run></results>'
    )

    [run] = Run.objects.all()
    page = client.get(run.get_absolute_url()).content.decode()
    assert "1 of 3 lines name an element inside a formula" in page
    assert "1 repeated lines were left out" in page
    assert run.n_lines == 2


@pytest.mark.usefixtures("organizer")
def test_known_items_of_ntcir_11(client: Client) -> None:
    track = opened_track(client, "ntcir-11-math", "N-1", "N-2")
    first = _file("items.txt", f"N-1 {NAMES[1]}:2\n".encode())
    items = _file("items.txt", f"N-1 {NAMES[1]}:2\nN-2 xxx {NAMES[2]}:0 1.0\n".encode())

    client.post(reverse("tracks:import_topics", args=["walk"]), {"holds": "known items", "upload": first})
    submit(client, track, "other", "N-1 1 Ring:1 1 9 other\n")
    early = pooled(client, track, "too early")
    assert "1 topic has no known item, such as N-2" in client.get(early.get_absolute_url()).content.decode()
    client.post(reverse("tracks:import_topics", args=["walk"]), {"holds": "known items", "upload": items})
    submit(
        client,
        track,
        "good",
        f"N-1 1 {NAMES[1]}:2 1 9 good\nN-2 1 Ring:1 1 9 good\nN-2 1 {NAMES[2]}:0 2 8 good\n",
    )
    submit(
        client,
        track,
        "poor",
        f"N-1 1 Ring:0 1 9 poor\nN-1 1 Ring:1 2 8 poor\nN-1 1 Ring:2 3 7 poor\nN-1 1 {NAMES[1]}:2 4 6 poor\n",
    )
    values = scored(client, track, pooled(client, track))

    assert {tag: row["RR"] for tag, row in values.items()} == {
        "good": "0.7500",
        "poor": "0.1250",
        "other": "0.0000",
    }


def test_wildcard_queries_of_ntcir_10(client: Client, organizer: User) -> None:
    """Two assessors grade three formulas of one topic: 2 + 2, 2 + 0 and 1 + 2. Relevant from 3."""
    track = opened_track(client, "ntcir-10-math", "N-1")
    grades = {"Ring:0": (2, 2), "Ring:1": (2, 0), f"{NAMES[1]}:2": (1, 2)}
    submit(
        client,
        track,
        "first",
        "".join(f"N-1 1 {docno} {n} {-n} first\n" for n, docno in enumerate(grades, 1)),
    )
    submit(client, track, "second", "N-1 1 Ring:1 1 9 second\nN-1 1 Ring:0 2 8 second\n")
    pool = pooled(client, track)
    assessors = [make_assessor(track, name) for name in ("ada", "bob")]
    batch = make_batch(pool, {assessor: list(track.topics.all()) for assessor in assessors})

    for number, assessor in enumerate(assessors):
        client.force_login(assessor)
        while task := task_services.accept_next(batch=batch, assessor=assessor):
            page = client.get(task.get_absolute_url()).content.decode()
            assert r"x \qvar{y}" in page
            assert "Relevant if" in page
            key = ("not-relevant", "partially-relevant", "relevant")[grades[task.entry.docno][number]]
            judge(task, key)
    client.force_login(organizer)
    values = scored(client, track, pool)

    assert {tag: row["P(rel=3)@5"] for tag, row in values.items()} == {"first": "0.4000", "second": "0.2000"}
    assert {tag: row["AP(rel=3)"] for tag, row in values.items()} == {"first": "0.8333", "second": "0.2500"}
    assert {tag: row["P-hit(rel=3)"] for tag, row in values.items()} == {
        "first": "0.6667",
        "second": "0.5000",
    }
