"""The pages of pools for organizers: preview, entries with members, contributions of runs and teams."""

import io
import json
import re
from pathlib import Path
from typing import Any

import lxml.html
import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from assay.html.sanitize import clean_body
from corpus.models import Formula
from jobs import services as jobs
from jobs.models import Job
from pooling.models import Pool
from pooling.pools import previews
from pooling.pools import services as pool_services
from tests.assay.pools.test_depth import SHORTEST
from tests.helpers.extensions import other_packages
from tests.helpers.factories import make_organizer
from tests.helpers.formula_scene import FormulaScene, build_formula_scene
from tests.helpers.judging import make_pool
from tests.pooling.conftest import Scene
from tests.pooling.pools.test_services import build, submit_run
from tracks.models import StoredProtocol

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(client: Client) -> Client:
    client.force_login(make_organizer("maud"))
    return client


@pytest.fixture
def formulas(folder: object) -> FormulaScene:
    scene = build_formula_scene()
    scene.submit("a", [4 * i for i in range(12)] + [1])
    scene.submit("b", [1, 0, 3], team=1)
    return scene


def formula_pool(scene: FormulaScene) -> Pool:
    pool = pool_services.request(track=scene.track, name="Pool 1", seed=7, depth={}, by=scene.organizer)
    assert pool.job_id is not None
    jobs.run(pool.job_id)
    pool.refresh_from_db()
    return pool


def page(client: Client, name: str, *arguments: Any, **query: Any) -> str:
    answer = client.get(reverse(f"pooling:{name}", args=arguments), query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_depths_are_in_the_order_of_the_protocol(scene: Scene, organizer: Client) -> None:
    pool = make_pool(scene.track, {})
    Pool.objects.filter(pk=pool.pk).update(depth={"alternate": 10, "baseline": 5, "primary": 1000})

    shown = page(organizer, "pool", pool.pk) + page(organizer, "pools", scene.track.slug)

    assert " ".join(shown.split()).count("primary 1,000, alternate 10, baseline 5") == 2


def test_failed_pool_is_retried_from_its_page(scene: Scene, organizer: Client) -> None:
    run = submit_run(scene, "a")
    with run.columns.open("rb") as file:
        stored = file.read()
    run.columns.storage.delete(run.columns.name)
    pool = build(scene)
    run.columns.storage.save(run.columns.name, io.BytesIO(stored))
    failed = page(organizer, "pool", pool.pk)

    organizer.post(reverse("jobs:retry", args=[pool.job_id]))

    assert "Retry job" in failed
    pool.refresh_from_db()
    assert pool.status == "building"
    assert "Retry job" not in page(organizer, "pool", pool.pk)


# ---- the preview


def test_no_preview_is_offered_for_a_strategy_without_one(
    scene: Scene, organizer: Client, tmp_path: Path
) -> None:
    slug = scene.track.slug
    submit_run(scene, "one")
    text = scene.track.protocol.text.replace('strategy = "top-k"', 'strategy = "first-rank"')
    StoredProtocol.objects.update(text=f'extensions = ["short"]\n{text}')
    with other_packages(tmp_path, short=SHORTEST):
        assert "first-rank has no preview; the pool itself shows its size." in page(
            organizer, "preview", slug
        )
        assert "Preview size and cost" not in page(organizer, "new_pool", slug)
        refused = organizer.post(reverse("pooling:compute_preview", args=[slug]), {"rate": 10})

    assert refused.status_code == 409
    assert not Job.objects.filter(kind=previews.KIND).exists()


def preview_page(client: Client, slug: str, **query: object) -> str:
    """The page of a preview, after its job."""
    client.post(reverse("pooling:compute_preview", args=[slug]), {"rate": 10, **query})
    jobs.run(Job.objects.filter(kind=previews.KIND).latest("pk").pk)
    return page(client, "preview", slug, **query)


def test_preview_equals_the_built_pool(scene: Scene) -> None:
    submit_run(scene, "a", n=8)
    submit_run(scene, "b", n=8, first=104, kind="alternate")
    preview = previews.preview(scene.track)

    for depth in (1, 3, 6):
        pool = build(scene, name=f"P{depth}", depth=preview.depth_by_kind(depth))

        assert pool.statistics["n"] == preview.totals[depth - 1]
        assert [topic["n"] for topic in pool.statistics["topics"]] == preview.sizes[depth - 1].tolist()


def test_preview_with_a_limit_of_runs_per_team_equals_the_pool_with_it(
    scene: Scene, organizer: Client
) -> None:
    submit_run(scene, "a", n=8)
    submit_run(scene, "b", n=8, first=104, kind="alternate")
    slug = scene.track.slug

    text = preview_page(organizer, slug, depth="4", max_runs_per_team="1")

    assert "max_runs_per_team=1" in text
    pool = build(scene, depth={"primary": 4, "alternate": 2}, max_runs_per_team=1)
    job = Job.objects.filter(kind=previews.KIND).latest("pk")
    assert previews.unpacked(job.result).totals[3] == pool.statistics["n"]
    assert [run["tag"] for run in pool.left_out] == ["b"]
    assert previews.preview(scene.track).totals[3] > pool.statistics["n"]


def test_preview_of_formulas_equals_the_built_pool(formulas: FormulaScene) -> None:
    preview = previews.preview(formulas.track)
    pool = pool_services.request(
        track=formulas.track, name="P", seed=1, depth=preview.depth_by_kind(2), by=formulas.organizer
    )
    jobs.run(pool.job_id or 0)

    pool.refresh_from_db()
    assert pool.statistics["n"] == preview.totals[1] == 2 * 2


def test_budget_gives_the_depth_and_a_link_to_build_it(scene: Scene, organizer: Client) -> None:
    submit_run(scene, "a", n=30)

    text = preview_page(organizer, scene.track.slug, budget="1", rate="120")

    assert "is enough for <strong>depth 10</strong>" in text, "30 units per hour, for three topics"
    assert f"/tracks/{scene.track.slug}/pools/new/?depth_primary=10&amp;depth_alternate=4" in text


def test_link_of_the_preview_fills_in_the_form(scene: Scene, organizer: Client) -> None:
    submit_run(scene, "a")

    text = page(organizer, "new_pool", scene.track.slug, depth_primary="10", seed="nonsense")

    assert 'name="depth_primary" value="10"' in text
    assert text.index('name="depth_primary"') < text.index('name="seed"')


def test_form_proposes_the_same_seed_when_it_is_loaded_again(scene: Scene, organizer: Client) -> None:
    without_runs = page(organizer, "new_pool", scene.track.slug)
    submit_run(scene, "a")
    first, second = (
        re.findall(r'name="seed" value="(\d+)"', page(organizer, "new_pool", scene.track.slug))
        for _ in range(2)
    )

    assert first == second != []
    assert '<form method="post" class="narrow-form"' not in without_runs
    assert "Go to the runs" in without_runs


@pytest.mark.parametrize(
    ("value", "words"), [("false", "The protocol states"), ("true", "The usual depth is")]
)
def test_form_says_whether_the_protocol_fixes_the_depth(
    scene: Scene, organizer: Client, value: str, words: str
) -> None:
    stored = scene.track.protocol
    stored.text = stored.text.replace("depth_is_default = true", f"depth_is_default = {value}")
    stored.save(update_fields=["text"])
    submit_run(scene, "a")

    assert words in page(organizer, "new_pool", scene.track.slug)


def test_preview_is_computed_by_a_job_until_the_runs_change(scene: Scene, organizer: Client) -> None:
    submit_run(scene, "a")
    before = page(organizer, "preview", scene.track.slug)
    first = preview_page(organizer, scene.track.slug)
    again = preview_page(organizer, scene.track.slug, rate="10")
    n_jobs = Job.objects.filter(kind=previews.KIND).count()
    submit_run(scene, "b", first=120)

    later = page(organizer, "preview", scene.track.slug)

    assert "Compute preview" in before
    assert "By topic, at depth" in first
    assert "By topic, at depth" in again
    assert n_jobs == 1
    assert "Compute preview" in later


def test_preview_that_is_being_computed_shows_its_progress(scene: Scene, organizer: Client) -> None:
    submit_run(scene, "a")
    answer = organizer.post(reverse("pooling:compute_preview", args=[scene.track.slug]), {"rate": "10"})

    text = organizer.get(answer["Location"]).content.decode()

    assert answer["Location"].endswith("?rate=10")
    assert "Waiting for a worker" in text


def test_form_of_a_pool_counts_its_units_when_it_arrives(scene: Scene, organizer: Client) -> None:
    submit_run(scene, "a", n=8)
    address, script = reverse("pooling:new_pool", args=[scene.track.slug]), {"HX-Request": "true"}
    form = lxml.html.document_fromstring(organizer.get(address).content)
    estimate = form.get_element_by_id("estimate")
    sent = {"building": "1"} | {
        each.lstrip("#").removeprefix("id_"): "" for each in estimate.get("hx-include").split(", ")
    }

    answer = organizer.post(estimate.get("hx-post"), sent, headers=script)
    waiting = organizer.get(answer["Location"], headers=script).content.decode()
    jobs.run(Job.objects.get(kind=previews.KIND).pk)
    counted = lxml.html.document_fromstring(organizer.get(address, headers=script).content)

    assert (estimate.get("hx-trigger"), estimate.get("hx-select")) == ("load", "#estimate")
    assert json.loads(estimate.get("hx-vals")) == {"building": "1"}
    assert 'hx-trigger="every 1s"' in waiting
    assert counted.get_element_by_id("estimate").findtext(".//th[@scope='row']") == "1 / 1"
    assert counted.get_element_by_id("id_max_runs_per_team") is not None
    for query, depth in (({"depth_primary": "4", "depth_alternate": "2"}, "4 / 2"), ({}, "50 / 20")):
        answered = lxml.html.document_fromstring(organizer.get(address, query, headers=script).content)
        assert answered.findtext(".//tr[@aria-current]/th") == depth, "the row of the depths in the form"


def test_form_of_a_pool_counts_its_units_with_depths_in_another_proportion(
    scene: Scene, organizer: Client
) -> None:
    submit_run(scene, "a", n=8)
    submit_run(scene, "b", n=8, first=120, kind="alternate")
    address, depths = reverse("pooling:new_pool", args=[scene.track.slug]), {"primary": 5, "alternate": 4}
    entered = {f"depth_{kind}": str(k) for kind, k in depths.items()}
    compute = reverse("pooling:compute_preview", args=[scene.track.slug])

    for query in ({}, entered):
        asked = organizer.get(address, query).content.decode()
        answer = organizer.post(compute, {**query, "building": "1"})
        jobs.run(Job.objects.filter(kind=previews.KIND).latest("pk").pk)
    shown = lxml.html.document_fromstring(organizer.get(answer["Location"]).content)

    pool = build(scene, depth=depths)
    estimate = shown.get_element_by_id("estimate")
    assert 'hx-trigger="load"' in asked, "no count of other depths is shown"
    assert pool.statistics["n"] == 27
    assert " ".join(estimate.text_content().split()).count("As in the form: 27 units, ") == 1
    [row] = estimate.xpath(".//tr[@aria-current]")
    assert [each.text_content() for each in row][:2] == ["5 / 4", "27"]
    assert "the protocol" not in estimate.text_content().replace("unless the protocol", "")


def test_form_of_a_pool_with_an_error_counts_the_depths_that_were_typed(
    scene: Scene, organizer: Client
) -> None:
    submit_run(scene, "a", n=8)
    address = reverse("pooling:new_pool", args=[scene.track.slug])
    organizer.post(reverse("pooling:compute_preview", args=[scene.track.slug]), {"building": "1"})
    jobs.run(Job.objects.get(kind=previews.KIND).pk)

    unnamed = organizer.post(address, {"name": "", "depth_primary": "4", "depth_alternate": "2"})
    wrong = organizer.post(address, {"name": "Pool", "depth_primary": "-4", "depth_alternate": "2"})

    shown = lxml.html.document_fromstring(unnamed.content).get_element_by_id("estimate")
    assert shown.findtext(".//tr[@aria-current]/th") == "4 / 2"
    estimate = lxml.html.document_fromstring(wrong.content).get_element_by_id("estimate")
    assert "when the numbers of the form are corrected" in estimate.text_content()
    assert estimate.get("hx-trigger").startswith("change"), "a load would ask again and again"


def test_stored_preview_is_the_computed_one(scene: Scene) -> None:
    submit_run(scene, "a", n=8)
    computed = previews.preview(scene.track)

    stored = json.dumps(previews.packed(computed), sort_keys=True)
    read = previews.unpacked(json.loads(stored))

    assert read.sizes.tolist() == computed.sizes.tolist()
    assert (read.topics.tolist(), read.depths, read.judges) == (
        computed.topics.tolist(),
        computed.depths,
        computed.judges,
    )
    assert list(read.depths) == list(computed.depths), "the order of the protocol"


def test_preview_of_a_top_up_counts_only_new_units(scene: Scene, organizer: Client) -> None:
    submit_run(scene, "a")
    pool = build(scene)
    submit_run(scene, "b", first=102)

    preview = previews.preview(scene.track, tops_up=pool)

    assert preview.totals[3] == 3 * 2
    assert f"tops_up={pool.pk}" in preview_page(organizer, scene.track.slug, tops_up=pool.pk)


def test_preview_shows_errors_of_its_form(scene: Scene, organizer: Client) -> None:
    submit_run(scene, "a")
    build(scene)

    for name, value in (
        ("rate", "0"),
        ("rate", "nan"),
        ("budget", "-1"),
        ("depth", "x"),
        ("depth", "0"),
        ("tops_up", "999999"),
    ):
        shown = page(organizer, "preview", scene.track.slug, **{name: value})
        assert "field-error" in shown, (name, value)


def test_preview_without_runs_explains_itself(scene: Scene, organizer: Client) -> None:
    assert "No runs yet" in page(organizer, "preview", scene.track.slug)


def test_preview_asks_for_clustered_formulas(folder: object, organizer: Client) -> None:
    scene = build_formula_scene(is_clustered=False)
    scene.submit("a", [0, 1])

    assert "first, on the page of its formulas" in preview_page(organizer, scene.track.slug)


def test_visual_ids_of_submitted_formulas_are_made_on_demand(folder: object, organizer: Client) -> None:
    scene = build_formula_scene(protocol="arqmath-2020-task2", is_clustered=False)
    scene.submit("a", [0, 4, 1])
    text = preview_page(organizer, scene.track.slug)
    assert "3 of the submitted formulas have no visual id yet" in text
    assert "Make visual ids" in text
    assert not scene.collection.formulas.exclude(visual="").exists(), "a preview stores nothing"

    # other work on the same track is no job that makes ids
    Job.objects.create(kind="tests.work", title="Work", arguments={"track_id": scene.track.pk})
    answers = [organizer.post(reverse("pooling:make_ids", args=[scene.track.slug])) for _ in range(2)]
    job = Job.objects.get(kind="pooling.make_ids")  # one job for two requests
    jobs.run(job.pk)

    assert [answer["Location"] for answer in answers] == [job.get_absolute_url()] * 2
    assert "Compute preview" in page(organizer, "preview", scene.track.slug), "the ids are new"
    assert previews.preview(scene.track).totals[9] == 2 * 2


def test_too_large_depth_becomes_the_largest(scene: Scene, organizer: Client) -> None:
    submit_run(scene, "a")

    assert "By topic, at depth 100" in preview_page(organizer, scene.track.slug, depth="5000")


def test_runs_of_a_pool_are_listed_page_by_page(
    scene: Scene, organizer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.pages.ROWS_ON_PAGE", 1)
    for tag, docno in (("one", 101), ("two", 102), ("three", 103)):
        submit_run(scene, tag, first=docno)
    pool = build(scene)
    chosen = scene.track.runs.get(tag="one").pk

    for view, start, asked, n in (
        ("pool", 'id="contributions"', {}, 3),
        ("pool_depths", 'id="depths"', {"from": "1"}, 3),
        ("pool_overlap", "<table", {"run": chosen}, 2),
    ):
        first, second, whole = (
            re.findall(r">(one|two|three)<", shown.partition(start)[2].partition("</table>")[0])
            for shown in (page(organizer, view, pool.pk, page=n, **asked) for n in ("1", "2", "all"))
        )
        assert len(first) == len(second) == 1
        assert first != second
        assert len(whole) == n
        assert f"All {n} runs" in page(organizer, view, pool.pk, **asked)


# ---- entries and members


def test_entry_shows_its_members_in_their_paragraphs_with_their_runs(
    formulas: FormulaScene, organizer: Client
) -> None:
    pool = formula_pool(formulas)

    text = page(organizer, "pool_topic", pool.pk, formulas.topic.code)

    assert text.count('<li class="member">') == 5 + 1 + 1
    assert 'data-formula-id="0"' in text
    assert "math-container is-marked" in text
    assert "stands.</p>" in text
    assert "First words of post" not in text, "only the paragraph is shown"
    assert f"/collections/{formulas.collection.slug}/threads/1000/" in text
    assert "12 instances in total" in text
    assert "2 runs, best rank 1" in text


def test_links_and_markup_around_a_formula_lead_nowhere(formulas: FormulaScene, organizer: Client) -> None:
    post = formulas.collection.documents.get(docno="1001")
    link = '<a href="https://example.org/x">there</a> <script>alert(1)</script>'
    post.body = clean_body(f'<p>{link}<span class="math-container" id="1">x</span></p>')
    post.save(update_fields=["body"])
    Formula.objects.filter(code="1").update(latex="</span><script>alert(2)</script>")

    text = page(organizer, "pool_topic", formula_pool(formulas).pk, formulas.topic.code)

    assert "alert(1)" not in text
    assert "<script>alert(2)" not in text
    assert 'class="external-link"' in text
    assert 'href="https://example.org' not in text


def test_page_of_an_entry_lists_its_hidden_members(formulas: FormulaScene, organizer: Client) -> None:
    pool = formula_pool(formulas)
    entry = pool.entries.get(topic=formulas.topic, docno="v0")

    text = page(organizer, "pool_entry", pool.pk, entry.pk)

    hidden = entry.members.filter(position=0).values_list("docno", flat=True)
    latex = dict(formulas.collection.formulas.filter(code__in=hidden).values_list("code", "latex"))
    rows = {docno: text.partition(f'class="mono">{docno}</th>')[2].partition("</td>")[0] for docno in hidden}
    assert len(hidden) == 7
    assert all(f">{escape(latex[docno])}</span>" in row for docno, row in rows.items())
    assert all(f'<th scope="row" class="mono">{docno}</th>' in text for docno in hidden)


def test_entry_of_another_pool_is_not_found(formulas: FormulaScene, organizer: Client) -> None:
    pool = formula_pool(formulas)
    other = pool_services.request(track=formulas.track, name="Other", seed=1, depth={}, by=formulas.organizer)
    jobs.run(other.job_id or 0)

    address = reverse("pooling:pool_entry", args=[pool.pk, other.entries.earliest("pk").pk])

    assert organizer.get(address).status_code == 404


def test_topic_page_takes_few_queries(
    formulas: FormulaScene, organizer: Client, django_assert_max_num_queries: Any
) -> None:
    pool = formula_pool(formulas)

    with django_assert_max_num_queries(17):
        page(organizer, "pool_topic", pool.pk, formulas.topic.code)


def test_answers_are_listed_with_their_runs_page_by_page(scene: Scene, organizer: Client) -> None:
    run = submit_run(scene, "a", n=30)
    pool = build(scene)

    first = page(organizer, "pool_topic", pool.pk, "A.1")
    second = page(organizer, "pool_topic", pool.pk, "A.1", page="2")

    assert (first.count('<article class="entry"'), second.count('<article class="entry"')) == (20, 10)
    assert "1–20 of 30" in first
    assert f'<a href="/runs/{run.pk}/">a</a>' in first
    assert "1 run, best rank" in first


def test_page_of_a_pool_begins_with_its_numbers(scene: Scene, organizer: Client) -> None:
    submit_run(scene, "a", n=30)

    text = page(organizer, "pool", build(scene).pk)

    stats = dict(re.findall(r'<span class="over">([\w ]+)</span>\s*<span class="big">([\d.]+)</span>', text))
    assert stats == {"Units": "90", "Topics": "3", "Units per topic": "30.0", "Runs": "1"}
    assert text.index('class="stats') < text.index('class="facts')
    assert text.count("btn-primary") == 1  # of the line of the next step


def test_topic_without_units_explains_the_reason(scene: Scene, organizer: Client) -> None:
    submit_run(scene, "a")
    first = build(scene)
    second = build(scene, name="Pool 2", tops_up=first)

    text = page(organizer, "pool_topic", second.pk, "A.1")

    assert "are already in Pool 1" in text


def test_topic_of_no_pool_is_not_found(scene: Scene, organizer: Client) -> None:
    submit_run(scene, "a")

    assert organizer.get(reverse("pooling:pool_topic", args=[build(scene).pk, "Z.9"])).status_code == 404


# ---- runs and teams


def test_unique_units_of_teams_are_shown_for_the_pool_and_by_topic(
    formulas: FormulaScene, organizer: Client
) -> None:
    pool = formula_pool(formulas)

    text = page(organizer, "pool", pool.pk)
    by_topic = page(organizer, "pool_depths", pool.pk)

    assert [(team["team"], team["alone"]) for team in pool.statistics["teams"]] == [
        ("Abacus", 0),
        ("Base", 2),
    ]
    assert "33.3 %" in text
    assert '<th scope="row">Base</th><td class="num">1</td><td class="num">1</td>' in by_topic
    assert '<td class="num">13</td>' in by_topic, "run a was pooled down to its last rank"


def test_overlap_of_many_runs_is_limited_and_each_run_has_its_own_table(
    scene: Scene, organizer: Client
) -> None:
    runs = [submit_run(scene, f"run{i:02}", n=3 + i % 5, first=100 + i % 10) for i in range(30)]
    pool = build(scene)

    whole = page(organizer, "pool", pool.pk)
    matrix = page(organizer, "pool_overlap", pool.pk)
    single = page(organizer, "pool_overlap", pool.pk, run=runs[4].pk)
    lines = organizer.get(f"/pools/{pool.pk}/overlap.tsv").content

    assert "Overlap of 30 runs" in whole
    assert matrix.count('class="overlap-tag"') == 24
    assert "6 runs are left out" in matrix
    assert single.count('<th scope="row" class="run-name">') == 29
    assert len(lines.splitlines()) == 30 * 31 / 2


def test_invalid_run_shows_the_matrix(scene: Scene, organizer: Client) -> None:
    submit_run(scene, "a")
    pool = build(scene)

    for run in ("", "x", "-1", "99999999999999999999", "²"):
        assert "Overlap between runs" in page(organizer, "pool_overlap", pool.pk, run=run), run


def test_topics_start_at_an_index_and_an_invalid_one_shows_the_first(scene: Scene, organizer: Client) -> None:
    submit_run(scene, "a")
    pool = build(scene)

    for first in ("2", "x", "-3", "3", "9" * 5000, "²"):
        text = page(organizer, "pool_depths", pool.pk, **{"from": first})

        assert f"Topics {'3 to 3' if first == '2' else '1 to 3'} of 3" in text, first
        assert "No run of this pool has a topic" not in text


# ---- a pool that Assay did not build


def test_ready_pool_without_statistics_has_a_page_and_explains_what_is_missing(
    scene: Scene, organizer: Client
) -> None:
    pool = make_pool(scene.track, {})

    assert "This pool has no statistics" in page(organizer, "pool", pool.pk)
    assert "None" not in page(organizer, "pools", scene.track.slug)
    for name in (
        "pool_contributions",
        "pool_member_contributions",
        "pool_depths",
        "pool_overlap",
        "pool_overlap_file",
    ):
        answer = organizer.get(reverse(f"pooling:{name}", args=[pool.pk]))
        assert (answer.status_code, b"has no statistics" in answer.content) == (409, True), name
