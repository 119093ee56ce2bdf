"""The tables of overview papers, from runs, topics and scores."""

from dataclasses import replace

from assay.papers.facts import RunFacts, TopicFacts, TrackFacts
from assay.papers.overview import overview_tables, results_table
from assay.papers.tables import PaperTable, rows_of
from assay.protocols.loader import load_protocol
from assay.protocols.schema import RunQuestion

MEASURES = ("nDCG'", "AP(rel=2)'", "judged@10")


def run(team: str, tag: str, value: float, kind: str = "primary", **stated: str) -> RunFacts:
    means = dict.fromkeys(MEASURES, value)
    return RunFacts(
        team,
        tag,
        kind,
        stated.get("pooled_as", ""),
        stated.get("made", "automatic"),
        "both",
        means,
        kind == "baseline",
    )


def track(name: str, *runs: RunFacts) -> TrackFacts:
    topics = {
        "A.1": TopicFacts({"Category": "PROOF"}, {0: 4, 2: 1}),
        "A.2": TopicFacts({"Category": "concept"}),
        "A.3": TopicFacts({}, {0: 2, 3: 2}),
    }
    organizations = {"Ours": f"University of {name}"}
    return TrackFacts(name, load_protocol("arqmath-2020-task1"), runs, MEASURES, 2, topics, organizations)


OLD = track(
    "2020",
    run("ours", "A", 0.3),
    run("Theirs", "b", 0.4),
    run("Org", "tf", 0.1, "baseline", pooled_as="primary"),
)
NEW = track(
    "2021", run("Ours", "a", 0.5), run("Ours", "c", 0.6, "alternate", made="manual"), run("Theirs", "d", 0.2),
)  # fmt: skip


def named(tables: list[PaperTable], name: str) -> PaperTable:
    return next(table for table in tables if table.name == name)


def test_runs_are_counted_by_team_kind_and_data() -> None:
    rows = rows_of(named(overview_tables([OLD, NEW]), "runs"))

    # automatic primary, alternate; manual primary, alternate; text, math, both; all
    assert rows[0] == ["2020", "Baselines", *"10000011"]
    assert ["2021", "Ours", *"10010022"] in rows
    assert rows[-1] == ["2021", "Total", *"20010033"]


def test_participants_are_teams_of_any_spelling_without_those_of_baselines() -> None:
    rows = rows_of(named(overview_tables([OLD, NEW]), "participants"))

    assert rows == [
        ["Ours", "University of 2021", "1", "2"], ["Theirs", "", "1", "1"], ["Total", "", "2", "3"]
    ]  # fmt: skip


def test_topics_are_counted_by_category_and_assessment() -> None:
    rows = rows_of(named(overview_tables([OLD]), "topics"))

    assert rows == [
        ["", "All topics", "3", "2"], ["Category", "Concept", "1", "0"], ["Category", "Proof", "1", "1"],
        ["Category", "No label", "1", "1"],
    ]  # fmt: skip


def test_results_are_by_team_with_tracks_side_by_side() -> None:
    table = results_table([OLD, NEW], digits=3)

    assert [heading.label for heading in table.over] == ["", "2020 (2 topics)", "2021 (2 topics)"]
    assert [group.title for group in table.groups] == ["Baselines", "Ours", "Theirs"]
    rows = [[cell.text for cell in row] for group in table.groups for row in group.rows]
    assert rows == [
        ["tf", "Both", "(✓)", "", "0.100", "0.100", "", ""],
        ["c", "Both", "", "✓", "", "", "0.600", "0.600"],
        ["a", "Both", "✓", "", "0.300", "0.300", "0.500", "0.500"],
        ["d", "Both", "✓", "", "", "", "0.200", "0.200"],
        ["b", "Both", "✓", "", "0.400", "0.400", "", ""],
    ]
    best = [cell.text for group in table.groups for row in group.rows for cell in row if cell.is_best]
    assert best == ["0.100", "0.100", "0.600", "0.600", "0.400", "0.400"]


def test_results_have_the_answers_to_the_chosen_public_questions() -> None:
    questions = tuple(
        RunQuestion(key, f"{key}?", public=key != "secret") for key in ("models", "gpu", "secret")
    )
    protocol = replace(NEW.protocol, runs=replace(NEW.protocol.runs, questions=questions))
    long = run("Ours", "a", 0.5)._replace(answers={"models": "word " * 30, "gpu": "none"})
    asking = replace(NEW, protocol=protocol, runs=(long,))

    everything, chosen = (results_table([OLD, asking], questions=keys) for keys in ((), ["gpu"]))

    assert [column.label for column in everything.columns][:5] == ["Run", "Data", "Models", "Gpu", "P"]
    row = next(row for row in rows_of(everything) if row[:2] == ["Ours", "a"])
    assert row[3:5] == ["word " * 16 + "…", "none"]
    assert [column.label for column in chosen.columns][:4] == ["Run", "Data", "Gpu", "P"]
    assert "Gpu: gpu? " in chosen.caption
    assert "secret" not in everything.caption


def test_best_run_is_compared_with_the_strongest_baseline() -> None:
    baselines = [run("Org", "tf", 0.1, "baseline"), run("Org", "best", 0.4, "baseline")]
    rows = rows_of(
        named(overview_tables([track("2020", run("Ours", "a", 0.5), *baselines)], digits=2), "gains")
    )

    assert rows[0] == ["nDCG'", "best", "0.40", "Ours: a", "0.50", "25.0"]


def test_measures_may_be_chosen_and_other_kinds_are_named() -> None:
    other = track("cQA", run("Ours", "a", 0.5, "evaluation"), run("Ours", "b", 0.4, "alternate"))

    table = results_table([other], measures=["judged@10"])

    assert [column.label for column in table.columns] == ["Run", "Data", "Kind", "M", "judged@10"]
    assert [row[3] for row in rows_of(table)] == ["evaluation", "alternate"]
