"""Protocols in words."""

import pytest

from assay.protocols.description import facts
from assay.protocols.loader import load_protocol, parse_protocol, shipped_slugs
from tests.assay.protocols.test_loader import EVERYTHING

WORDS = {
    ("arqmath-2020-task1", "Judged"): "answers",
    (
        "arqmath-2020-task1",
        "Pool",
    ): "the first 50 of primary, 20 of alternate runs; the organizers may choose other depths; "
    "baselines as primary; judged in random order",
    ("arqmath-2021-task1", "Qrels"): "the judgment; topics with fewer than 2 of grade 2 or more are dropped",
    ("arqmath-2020-task2", "Instances"): "at most 5 of a formula are judged, those that most runs submitted; "
    "looks are compared over the submitted formulas",
    ("arqmath-2020-task2", "Judging"): "each unit by 1 assessor; shown alone; 7 topics for training; "
    "2 of another's topics at the end",
    ("arqmath-2021-task2", "Pool"): "down each run to the first instance of its k-th distinct formula, "
    "k = 20 of primary, 10 of alternate runs; baselines as primary; judged in random order",
    ("arqmath-2021-task2", "No grades"): "System failure, Do not know, Not matching",
    ("arqmath-2021-task2", "Published"): "assessed topics 60, topics 58, mean pool 140",
    (
        "ntcir-10-math",
        "Pool",
    ): "one rank at a time from every run, until a topic has 100 units; judged in random order",
    ("ntcir-11-math", "Pool"): "the known items, of which nothing is judged",
    (
        "ntcir-12-wikipedia",
        "Judging",
    ): "each unit by 2 assessors (graduate and undergraduate); shown in context",
    ("ntcir-12-wikipedia", "Qrels"): "the sum of its judges' grades; each group's grades also apart",
    (
        "bolt-ir-p3",
        "Runs",
    ): "bolt-xml, at most 1000 ranks a topic; evaluation, phase2, baseline, post-interaction; "
    "scored are evaluation, phase2, post-interaction; at most 10 baseline runs of a team; scores from 0 to 1; "
    "passages of at most 250 characters; at most 600 seconds a topic",
    (
        "bolt-ir-p3",
        "Pool",
    ): "the best by score, 100 of every run; of those that share 95% of their word pairs the best is "
    "judged for all; judged in random order",
    ("bolt-ir-p3", "Interaction"): "120 seconds a topic, then post-interaction runs",
    ("bolt-ir-p3", "Participants see"): "number, query, language-target",
}


@pytest.mark.parametrize(("slug", "heading"), WORDS)
def test_protocol_is_told_in_words(slug: str, heading: str) -> None:
    assert dict(facts(load_protocol(slug)))[heading] == WORDS[slug, heading]


@pytest.mark.parametrize("slug", shipped_slugs())
def test_every_shipped_protocol_can_be_told(slug: str) -> None:
    said = dict(facts(load_protocol(slug)))

    assert {"Judged", "Runs", "Pool", "Grades", "Qrels", "Measures"} <= said.keys()
    assert all(said.values())


def test_nothing_is_said_of_judging_where_nothing_is_judged() -> None:
    assert "Judging" not in dict(facts(load_protocol("ntcir-11-math")))


def test_everything_that_the_schema_has_can_be_told() -> None:
    text = EVERYTHING.replace('strategy = "reciprocal-rank-vote"', 'strategy = "thread-random"')
    for order, words in (
        ("by-run-votes", "those of most runs are judged first"),
        ("move-to-front", "move-to-front"),
    ):
        protocol = parse_protocol(text.replace('"move-to-front"', f'"{order}"'), name="x.toml")

        assert words in dict(facts(protocol))["Pool"]

    assert "as many threads as can be" in dict(facts(protocol))["Instances"]


def test_baselines_are_told_by_their_tags() -> None:
    said = dict(facts(load_protocol("arqmath-2021-task1")))["Pool"]

    assert (
        "Linked MSE posts as primary, TF-IDF as alternate, Tangent-S as alternate, other baselines as primary"
        in said
    )
