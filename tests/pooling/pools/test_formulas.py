"""Pools of visually distinct formulas as jobs: entries, members, and the contributions of runs."""

import hashlib
import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from jobs import services as jobs
from pooling.models import Contribution, MemberContribution, Pool, PoolEntry, PoolMember
from pooling.pools import exports as pool_exports
from pooling.pools import services as pool_services
from pooling.pools.entries import shown_documents
from pooling.runs import services as run_services
from tests.helpers.formula_scene import SHAPES, FormulaScene, build_formula_scene

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("folder")]


@pytest.fixture
def formulas() -> FormulaScene:
    return build_formula_scene()


def build(scene: FormulaScene, name: str = "Pool 1", **options: object) -> Pool:
    arguments = {"seed": 7, "depth": {}} | options
    pool = pool_services.request(track=scene.track, name=name, by=scene.organizer, **arguments)  # type: ignore[arg-type]
    assert pool.job_id is not None
    jobs.run(pool.job_id)
    pool.refresh_from_db()
    return pool


def test_units_are_distinct_formulas_and_members_their_instances(formulas: FormulaScene) -> None:
    formulas.submit("a", [0, 4, 8, 1, 5, 2])
    formulas.submit("b", [12, 0, 3], team=1)

    pool = build(formulas)

    assert pool.status == "ready", pool.job and pool.job.error
    entries = PoolEntry.objects.filter(pool=pool, topic=formulas.topic)
    assert sorted(entry.docno for entry in entries) == ["v0", "v1", "v2", "v3"]
    assert all(entry.document_id is None for entry in entries)
    members = PoolMember.objects.filter(entry__in=entries.filter(docno="v0"))
    assert sorted(member.docno for member in members) == ["0", "12", "4", "8"]
    client = Client()
    client.force_login(formulas.organizer)
    page = " ".join(client.get(pool.get_absolute_url()).content.decode().split())
    assert "16 instances, of which assessors see 16" in page


def test_depth_counts_distinct_formulas(formulas: FormulaScene) -> None:
    formulas.submit("a", [0, 4, 8, 1, 5, 2])

    pool = build(formulas, depth={"primary": 2})

    entries = PoolEntry.objects.filter(pool=pool, topic=formulas.topic)
    assert sorted(entry.docno for entry in entries) == ["v0", "v1"]
    assert pool.statistics["runs"][0]["reach"] == [4, 4]


def test_at_most_five_members_are_shown_and_all_are_stored(formulas: FormulaScene, client: Client) -> None:
    formulas.submit("a", [4 * i for i in range(12)])

    pool = build(formulas)

    entry = PoolEntry.objects.get(pool=pool, topic=formulas.topic)
    assert entry.members.count() == 12
    shown = entry.members.filter(position__gt=0).order_by("position")
    assert [member.position for member in shown] == [1, 2, 3, 4, 5]
    client.force_login(formulas.organizer)
    page = client.get(reverse("pooling:pool", args=[pool.pk])).content.decode()
    assert "2 of 2 units (100.0 %) have more instances than assessors see" in page
    rules = client.get(reverse("papers:comparison_file", args=["judging", "csv"]), {"track": pool.track.slug})
    assert "Judged in part,2 of 2 units (100.0 %)" in rules.content.decode()


def test_members_that_nobody_sees_come_as_people_read_their_ids(
    formulas: FormulaScene, client: Client
) -> None:
    """The members that are hidden were found by no run: as many runs and the same rank each."""
    formulas.submit("a", [4 * i for i in range(12)])
    pool = build(formulas)
    entry = PoolEntry.objects.get(pool=pool, topic=formulas.topic)
    MemberContribution.objects.filter(member__entry=entry).delete()
    client.force_login(formulas.organizer)

    page = client.get(reverse("pooling:pool_entry", args=[pool.pk, entry.pk])).content.decode()

    hidden = entry.members.filter(position=0).values_list("docno", flat=True)
    places = [page.index(f">{docno}<") for docno in sorted(hidden, key=int)]
    assert places == sorted(places)


def test_members_record_their_posts_and_contributing_runs(formulas: FormulaScene) -> None:
    first = formulas.submit("a", [4, 1])
    second = formulas.submit("b", [1, 0, 4], team=1)

    pool = build(formulas)

    member = PoolMember.objects.get(entry__pool=pool, entry__topic=formulas.topic, docno="4")
    assert (member.post, member.thread) == ("1004", "1003")
    assert member.document == formulas.collection.documents.get(docno="1004")
    of_member = MemberContribution.objects.filter(member=member).order_by("run").values_list("run", "rank")
    assert list(of_member) == [(first.pk, 1), (second.pk, 3)]
    of_unit = Contribution.objects.filter(entry=member.entry).order_by("run").values_list("run", "rank")
    assert list(of_unit) == [(first.pk, 1), (second.pk, 2)], "a unit's rank is that of its first instance"


def test_same_runs_and_seed_give_the_same_members(formulas: FormulaScene) -> None:
    formulas.submit("a", [4 * i for i in range(12)])

    first, second = build(formulas), build(formulas, name="Pool 2")
    other = build(formulas, name="Pool 3", seed=8)

    assert first.statistics["members"]["sha256"] == second.statistics["members"]["sha256"]
    assert first.statistics["members"]["sha256"] != other.statistics["members"]["sha256"]
    assert first.sha256 == second.sha256
    lines = b"".join(pool_exports.member_lines(first))
    assert hashlib.sha256(lines).hexdigest() == first.statistics["members"]["sha256"]


def test_formulas_without_visual_ids_fail_the_pool() -> None:
    scene = build_formula_scene(is_clustered=False)
    scene.submit("a", [0, 1])

    pool = build(scene)

    assert pool.status == "failed"
    assert pool.job is not None
    assert "Cluster the formulas of" in pool.job.error
    assert not PoolEntry.objects.exists()


def test_track_without_a_collection_cannot_pool_formulas(formulas: FormulaScene) -> None:
    formulas.submit("a", [0, 1])
    formulas.track.collection = None
    formulas.track.save(update_fields=["collection"])

    pool = build(formulas)

    assert pool.job is not None
    assert "needs a collection with a formula index, but formulas has no collection" in pool.job.error


def test_submitted_instances_are_clustered_if_the_protocol_says_so() -> None:
    scene = build_formula_scene(protocol="arqmath-2020-task2", is_clustered=False)
    scene.submit("a", [0, 4, 1])

    pool = build(scene)

    assert pool.status == "ready", pool.job and pool.job.error
    sizes = [entry.members.count() for entry in PoolEntry.objects.filter(pool=pool, topic=scene.topic)]
    assert sorted(sizes) == [1, 2]
    clustered = scene.collection.formulas.exclude(visual="").values_list("code", flat=True)
    assert sorted(clustered) == ["0", "1", "4"], "only the submitted formulas"


def test_top_up_contains_only_new_formulas(formulas: FormulaScene) -> None:
    formulas.submit("a", [0, 1])
    first = build(formulas)
    formulas.submit("late", [4, 2], team=1)

    second = build(formulas, name="Pool 2", tops_up=first)

    entries = PoolEntry.objects.filter(pool=second, topic=formulas.topic)
    assert [entry.docno for entry in entries] == ["v2"]
    assert second.statistics["n_already"] == 4
    assert pool_exports.pool_record(second)["tops_up"] == [{"pool": "Pool 1", "sha256": first.sha256}]


def test_top_up_without_new_formulas_is_empty(formulas: FormulaScene) -> None:
    formulas.submit("a", [0, 1])
    first = build(formulas)

    second = build(formulas, name="Pool 2", tops_up=first)

    assert (second.status, second.statistics["n"]) == ("ready", 0)


def test_single_formula_refers_to_its_post() -> None:
    scene = build_formula_scene(protocol="ntcir-12-wikipedia")
    kind = scene.track.protocol.parsed.runs.keys[0]
    lines = "".join(f"B.1 1 {n} {n} {-n} wiki\n" for n in range(1, 4))
    run_services.submit(
        track=scene.track,
        team=scene.teams[0],
        by=scene.organizer,
        file=io.BytesIO(lines.encode()),
        file_name="wiki.txt",
        declared=run_services.Declaration(kind=kind),
    )

    pool = build(scene)

    assert pool.status == "ready", pool.job and pool.job.error
    posts = PoolEntry.objects.filter(pool=pool).order_by("docno").values_list("docno", "document__docno")
    assert list(posts) == [("1", "1001"), ("2", "1002"), ("3", "1003")]
    assert not PoolMember.objects.exists()


def test_command_tops_up_a_pool_in_another_order(formulas: FormulaScene) -> None:
    formulas.submit("a", [0, 1])
    build(formulas)
    formulas.submit("late", [2], team=1)
    options: dict[str, Any] = {"seed": 1, "by": formulas.organizer.username, "order": "by-run-votes"}

    call_command("build_pool", formulas.track.slug, name="Pool 2", top_up="Pool 1", **options)

    pool = Pool.objects.get(name="Pool 2")
    assert (pool.order, pool.statistics["n"]) == ("by-run-votes", 2)
    with pytest.raises(CommandError, match="has no pool named Pool 9"):
        call_command("build_pool", formulas.track.slug, name="Pool 3", top_up="Pool 9", **options)


def test_formula_on_a_page_is_that_of_the_collection_of_the_track(formulas: FormulaScene) -> None:
    shown = shown_documents(formulas.collection, ["4", "5"])

    assert {docno: each.latex for docno, each in shown.items()} == {"4": SHAPES[0], "5": SHAPES[1]}
    assert {each.address for each in shown.values()} == {
        f"/collections/posts/threads/1003/#post-{1000 + n}" for n in (4, 5)
    }
