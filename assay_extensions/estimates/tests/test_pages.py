import csv
import html
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from assay.formats.qrels.columns import columns_from
from assay.protocols.measures import parse_measures
from assay.research.comparison import Randomness
from assay.statistics.agreement_report import Graded
from assay.tables import text_of
from assay_extensions.estimates.reading import Machine
from assay_extensions.estimates.site.models import Estimate, Sample
from assay_extensions.estimates.tests.conftest import Rag25
from assay_extensions.estimates.tests.scene import RagTrack, Unit, build_rag_track
from assay_extensions.estimates.value_tables import share_tables, whole_values
from assay_extensions.metaevaluation.alt_test import alt_test
from assessment.batches import services as batch_services
from assessment.models import Batch
from assessment.planning import services as assignments
from jobs import services as jobs
from jobs.models import Job
from scoring.models import Qrels
from tests.helpers.api import api, call
from tests.helpers.factories import make_assessor, make_organizer, make_track
from tests.helpers.judging import make_batch, make_machine
from tests.scoring.conftest import build_scored

pytestmark = pytest.mark.django_db


class Site:
    """The pages of estimates, as an organizer uses them."""

    def __init__(self, rag: RagTrack) -> None:
        self.rag = rag
        self.client = Client()
        self.client.force_login(rag.organizer)
        self.page = reverse("estimates:estimates", args=[rag.track.slug])

    def html(self) -> str:
        return html.unescape(self.client.get(self.page).content.decode())

    def draw(self, **fields: Any) -> Sample:
        """Draw a sample on the page, and run its job."""
        given = {
            "pool": self.rag.pool.pk,
            "name": "Audit",
            "design": "weight",
            "percent": "5",
            "measures": "DCG@20",
        }
        answer = self.client.post(
            reverse("estimates:new_sample", args=[self.rag.track.slug]), given | {"seed": 1} | fields
        )
        assert answer.status_code == 302, answer.content.decode()
        sample = Sample.objects.latest("pk")
        assert sample.job is not None
        jobs.run(sample.job.pk)
        sample.refresh_from_db()
        return sample

    def estimate(self, source: str, measures: str = "") -> Job:
        answer = self.client.post(f"{self.page}compute/", {"source": source, "measures": measures})
        assert answer.status_code == 302, answer.content.decode()
        job = Estimate.objects.latest("pk").job
        assert job is not None
        jobs.run(job.pk)
        job.refresh_from_db()
        return job

    def table(self, name: str) -> list[dict[str, str]]:
        """A table of the newest estimate, as its file."""
        estimate = Estimate.objects.latest("pk")
        answer = self.client.get(f"{self.page}{estimate.pk}/{name}.csv")
        assert answer.status_code == 200
        return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))

    def judged(self, sample: Sample, otherwise: Mapping[Unit, int | None] = MappingProxyType({})) -> None:
        """Let Ada judge the batch of a sample, as the people of the data did."""
        assert sample.batch is not None
        selected = set(sample.batch.selected.values_list("entry__topic__code", "entry__docno"))
        Batch.objects.filter(pk=sample.batch.pk).update(status=Batch.Status.OPEN)
        self.rag.judge(
            sample.batch, self.rag.ada, {unit: self.rag.people[unit] for unit in selected} | otherwise
        )


@pytest.fixture
def rag(db: None, data: Path) -> RagTrack:
    return build_rag_track(data)


@pytest.fixture
def site(rag: RagTrack) -> Site:
    return Site(rag)


def test_known_answers_of_a_sample_are_on_the_page(site: Site, rag: RagTrack, known: dict[str, Any]) -> None:
    batch = rag.people_judge(rag.sample)
    units = [[*unit, rag.sample.get(unit, 1.0), int(unit in rag.sample)] for unit in rag.entries]
    sample = Sample.objects.create(
        track=rag.track, machine=rag.machine, pool=rag.pool, name="Known", design="weight", seed=1,
        arguments={"measures": []}, units=units, batch=batch, created_by=rag.organizer,
    )  # fmt: skip

    job = site.estimate(f"sample-{sample.pk}", "DCG@20 P(rel=2)@20 CG@20 RBP(p=0.8,max_rel=4)@100")
    page = site.html()

    assert job.state == Job.State.DONE, job.error
    names = {"P(rel=2)@20": "P@20", "RBP(max_rel=4)@100": "RBP(0.8)@100"}
    ranking = site.table("ranking")
    assert len(ranking) == 24
    for row in ranking:
        mean, _, low, high, machine = known["difference"][names.get(row["measure"], row["measure"])]["runs"][
            row["run"]
        ]
        assert [row["estimate"], row["low"], row["high"], row["machine"]] == [
            f"{number:.4f}" for number in (mean, low, high, machine)
        ]
        assert f'{mean:.4f} <span class="iv">[{low:.4f}, {high:.4f}]</span>' in page
    for row in site.table("differences"):
        answers = known["difference"][names.get(row["measure"], row["measure"])]["differences"]
        assert row["difference"] == f"{answers[row['first'] + ' - ' + row['second']][0]:.4f}"


def test_an_audit_batch_is_drawn_judged_and_extended(site: Site, rag: RagTrack) -> None:
    sample = site.draw()

    assert sample.batch is not None
    assert (sample.batch.status, sample.batch.kind) == (Batch.Status.DRAFT, Batch.Kind.MAIN)
    assert sample.batch.selected.count() == 259
    assert len(sample.units) == 5163
    assert sum(row[2] for row in sample.units) == pytest.approx(259)
    drawn = {(topic, docno): chance for topic, docno, chance, _ in sample.units}
    assert {unit: drawn[unit] for unit in rag.sample} == pytest.approx(rag.sample, abs=1e-8)  # by DCG@20
    people = Client()
    people.force_login(rag.ada)
    assignments.assign(batch=sample.batch, assessor=rag.ada, topics=list(rag.track.topics.all()))
    batch_services.open_for_judging(batch=sample.batch)
    task = people.get(reverse("assessment:judging", args=[rag.track.slug])).content.decode()
    assert "Llama" not in task
    assert people.get(site.page).status_code == 403

    first = sample.batch.selected.values_list("entry__topic__code", "entry__docno")[0]
    site.judged(sample, {first: None})
    waiting = site.estimate(f"sample-{sample.pk}")
    batch_services.close(batch=sample.batch)
    job = site.estimate(f"sample-{sample.pk}")
    page = site.html()

    assert "People have not judged 1 of 259 units of the sample “Audit”" in waiting.error
    assert job.state == Job.State.DONE, job.error
    assert "People could not grade 1 unit of the sample. It counts with the machine's grade." in page
    assert Estimate.objects.latest("pk").measures == ["P(rel=2)@20"]  # nDCG@10 is no sum over ranks
    assert "One more hour of judging, 60 units, is expected to narrow the intervals of P(rel=2)@20 by" in page
    alone = site.client.get(reverse("estimates:alt_test", args=[rag.machine.pk])).content.decode()
    assert "Not enough grades: a person needs 30 units" in alone
    add = reverse("estimates:next_sample", args=[rag.track.slug, sample.pk])
    assert f'href="{add}?measure=P%28rel%3D2%29%4020"' in page

    given = {"name": "More", "n_units": 30, "measure": "P(rel=2)@20"}
    preview = site.client.post(add, given | {"preview": 1}).content.decode()
    site.client.post(add, given)
    more = Sample.objects.latest("pk")
    assert more.job is not None
    jobs.run(more.job.pk)
    more.refresh_from_db()

    assert "<b>30 units</b> of 5,163 in 11 topics" in preview
    assert "<b>0.5 hours</b>" in preview
    assert "P(rel=2)@20 of the runs is expected to have 95 % intervals of ±" in preview
    assert "; now they have ±" in preview
    assert more.batch is not None
    assert more.batch.selected.count() == 30
    new = set(more.batch.selected.values_list("entry__topic__code", "entry__docno"))
    assert {row[2] for row in more.units if (row[0], row[1]) in new} == {1.0}
    assert sum(row[3] for row in more.units) == 289
    site.judged(more)
    assert site.estimate(f"sample-{more.pk}").state == Job.State.DONE


def test_judgments_of_another_batch_count_in_a_sample(site: Site, rag: RagTrack) -> None:
    judged = make_batch(rag.pool, {rag.ada: list(rag.track.topics.all())})
    sample = site.draw()
    assert sample.batch is not None
    first = sample.batch.selected.values_list("entry__topic__code", "entry__docno")[0]
    rag.judge(judged, rag.ada, rag.people | {first: None})
    given = {
        "pool": rag.pool.pk,
        "name": "More",
        "design": "weight",
        "percent": "5",
        "seed": "1",
        "preview": "1",
    }
    shown = site.client.post(reverse("estimates:new_sample", args=[rag.track.slug]), given).content.decode()
    ready = site.html()
    waiting = site.estimate(f"sample-{sample.pk}")
    batch_services.close(batch=judged)
    job = site.estimate(f"sample-{sample.pk}")

    assert "<b>0.0 hours</b>" in shown
    assert "no unit is left to assign; judgments in other batches count" in ready
    assert "People have not judged 1 of 259 units" in waiting.error
    assert job.state == Job.State.DONE, job.error
    page = site.html()
    assert "258 units judged by people" in page
    assert "People could not grade 1 unit of the sample." in page


def test_leaderboard_of_a_machine_leads_to_its_estimates_by_either_method(
    monkeypatch: pytest.MonkeyPatch, settings: LazySettings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    scene, client = build_scored(), Client()
    client.force_login(scene.organizer)
    of_people = scene.leaderboard()
    machine = make_machine(scene.track, scene.organizer)
    of_machine = scene.leaderboard(scene.qrels(b"A.1 0 10 2\n"))
    Qrels.objects.filter(pk=of_machine.qrels_id).update(machine=machine, machine_name=str(machine))
    estimates = f"{reverse('estimates:estimates', args=[scene.track.slug])}?machine={machine.pk}"

    assert f'href="{estimates}"' in client.get(of_machine.get_absolute_url()).content.decode()
    assert estimates not in client.get(of_people.get_absolute_url()).content.decode()
    assert client.get(estimates).status_code == 200


def test_whole_topics_give_any_measure_shares_and_bias(site: Site, rag: RagTrack, rag25: Rag25) -> None:
    left = {"72", "707"}
    rag.people_judge([unit for unit in rag.entries if unit[0] not in left])
    type(rag.machine).objects.update(family="Llama")
    rag.track.runs.filter(tag="r4").update(models_used="llama-3.1-70b; llama")
    offered = site.html()

    job = site.estimate(f"pool-{rag.pool.pk}")

    assert "prediction-powered inference (PPI++)" in offered
    assert job.state == Job.State.DONE, job.error
    protocol, grades = (
        rag.track.protocol.parsed,
        columns_from(
            (topic.encode(), docno.encode(), grade)
            for (topic, docno), grade in rag.people.items()
            if topic not in left
        ),
    )
    measures = parse_measures(["nDCG@10", "P(rel=2)@20"])
    machine = Machine(replace(rag25.machine.inputs, measures=measures), "machine")
    ranking = whole_values(machine, grades, Randomness())[0]
    assert [tuple(row.values()) for row in site.table("ranking")] == [
        tuple(map(text_of, row)) for row in ranking.rows
    ]
    share = share_tables(machine, machine.drawn_by(grades), protocol.scoring.relevant_from)[0]
    assert tuple(site.table("share")[0].values()) == tuple(map(text_of, share.rows[0]))
    slopes = {row["attribute"]: row for row in site.table("slopes")}
    assert set(slopes) == {"best rank", "log length", "share of topic words"}
    assert [row["of"] for row in site.table("leniency")][-1] == "run r6"
    [preference] = site.table("preference")
    assert float(preference["low"]) > 0  # r4 follows the grades of the machine
    reranked = {(row["measure"], row["run"]): float(row["difference"]) for row in site.table("reranked")}
    assert {measure for measure, _ in reranked} == {"P(rel=2)@20"}
    assert reranked["P(rel=2)@20", "r1"] > reranked["P(rel=2)@20", "r4"]  # r1 follows people
    given = {"pool": rag.pool.pk, "name": "Audit", "design": "weight", "measures": "DCG@20", "preview": 1}
    new = reverse("estimates:new_sample", args=[rag.track.slug])
    few, many = (site.client.post(new, given | {"percent": n}).context["expected"] for n in (2, 20))
    assert few.whole == many.whole
    assert few.most > many.most > many.whole[1]
    shown = site.client.post(new, given | {"percent": 5}).content.decode()
    assert "DCG@20 of the runs is expected to have 95 % intervals of ±" in shown
    assert f"This follows from {few.n_known:,} units" in shown


def test_alt_test_on_the_page_of_a_machine(site: Site, rag: RagTrack) -> None:
    """The numbers are those of the library, whose known answers are tests of `metaevaluation`."""
    bob = make_assessor(rag.track, "bob")
    topics = list(rag.track.topics.all())
    units = [unit for unit in rag.entries if unit[0] == "14"]
    batch = make_batch(rag.pool, {rag.ada: topics, bob: []}, judges=2)
    rag.judge(batch, rag.ada, {unit: rag.people[unit] for unit in units})
    rag.judge(batch, bob, {unit: rag.machine_grades[unit] for unit in units}, seat=2)
    address = reverse("estimates:alt_test", args=[rag.machine.pk])

    page = site.client.get(address).content.decode()
    strict = site.client.get(f"{address}?epsilon=0&score=neg_rmse").content.decode()
    wrong = site.client.get(f"{address}?epsilon=2")
    people = site.client.get(f"{address}people.csv?epsilon=0.2").content.decode()

    rows = [(*unit, name, grades[unit]) for unit in units for name, grades in
            (("ada", rag.people), ("bob", rag.machine_grades), ("m", rag.machine_grades))]  # fmt: skip
    own = alt_test(Graded.from_rows(rows), "m", epsilon=0.2)
    assert "It can replace 1 of 2 people" in page or "can replace 2 of 2 people" in page
    assert page != strict
    assert wrong.status_code == 422
    assert [row.split(",")[:3] for row in people.splitlines()[1:]] == [
        [test.person, str(test.n_units), f"{test.advantage:.4f}"] for test in own.tests
    ]
    assert address in site.client.get(rag.machine.get_absolute_url()).content.decode()


DESIGNS: list[tuple[dict[str, Any], int]] = [
    ({"design": "uniform", "percent": "2"}, 103),
    ({"design": "strata", "n_units": "200", "strata": ["grade", "run"]}, 200),
    ({"design": "weight", "has_fit": "on"}, 259),
]


def test_designs(site: Site, rag: RagTrack) -> None:
    for fields, n in DESIGNS:
        name = fields["design"]
        sample = site.draw(**fields, name=name)

        assert sample.batch is not None
        assert sample.batch.selected.count() == n
        n_chances = max(len({row[2] for row in sample.units if row[0] == topic}) for topic in ("14", "72"))
        assert (n_chances == 1) == (name == "uniform")
        assert len(sample.fit) == (5 if "has_fit" in fields else 0)
        assert site.draw(**fields, name=f"{name} again").units == sample.units
        assert site.draw(**fields | {"name": f"{name}, other", "seed": 2}).units != sample.units

    fit = Sample.objects.get(name="weight")
    site.judged(fit)
    site.estimate(f"sample-{fit.pk}", "DCG@20")
    topics = set(rag.track.topics.values_list("code", flat=True)) - set(fit.fit)
    assert {row["topic"] for row in site.table("topics")} == topics


WRONG: list[tuple[dict[str, str], str]] = [
    ({"percent": ""}, "This design needs it."),
    ({"design": "strata"}, "This design needs it."),
    ({"percent": "120"}, "a number of at most 100."),
    ({"measures": "nDCG@10"}, "nDCG@10 cannot be estimated from sampled units"),
    ({"measures": "what"}, "there is no measure 'what'"),
    ({"design": "next"}, "Choose one of the list"),
    ({"pool": "0"}, "Choose one of the list"),
    ({"design": "strata", "n_units": "6000", "preview": "1"}, "The pool has 5,163 units"),
]


def test_wrong_samples_are_answered(site: Site, rag: RagTrack) -> None:
    new = reverse("estimates:new_sample", args=[rag.track.slug])
    given = {"pool": rag.pool.pk, "name": "Audit", "design": "weight", "percent": "5"}
    for fields, words in WRONG:
        answer = site.client.post(new, given | fields)

        assert (answer.status_code, words in html.unescape(answer.content.decode())) == (422, True), words
    assert not Sample.objects.exists()

    sample = site.draw()
    again = site.client.post(new, given)
    few = site.draw(name="Few", design="strata", n_units="3", strata=["grade", "rank", "run"])

    assert "already has a batch “Audit”" in again.content.decode()
    assert (few.batch, few.job is not None) == (None, True)
    assert "3 units are too few for" in site.html()
    assert sample.batch is not None
    batch_services.delete(batch=sample.batch, by=rag.organizer)
    assert not Sample.objects.filter(name="Audit").exists()


@pytest.mark.usefixtures("db")
def test_pages_without_data_say_what_to_do() -> None:
    track, client, organizer = make_track("other"), Client(), make_organizer("omar")
    client.force_login(organizer)
    page = reverse("estimates:estimates", args=["other"])

    empty = client.get(page).content.decode()
    machine = make_machine(track, organizer, name="New")
    unused = client.get(page).content.decode()
    test = client.get(reverse("estimates:alt_test", args=[machine.pk])).content.decode()

    assert "No machine yet" in empty
    assert "New 3.1 has no pool yet" in unused
    assert "New 3.1 has graded nothing yet." in test


def test_known_agreement_of_people_and_a_model_is_on_the_page_and_the_card(
    site: Site, rag: RagTrack, data: Path
) -> None:
    """The answers are those of irrCAC about the same pairs."""
    answers = json.loads((data / "judges/rag25/agreement.answers.json").read_text())
    rag.people_judge(rag.entries)

    page = site.client.get(reverse("assessment:agreement", args=[rag.track.slug])).content.decode()
    card = call(api(rag.organizer), "get", "machine_card", rag.machine.pk).json()

    assert card["tested_on"]["n_shared"] == answers["pairs"] == 5163
    theirs = {"kappa": "identity", "linear": "linear", "quadratic": "quadratic"}
    for name, weights in theirs.items():
        known = answers[f"conger/{weights}"]["coefficient_value"]
        assert card["agreement"][name] == pytest.approx(known, abs=1e-7)
        assert f"{known:.3f}" in page
