"""A lab that judges preferences, from the import of its files to its archive."""

import json
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assay import samples
from assay.cli.main import main
from assay.errors import Refused
from assessment.judging import services as task_services
from assessment.judgments import services as judgment_services
from assessment.models import Batch, Judgment
from jobs.models import Job
from pooling.models import Pool
from pooling.pools import services as pool_services
from scoring.models import Leaderboard, Qrels
from scoring.qrels.selectors import qrels_tsv
from tests.helpers.judging import make_batch
from tests.publishing.archives.conftest import archive_of, written
from tests.publishing.archives.test_arguments import build_campaign, run, scored
from tests.publishing.archives.test_services import findings_of, load, rewritten
from tracks.models import Track

LAB = samples.path("pairs-lab.toml").read_text()
WORTH = (4, 3, 2, 1, 0)  # of the documents of a topic, by the end of their ids; 1 and 0 are useless


def choice_for(docno: str) -> str:
    """The choice of somebody who knows what the documents are worth."""
    first, second = (WORTH[int(name[-1])] for name in docno.split("|"))
    if max(first, second) <= 1:
        return "bad"
    return "first" if first > second else "second"


def judge_all(batch: Batch, assessor: User) -> None:
    while task := task_services.accept_next(batch=batch, assessor=assessor):
        judgment_services.submit(task=task, choice=choice_for(task.entry.docno), request_id=uuid4())


@pytest.mark.django_db
def test_a_lab_of_preferences_is_verified_and_loaded(tmp_path: Path) -> None:
    campaign = build_campaign(LAB)
    judge_all(campaign.main, campaign.ada)
    judge_all(campaign.dual, campaign.bob)
    scored(campaign)
    path = written(archive_of(campaign.track, campaign.organizer), tmp_path)

    findings = findings_of(path)
    load(path, campaign.organizer, slug="again")

    assert main(["archive", "verify", "--quiet", str(path)]) == 0
    assert campaign.pool.statistics["n"] == 20, "ten pairs of five documents, of two topics"
    assert [finding for finding in findings if not finding.is_right] == []
    again = Track.objects.get(slug="again")
    versions = [
        list(Qrels.objects.filter(track=track).order_by("version")) for track in (campaign.track, again)
    ]
    assert [each.report.get("set", "") for each in versions[1]] == ["", "strength", "votes"]
    assert [qrels_tsv(each) for each in versions[1]] == [qrels_tsv(each) for each in versions[0]]
    assert qrels_tsv(versions[0][0]).decode().split("\n")[:5] == [
        "1\t0\t1-0\t8", "1\t0\t1-1\t6", "1\t0\t1-2\t4", "1\t0\t1-3\t0", "1\t0\t1-4\t0"
    ]  # fmt: skip
    measures = [
        list(Leaderboard.objects.filter(track=track).order_by("pk").values_list("measures", flat=True))
        for track in (campaign.track, again)
    ]
    assert measures == [[["Compat(p=0.8)", "nDCG@5"], ["Compat(p=0.8)"], ["PGC"]]] * 2
    lefts = [
        sorted(Judgment.objects.filter(track=track).values_list("docno", "left"))
        for track in (campaign.track, again)
    ]
    assert lefts[0] == lefts[1]
    assert {docno.split("|").index(left) for docno, left in lefts[0]} == {0, 1}, "sides are drawn"
    assert Pool.objects.get(track=again).sha256 == campaign.pool.sha256


TOURNAMENT = (
    LAB.replace('selection = "all"', 'selection = "tournament"')
    .replace('[qrels]\npreferences = "copeland"', '[qrels]\npreferences = "tournament"')
    .replace("[judging]\n", "k = 1\n[judging]\n")
)


def best_of(track: Track) -> list[str]:
    """The documents of a topic that the first version of the qrels has on top."""
    entries = Qrels.objects.get(track=track, version=1).entries.filter(topic="1", grade__gt=100)
    return sorted(entries.values_list("docno", flat=True))


@pytest.mark.django_db
@pytest.mark.parametrize("k", [1, 3])
def test_a_tournament_makes_as_many_documents_the_best_as_the_protocol_says(k: int) -> None:
    campaign = build_campaign(TOURNAMENT.replace("k = 1", f"k = {k}"))
    judge_all(campaign.main, campaign.ada)
    client = Client()
    client.force_login(campaign.organizer)
    address = reverse("scoring:freeze", args=[campaign.track.slug])

    preview = client.get(address, {"pool": campaign.pool.pk})
    digest = preview.context["preview"].digest
    client.post(address, {"pool": campaign.pool.pk, "name": "", "digest": digest, "also": []})

    assert "The winners of the tournament have 101" in preview.content.decode()
    assert best_of(campaign.track) == ["1-0", "1-1", "1-2"][:k]


@pytest.mark.django_db
def test_rounds_of_a_tournament_are_pools_that_top_up(tmp_path: Path) -> None:
    campaign = build_campaign(TOURNAMENT.replace("k = 1", "k = 1\npartners = 2\nfew = 3"))
    request = partial(
        pool_services.request, track=campaign.track, depth={}, by=campaign.organizer, tops_up=campaign.pool
    )
    with pytest.raises(Refused, match=r"one seed\. Use that of the pool Pool, 7"):
        request(name="Other", seed=8)
    early = request(name="Early", seed=7)
    run(early.job_id)
    assert (
        "the 10 of this round are in the earlier pool; judge them first"
        in Job.objects.get(pk=early.job_id).error
    )
    judge_all(campaign.main, campaign.ada)

    second = request(name="Round 2", seed=7)
    run(second.job_id)
    second.refresh_from_db()
    topics = list(campaign.track.topics.filter(pool_entries__pool=second).distinct())
    judge_all(make_batch(second, {campaign.ada: topics}), campaign.ada)
    scored(campaign._replace(pool=second))
    path = written(archive_of(campaign.track, campaign.organizer), tmp_path)

    assert second.votes.count("\n") == campaign.pool.statistics["n"] == 10
    assert 0 < second.statistics["n"] < 10
    assert best_of(campaign.track) == ["1-0"]
    assert [finding for finding in findings_of(path) if not finding.is_right] == []
    load(path, campaign.organizer, slug="again")
    assert Pool.objects.get(track__slug="again", name="Round 2").sha256 == second.sha256


@pytest.mark.django_db
def test_judgments_that_are_undone_after_freezing_raise_no_false_alarm(tmp_path: Path) -> None:
    campaign = build_campaign(LAB)
    judge_all(campaign.main, campaign.ada)
    undone = [each.task for each in Judgment.objects.order_by("?")[:3]]
    task_services.undo(task=undone[0])  # it does not count
    scored(campaign)
    for task in undone[1:]:  # they counted
        task_services.undo(task=task)
    path = written(archive_of(campaign.track, campaign.organizer), tmp_path)

    load(path, campaign.organizer, slug="again")

    assert [finding for finding in findings_of(path) if not finding.is_right] == []
    again = written(archive_of(Track.objects.get(slug="again"), campaign.organizer), tmp_path)
    assert [finding for finding in findings_of(again) if not finding.is_right] == [], "numbers are kept"


@pytest.mark.django_db
def test_numbers_of_no_judgments_are_refused(tmp_path: Path) -> None:
    campaign = build_campaign(LAB)
    judge_all(campaign.main, campaign.ada)
    scored(campaign)
    path = written(archive_of(campaign.track, campaign.organizer), tmp_path)

    def forge(name: str, content: bytes) -> bytes:
        index = json.loads(content) if name == "archive.json" else {}
        for qrels in index.get("qrels", ()):
            qrels["report"]["judgments"] = [[1, 10**12]]
        return json.dumps(index).encode() if index else content

    forged = rewritten(path, forge)

    assert main(["archive", "verify", "--quiet", str(forged)]) != 0
    loaded = load(forged, campaign.organizer, slug="again")
    assert loaded.job is not None
    assert "The judgments of the qrels version 1: 1 to 1000000000000 is no range" in loaded.job.error


@pytest.mark.django_db
def test_changed_preferences_are_found_if_all_digests_are_made_again(tmp_path: Path) -> None:
    campaign = build_campaign(LAB)
    judge_all(campaign.main, campaign.ada)
    scored(campaign)
    path = written(archive_of(campaign.track, campaign.organizer), tmp_path)

    def forge(name: str, content: bytes) -> bytes:
        is_forged = name == "judgments.jsonl"
        return content.replace(b'"choice": "first"', b'"choice": "second"', 1) if is_forged else content

    wrong = [finding.part for finding in findings_of(rewritten(path, forge)) if not finding.is_right]

    assert wrong == ["qrels version 1", "qrels version 2", "qrels version 3"]
