"""The pages of agreement, as organizers see them."""

import csv
import re
from html import unescape
from io import StringIO

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from assessment.models import Batch, Judgment
from corpus.models import Formula
from pooling.models import PoolEntry
from scoring.models import Leaderboard
from scoring.qrels.services import freeze_judgments
from tests.assessment.conftest import Scene
from tests.helpers.factories import make_document, make_organizer, make_user
from tests.helpers.judging import accept, judge, judge_all, make_batch
from tracks.models import Topic, Track

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(scene: Scene) -> Client:
    client = Client()
    client.force_login(make_organizer())
    return client


@pytest.fixture
def dual(scene: Scene) -> Scene:
    """Ada judged the six units high, medium, low, not, high, and "do not know"; Bob, in a batch of second judgments,
    judges the same high, low, low, not, not, high."""
    choices = iter(("high", "medium", "low", "not-relevant", "high"))
    for choice in choices:
        judge(accept(scene.batch, scene.ada), choice, comment=f"Ada finds it {choice}. $x^2$ & <b>")
    judge(accept(scene.batch, scene.ada), "do-not-know", comment="It is in Russian.")
    second = make_batch(scene.pool, {scene.bob: [scene.first, scene.second]}, kind=Batch.Kind.DUAL)
    for choice in ("high", "low", "low", "not-relevant", "not-relevant", "high"):
        judge(accept(second, scene.bob), choice)
    return scene


def page(client: Client, name: str, track: Track, **query: str | int) -> str:
    response = client.get(reverse(f"assessment:{name}", args=[track.slug]), query)
    assert response.status_code == 200
    return response.content.decode()


def test_page_without_shared_units_says_how_to_share_them(scene: Scene, organizer: Client) -> None:
    judge(accept(scene.batch, scene.ada))

    html = page(organizer, "agreement", scene.track)

    assert "No unit has the grades of two assessors: 1" in html
    assert "batch of second judgments" in html


def test_one_shared_unit_is_one(scene: Scene, organizer: Client) -> None:
    judge(accept(scene.batch, scene.ada))
    judge(accept(make_batch(scene.pool, {scene.bob: [scene.first]}, kind=Batch.Kind.DUAL), scene.bob))

    html = page(organizer, "agreement", scene.track)

    assert 'Shared units</span>\n<span class="big">1</span>' in html


def test_page_shows_kappa_worked_out_by_hand(dual: Scene, organizer: Client) -> None:
    html = page(organizer, "agreement", dual.track)

    # Five units with two grades: (3,3) (2,1) (1,1) (0,0) (3,0). They agree on 3; chance gives
    # (2*1 + 1*0 + 1*2 + 1*2) / 25 = 0.24, so kappa = (0.6 - 0.24) / 0.76 = 0.474.
    # Two-way from medium: ada 1 1 0 0 1, bob 1 0 0 0 0; agree on 3, chance 0.12 + 0.32 = 0.44: 0.16 / 0.56 = 0.286.
    assert 'Shared units</span>\n<span class="big">5</span>' in html
    assert "60 %" in html
    assert "0.474" in html
    assert "0.286" in html
    assert "1 without a grade, left out here" in html
    assert re.search(r"Mean of Cohen's kappa</span>\s*<span class=\"big\">\s*0.474", html)
    assert re.search(r'A\.1</a>\s*<span class="optional math">\s*<bdi>Title of A\.1', html)


def test_agreement_that_may_be_chance_is_said_where_somebody_decides(dual: Scene, organizer: Client) -> None:
    Batch.objects.update(status=Batch.Status.CLOSED)
    paths = [reverse("scoring:freeze", args=[dual.track.slug]), dual.track.get_absolute_url()]
    remark = "The agreement of assessors may be no better than chance (alpha "

    doubtful = [unescape(organizer.get(path).content.decode()) for path in paths]

    for html in doubtful:
        assert f'href="{reverse("assessment:disagreements", args=[dual.track.slug])}">' in html
        assert remark in html
    assert "May be no better than chance" in page(organizer, "agreement", dual.track)
    for key in ("agreement", "agreement:done"):
        Track.objects.update(skipped=[key])
        assert remark not in unescape(organizer.get(paths[1]).content.decode())


def test_agreement_that_may_be_chance_offers_an_adjudication_before_it_is_marked_as_seen(
    dual: Scene, organizer: Client
) -> None:
    """On the page of the step the adjudication is the filled button, and the release repeats the remark."""
    Batch.objects.update(status=Batch.Status.CLOSED)
    Track.objects.filter(pk=dual.track.pk).update(status=Track.Status.CLOSED)

    html = unescape(page(organizer, "agreement", dual.track))
    qrels = freeze_judgments(pool=dual.pool, by=make_user())
    board = Leaderboard.objects.create(
        track=dual.track, qrels=qrels, status="ready", measures=[], created_by=make_user()
    )
    question = f"{board.get_absolute_url()}release/?level=public"
    release = unescape(organizer.get(question).content.decode())

    line = html.partition('aria-label="Next step"')[2].partition("</section>")[0]
    adjudication = reverse("assessment:new_adjudication", args=[dual.track.slug])
    assert f'btn-primary" href="{adjudication}">Make an adjudication batch…<' in line
    assert re.search(r'btn-plain" name="points"\s+value="agreement:done">Mark as seen<', line)
    assert "The agreement of assessors may be no better than chance (alpha " in line
    assert '">Disagreements</a>' in release
    assert "The agreement of assessors may be no better than chance (alpha " in release


def test_clear_agreement_has_no_remark(scene: Scene, organizer: Client) -> None:
    second = make_batch(scene.pool, {scene.bob: [scene.first, scene.second]}, kind=Batch.Kind.DUAL)
    for choice in ("high", "high", "high", "low", "low", "low"):
        judge(accept(scene.batch, scene.ada), choice)
        judge(accept(second, scene.bob), choice)

    freezing = organizer.get(reverse("scoring:freeze", args=[scene.track.slug])).content.decode()

    assert "better than chance" not in freezing + page(organizer, "agreement", scene.track)


def test_page_names_assessors_as_other_pages_do(dual: Scene, organizer: Client) -> None:
    dual.ada.first_name, dual.ada.last_name = "Ada", "Lovelace"
    dual.ada.save()

    html = page(organizer, "agreement", dual.track)

    assert '<th scope="row">Ada Lovelace and bob</th>' in html
    assert '<th scope="row">Ada Lovelace</th>' in html


def test_downloads_hold_the_numbers_of_the_page(dual: Scene, organizer: Client) -> None:
    rows = {
        name: organizer.get(
            reverse("assessment:agreement_tsv", args=[dual.track.slug, name])
        ).content.decode()
        for name in ("alpha", "ac", "pairs", "assessors", "topics")
    }

    pair = dict(zip(*(line.split("\t") for line in rows["pairs"].splitlines()), strict=True))
    assert (pair["first"], pair["second"], pair["units"]) == ("ada", "bob", "5")
    assert (pair["kappa"], pair["kappa_two_way"]) == ("0.4737", "0.2857")
    assert rows["assessors"].splitlines()[1] == "ada\t1\t5\t0.4737\t0.2857"
    assert [line.split("\t")[:3] for line in rows["topics"].splitlines()[1:]] == [
        ["A.1", "3", "0.6667"],
        ["A.2", "2", "0.5000"],
    ]
    assert rows["alpha"].startswith("grades\talpha\tlow\thigh\nnominal\t")
    assert rows["ac"].startswith("weights\tac\tlow\thigh\nnone\t")
    shown = page(organizer, "agreement", dual.track)
    answer = organizer.get(f"/api/v1/tracks/{dual.track.slug}/agreement/").json()
    assert "Gwet's AC1" in shown
    assert [row["weights"] for row in answer["acs"]] == ["none", "linear", "quadratic", "two-way"]
    for line, row in zip(rows["ac"].splitlines()[1:], answer["acs"], strict=True):
        value = line.split("\t")[1]
        assert f"{row['ac']:.4f}" == value
        assert f"{row['ac']:.3f}" in shown


@pytest.mark.parametrize(
    ("query", "n"),
    [
        ({}, 3),  # medium-low, high-not, and the non-answer
        ({"rule": "threshold"}, 2),
        ({"rule": "steps", "steps": 1}, 2),
        ({"rule": "steps", "steps": 2}, 1),
    ],
)
def test_filter_chooses_the_disagreements(
    dual: Scene, organizer: Client, query: dict[str, str | int], n: int
) -> None:
    html = page(organizer, "disagreements", dual.track, **query)

    assert f"<strong>{n}</strong> unit" in html
    listing = organizer.get(reverse("assessment:disagreements_csv", args=[dual.track.slug]), query)
    assert len(list(csv.DictReader(StringIO(listing.content.decode())))) == 2 * n


def test_disagreements_show_both_judgments_with_comments(dual: Scene, organizer: Client) -> None:
    html = page(organizer, "disagreements", dual.track, rule="steps", steps=3)

    assert "Ada finds it high." in html
    assert "by <bdi>bob</bdi>" in html
    assert "It is in Russian." not in html


def test_formulas_are_typeset_and_lead_to_their_post(dual: Scene, organizer: Client) -> None:
    collection = dual.track.collection
    assert collection is not None
    post = make_document(collection, "900")
    judgment = Judgment.objects.get(choice="high", assessor=dual.ada, topic=dual.second)
    Formula.objects.create(
        collection=collection, code=judgment.docno, post="900", thread="900", place=0, latex="a<b"
    )

    html = page(organizer, "disagreements", dual.track, rule="steps", steps=3)

    assert '<span class="math-container" data-display="inline">a&lt;b</span>' in html
    assert f'href="/collections/{collection.slug}/threads/{post.docno}' in html
    assert 'high. <span class="math-container" data-display="inline">x^2</span> &amp; &lt;b&gt;' in html
    assert "corpus/math.js" in html


def test_disagreements_show_the_text_and_lead_to_the_pool(dual: Scene, organizer: Client) -> None:
    Topic.objects.filter(pk=dual.second.pk).update(title="Sum of <b>cubes</b>")

    html = page(organizer, "disagreements", dual.track, rule="steps", steps=3)

    entry = PoolEntry.objects.get(
        tasks__judgments__choice="high", tasks__judgments__assessor=dual.ada, topic=dual.second
    )
    assert f'href="{reverse("pooling:pool_entry", args=[dual.pool.pk, entry.pk])}">{entry.docno}</a>' in html
    assert f"Body of {entry.docno}." in html
    assert "Sum of <b>cubes</b>" in html


def test_disagreements_can_begin_with_the_largest_difference(dual: Scene, organizer: Client) -> None:
    by_topic = page(organizer, "disagreements", dual.track)
    by_steps = page(organizer, "disagreements", dual.track, order="steps", rule="any")

    shown = [re.findall(r'class="mono"[^>]*>(\d+)</a>', html) for html in (by_topic, by_steps)]
    largest = Judgment.objects.get(choice="high", assessor=dual.ada, topic=dual.second).docno
    assert sorted(shown[0]) == sorted(shown[1])
    assert shown[0][0] != largest == shown[1][0]
    link = re.search(r'href="([^"]*disagreements[^"]*csv[^"]*)"', by_steps)
    assert link is not None
    rows = list(csv.DictReader(StringIO(organizer.get(unescape(link[1])).content.decode())))
    assert [row["docno"] for row in rows[::2]] == shown[1]


def test_agreement_opens_at_the_round_that_has_shared_units(scene: Scene, organizer: Client) -> None:
    judge(accept(scene.batch, scene.ada))  # of the main round, whose units have one judge each
    training = make_batch(
        scene.pool, {scene.ada: [scene.first], scene.bob: [scene.first]}, kind=Batch.Kind.TRAINING
    )
    for assessor in (scene.ada, scene.bob):
        judge_all(training, assessor)

    html = page(organizer, "agreement", scene.track)

    assert f'aria-current="page">Training round 1: {training.name}</a>' in html
    assert "No unit has the grades of two assessors" not in html


def test_unknown_rule_is_refused_with_a_message(dual: Scene, organizer: Client) -> None:
    response = organizer.get(reverse("assessment:disagreements", args=[dual.track.slug]), {"rule": "all"})

    assert response.status_code == 400
    assert "Choose one of the list" in response.content.decode()


@pytest.mark.parametrize("query", [{"rule": "all"}, {"rule": "steps", "steps": "0"}])
def test_file_of_an_unknown_rule_is_refused(dual: Scene, organizer: Client, query: dict[str, str]) -> None:
    response = organizer.get(reverse("assessment:disagreements_csv", args=[dual.track.slug]), query)

    assert response.status_code == 400


def test_training_batch_is_a_round_of_its_own(scene: Scene, organizer: Client) -> None:
    topics = {scene.ada: [scene.first], scene.bob: [scene.first]}
    training = make_batch(scene.pool, topics, kind=Batch.Kind.TRAINING, name="Round 1")
    for choice in ("high", "low", "not-relevant"):
        for assessor in (scene.ada, scene.bob):
            judge(accept(training, assessor), choice)

    opened = page(organizer, "agreement", scene.track)
    main = page(organizer, "agreement", scene.track, round="main")
    first = page(organizer, "agreement", scene.track, round=f"batch-{training.pk}")

    assert "No unit has the grades of two assessors" in main
    assert "Training round 1: Round 1" in main
    assert 'Shared units</span>\n<span class="big">3</span>' in opened  # not the round without judgments
    assert 'Shared units</span>\n<span class="big">3</span>' in first


def test_unknown_round_is_not_found(scene: Scene, organizer: Client) -> None:
    for name in ("agreement", "disagreements", "disagreements_csv"):
        address = reverse(f"assessment:{name}", args=[scene.track.slug])
        assert organizer.get(address, {"round": "batch-0"}).status_code == 404


def test_undefined_kappa_says_why(scene: Scene, organizer: Client) -> None:
    for _ in range(6):
        judge(accept(scene.batch, scene.ada), "not-relevant")
    second = make_batch(scene.pool, {scene.bob: [scene.first]}, kind=Batch.Kind.DUAL)
    for _ in range(3):
        judge(accept(second, scene.bob), "not-relevant")

    html = page(organizer, "agreement", scene.track)

    assert "Both gave grade 0 to every unit" in html
    assert "All shared units have the same grade" in html


def test_number_of_queries_does_not_grow(
    dual: Scene, organizer: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    address = reverse("assessment:agreement", args=[dual.track.slug])
    with django_assert_num_queries(18):  # one counts the units without a text, once in a process
        organizer.get(address)


def test_only_organizers_see_agreement(dual: Scene) -> None:
    client = Client()
    client.force_login(dual.ada)

    for name in ("agreement", "disagreements", "disagreements_csv"):
        assert client.get(reverse(f"assessment:{name}", args=[dual.track.slug])).status_code == 403
