"""The tables of overview papers, through the page, its files and the API."""

from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from assay.protocols.strategies import POOL_STRATEGIES
from assay_extensions.papers.site import selectors
from jobs import services as jobs
from participation.models import Team
from participation.teams import services as team_services
from pooling.models import Pool
from tests.helpers.answers import answers_lab, submit_answers, write_nuggets
from tests.helpers.api import api
from tests.helpers.factories import make_track
from tests.scoring.conftest import Scene
from tracks.models import StoredProtocol


@pytest.fixture
def page(scored: Scene, client: Client) -> str:
    """The address of the page, for an organizer who is logged in."""
    evil = team_services.create(track=scored.track, name=r"\input{x} <b>", organization="数学 & Co")
    scored.submit(evil, "e_1", "9 10")
    for topic, label in zip(scored.topics.values(), ("proof", "proof", "concept"), strict=True):
        topic.labels, topic.split = {"Category": label}, "train" if label == "concept" else "test"
        topic.save()
    scored.leaderboard()
    client.force_login(scored.organizer)
    return reverse("papers:tables", args=[scored.track.slug])


def test_organizer_prints_the_tables_of_a_track(page: str, client: Client) -> None:
    html = client.get(page).content.decode()
    latex = client.get(f"{page}results.tex", {"measure": "nDCG'", "digits": "3"})
    csv = client.get(f"{page}participants.csv").content.decode()

    for text in ("Submitted runs", "Participants", "Topics by category", "Results", "\\input{x} &lt;b&gt;"):
        assert text in html
    assert latex["Content-Disposition"] == 'attachment; filename="arq-results.tex"'
    assert (
        r"\multicolumn{5}{l}{\textbf{\textbackslash{}input\{x\} \textless{}b\textgreater{}}} \\"
        in latex.content.decode()
    )
    assert r"\quad poor & Both & ($\checkmark$) &  & " in latex.content.decode()
    assert "\\input{x} <b>,数学 & Co,1" in csv
    assert client.get(f"{page}nothing.tex").status_code == 404


def test_another_track_is_put_next_to_it(page: str, client: Client) -> None:
    make_track("older", name="Older", collection=None)

    html = client.get(page, {"other": "older"}).content.decode()
    wrong = client.get(page, {"other": "none", "digits": "9"}).content.decode()

    assert "Older (0 topics)" not in html, "it has no measures yet"
    assert "ARQ (3 topics)" in html
    assert "Choose one of the list: “none” is not in it." in wrong


def test_a_program_reads_the_tables(page: str, scored: Scene) -> None:
    client = api(scored.organizer)
    address = reverse("api:paper_tables", args=[scored.track.slug])

    tables = client.get(address, {"digits": "2"}).json()["results"]
    refused = client.get(address, {"measure": "nonsense"})
    automatic = client.get(address, {"baselines": "automatic"}).json()["results"]

    gains = [next(table for table in some if table["name"] == "gains") for some in (tables, automatic)]
    assert ["without oracles" in table["caption"] for table in gains] == [False, True]
    results = next(table for table in tables if table["name"] == "results")
    assert results["header"][:3] == ["team", "Run", "Data"]
    assert results["rows"][0][:2] == ["Baselines", "poor"]
    assert r"\toprule" in results["tex"]
    assert results["csv"].startswith("team,Run,Data")
    assert refused.status_code == 400
    assert refused.json()["errors"]


def test_queries_do_not_grow_with_runs_and_topics(
    page: str, scored: Scene, django_assert_num_queries: object
) -> None:
    board = selectors.board_of(scored.organizer, scored.track)

    with django_assert_num_queries(6):  # type: ignore[operator]
        selectors.facts_of(scored.track, board)
    for n in range(5):
        scored.submit(scored.ours, f"more-{n}", "10 9")
    with django_assert_num_queries(6):  # type: ignore[operator]
        selectors.facts_of(scored.track, board)


def test_organizer_compares_test_collections(page: str, scored: Scene, client: Client) -> None:
    make_track("older", protocol="arqmath-2021-task2", name="Older", collection=None)
    address = reverse("papers:comparison")
    Pool.objects.filter(track__slug="arq").update(depth={"primary": 4})

    empty = client.get(address).content.decode()
    html = client.get(address, {"track": ["arq", "older"], "measure": "nDCG'"}).content.decode()
    wrong = client.get(address, {"track": "arq", "label": "color"}).content.decode()
    none = client.get(address, {"track": "arq", "level": "0"}).content.decode()
    lenient = client.get(f"{address}units.csv", {"track": "arq", "level": "1"}).content.decode()
    units = client.get(f"{address}units.csv", {"track": "arq"}).content.decode()
    taus = client.get(f"{address}complexity.tex", {"track": "arq", "measure": "nDCG'"}).content.decode()

    assert "Compare the tracks" in empty
    assert "Pools and judging" not in empty
    assert "Fill in this field." not in empty
    assert "no leaderboard yet, so no units and no rankings: score its runs" in html
    for text in (
        "Test collections",
        "at most 5",
        "Rankings by topic class",
        "Relevant units of a topic by category",
    ):
        assert text in html
    judging = client.get(f"{address}judging.csv", {"track": "arq"}).content.decode()
    assert judging.splitlines()[2:4] == [
        "Pool,first ranks",
        "Pool depth,4",
    ]  # of the pool, not of the protocol
    assert "Choose one of the list: “color” is not in it." in wrong
    first = client.get(f"{address}first.csv", {"track": "arq"}).content.decode()
    assert [line.split(",", 2)[2] for line in first.splitlines()[1:]] == ["3,1,,1,0", "3,3,,0,3", "3,3,,2,1"]
    assert "Enter a number of at least 1." in none
    assert units.splitlines()[1:] == [
        '"ARQ, test",answers,2,2,2,2.0,4,1,1,1.0,2', '"ARQ, train",answers,1,2,2,2.0,2,1,1,1.0,1'
    ]  # fmt: skip
    assert [line.rsplit(",", 1)[1] for line in lenient.splitlines()] == ["Relevant: Total", "3", "1"]
    assert r"\quad concept -- proof & " in taus
    figure = client.get(f"{address}figure-relevant.tex", {"track": "arq"})
    assert r"\addlegendentry{High}" in figure.content.decode()
    assert client.get(f"{address}figure-relevant.csv", {"track": "arq"}).status_code == 404


def test_kappa_and_examples_come_from_the_judgments_of_people(scored: Scene, client: Client) -> None:
    client.force_login(scored.organizer)
    batch, second = scored.batch({scored.ada: ["A.1"]}), scored.batch({scored.bob: ["A.1"]}, kind="dual")
    scored.judge(batch, scored.ada, "high", "low", "not-relevant")
    scored.judge(second, scored.bob, "high", "low", "low")
    address = reverse("papers:comparison")

    agreement = client.get(f"{address}agreement.csv", {"track": "arq"}).content.decode()
    examples = client.get(f"{address}examples.csv", {"track": "arq", "topic": "A.1"}).content.decode()
    page = client.get(address, {"track": "arq"}).content.decode()

    assert agreement.splitlines()[1].startswith("ARQ,2,3,0.5")
    assert [line.split(",")[2] for line in examples.splitlines()[1:]] == ["High", "Low", "Not relevant"]
    assert examples.count(",why") == 3
    assert "Agreement of assessors" in page
    assert "Examples of grades" in page


@pytest.mark.parametrize("strategy", list(POOL_STRATEGIES))
def test_collections_of_every_kind_of_pool_are_compared(
    strategy: str, scored: Scene, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = scored.track.protocol.parsed
    other = replace(protocol, pool=replace(protocol.pool, strategy=strategy))
    monkeypatch.setattr(StoredProtocol, "parsed", property(lambda self: other))
    client.force_login(scored.organizer)

    judging = client.get(reverse("papers:comparison") + "judging.csv", {"track": "arq"}).content.decode()

    pool = next(line for line in judging.splitlines() if line.startswith("Pool,"))
    assert pool.partition(",")[2] not in {"", "–", strategy}  # in words


def test_generated_answers_are_compared_and_empty_cells_have_a_reason(
    db: None, client: Client, settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    lab = answers_lab()
    write_nuggets(lab)
    submit_answers(lab)
    client.force_login(lab.organizer)
    address = reverse("papers:comparison")

    judging = client.get(f"{address}judging.csv", {"track": lab.track.slug}).content.decode()
    before = client.get(reverse("papers:tables", args=[lab.track.slug])).content.decode()
    Team.objects.update(organization="Forest")
    after = client.get(reverse("papers:tables", args=[lab.track.slug])).content.decode()

    assert judging.splitlines()[1:3] == ["Ranks of a run,one answer", "Pool,all answers"]
    assert "Shown,–" in judging
    assert before.count("An empty cell: the team stated no organization.") == 1
    assert "An empty cell" not in after


def test_a_program_compares_test_collections(page: str, scored: Scene) -> None:
    client, address = api(scored.organizer), reverse("api:compare_collections")

    compared = client.get(address, {"track": "arq", "measure": "nDCG'", "digits": "2"}).json()
    refusals = [
        client.get(address, asked)
        for asked in (
            {},
            {"track": "none"},
            {"track": "arq", "label": "color"},
            {"track": "arq", "level": "x"},
        )
    ]

    assert compared["tables"][0]["rows"][:2] == [
        ["ARQ, test", "2", "0", "2", "0", "100", "", compared["tables"][0]["rows"][0][7]],
        ["ARQ, train", "1", "1", "0", "100", "0", compared["tables"][0]["rows"][1][6], ""],
    ]
    assert [table["name"] for table in compared["tables"]] == [
        "classes", "collections", "judging", "units", "extremes", "first", "complexity", "relevant"
    ]  # fmt: skip
    gaps = compared["tables"][6]
    assert [row[:2] for row in gaps["rows"]][-1] == ["Mean gap between neighbors", "all topics"]
    exact = gaps["values"][-1][2]
    assert gaps["rows"][-1][2] == f"{exact:.2f}" != str(exact)
    figure = compared["figure"]
    assert (figure["labels"], figure["series"][0]["name"]) == (["concept", "proof"], "High")
    assert figure["series"][0]["stack"] == "ARQ"
    assert r"\begin{axis}" in figure["tex"]
    assert figure["svg"].startswith("<svg")
    assert compared["missing"] == []
    assert [refused.status_code for refused in refusals] == [400, 400, 400, 400]
    assert "“none” is not in it" in refusals[1].content.decode()


def test_tables_of_many_rows_begin_with_the_first_and_show_all_on_demand(
    page: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.pages.ROWS_ON_PAGE", 1)

    short, whole = (client.get(address).content.decode() for address in (page, f"{page}?page=all"))
    tags = [tag for tag in ("good", "poor", "e_1") if f'<th scope="row">{tag}</th>' in short]

    assert len(tags) == 1
    assert 'href="?page=all#table-runs">Show all rows</a>' in short
    assert "The first 1 of 3 rows" in short
    assert all(f'<th scope="row">{tag}</th>' in whole for tag in ("good", "poor", "e_1"))
