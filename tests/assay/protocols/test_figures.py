"""The shipped protocols have the published figures; each figure is listed here."""

from functools import reduce
from typing import Any

import pytest

from assay.protocols.loader import load_protocol, shipped_slugs

TASK_1 = {
    "unit": "answer",
    "topics.labels": {
        "category": ("computation", "concept", "proof"),
        "difficulty": ("easy", "medium", "hard"),
        "dependence": ("text", "formula", "both"),
    },
    "runs.formats": ("arqmath-5", "trec-6"),
    "runs.max_ranks": 1000,
    "runs.out_of_range_ranks": "error",
    "runs.keys": ("primary", "alternate", "baseline"),
    "pool.strategy": "top-k",
    "pool.order": "random",
    "instances.clustering": "none",
    "judging.layout": "question-answer",
    "judging.judges": 1,
    "judging.training_topics": 7,
    "judging.dual_topics": 1,
    "grades": {"High": 3, "Medium": 2, "Low": 1, "Not relevant": 0},
    "non_answers": {"System failure": True, "Do not know": True},
    "qrels.aggregate": "single",
    "scoring.measures": ("nDCG'", "AP(rel=2)'", "P(rel=2)@10'", "bpref(rel=2)", "judged@10"),
    "scoring.judged_only": True,
    "scoring.relevant_from": 2,
    "scoring.collapse_instances": False,
    "agreement.binary_from": 2,
}
TASK_2 = TASK_1 | {
    "unit": "visually-distinct-formula",
    "topics.labels": {"complexity": ("low", "medium", "high")},
    "runs.formats": ("arqmath-6",),
    "pool.strategy": "distinct-units",
    "pooled_as": {"baseline": ("primary", {})},
    "instances.limit": 5,
    "judging.layout": "formula-instances",
    "judging.dual_topics": 2,
    "qrels.aggregate": "maximum",
    "scoring.collapse_instances": True,
}
del TASK_2["instances.clustering"]
SUPPORT = {"Support": 2, "Partial support": 1, "Not supported": 0}
NTCIR = {
    "unit": "formula",
    "runs.formats": ("trec-6", "ntcir-xml"),
    "judging.layout": "formula",
    "non_answers": {},
    "scoring.judged_only": False,
    "scoring.collapse_instances": False,
}
TWO_JUDGES = NTCIR | {
    "grades": {"Relevant": 2, "Partially relevant": 1, "Not relevant": 0},
    "judging.judges": 2,
    "qrels.aggregate": "sum",
    "qrels.relevant_from": 3,
    "scoring.relevant_from": 3,
}
NTCIR_12 = TWO_JUDGES | {
    "runs.max_ranks": 1000,
    "pool.strategy": "top-k",
    "runs.depths": {"primary": 20, "alternate": 20, "baseline": 20},
    "judging.in_context": True,
    "scoring.measures": ("P(rel=3)@5", "P(rel=3)@10", "P(rel=3)@15", "P(rel=3)@20"),
}
KINDS_OF_QUERY = {"kind": ("concrete", "wildcard")}
FOREIGN = ("ara", "arb", "arz", "cmn")
FIGURES: dict[str, dict[str, Any]] = {
    "arqmath-2020-task1": TASK_1
    | {
        "runs.depths": {"primary": 50, "alternate": 20},
        "pool.depth_is_default": True,
        "pooled_as": {"baseline": ("primary", {})},
        "qrels.min_relevant": 0,
    },
    "arqmath-2021-task1": TASK_1
    | {
        "runs.depths": {"primary": 45, "alternate": 15},
        "pool.depth_is_default": False,
        "pooled_as": {
            "baseline": (
                "primary",
                {
                    "TF-IDF+Tangent-S": "primary",
                    "Linked MSE posts": "primary",
                    "TF-IDF": "alternate",
                    "Tangent-S": "alternate",
                },
            )
        },
        "qrels.min_relevant": 2,
        "qrels.relevant_from": 2,
    },
    "arqmath-2020-task2": TASK_2
    | {
        "runs.depths": {"primary": 25, "alternate": 10},
        "instances.clustering": "submitted",
        "instances.strategy": "most-runs",
        "judging.in_context": True,
        "qrels.min_relevant": 0,
        "published": {"topics": 45, "mean_pool": 134.9},
    },
    "arqmath-2021-task2": TASK_2
    | {
        "runs.depths": {"primary": 20, "alternate": 10},
        "instances.clustering": "collection",
        "instances.strategy": "reciprocal-rank-vote",
        "judging.in_context": True,
        "non_answers": {"System failure": True, "Do not know": True, "Not matching": False},
        "qrels.min_relevant": 2,
        "qrels.relevant_from": 2,
        "published": {"assessed_topics": 60, "topics": 58, "mean_pool": 140.0},
    },
    "arqmath-2022-task1": {
        key: value
        for key, value in TASK_1.items()
        if key not in {"judging.training_topics", "judging.dual_topics"}
    }
    | {"pool.depth_is_default": True, "published": {}},
    "arqmath-2022-task2": {
        key: value
        for key, value in TASK_2.items()
        if key not in {"judging.training_topics", "judging.dual_topics"}
    }
    | {
        "pool.depth_is_default": True,
        "non_answers": {"System failure": True, "Do not know": True, "Not matching": False},
        "published": {},
    },
    "arqmath-2022-task3": {
        "unit": "answer",
        "runs.formats": ("columns",),
        "runs.columns.order": ("tag", "topic", "docno"),
        "runs.max_ranks": 1,
        "runs.depths": {"primary": 1, "alternate": 1, "baseline": 1},
        "grades": {"High": 3, "Medium": 2, "Low": 1, "Not relevant": 0},
        "non_answers": {"System failure": True, "Do not know": True},
        "scoring.measures": ("Grade@1", "P(rel=2)@1"),
        "scoring.average": "common",
        "published": {},
    },
    "ntcir-10-math": TWO_JUDGES
    | {
        "topics.labels": KINDS_OF_QUERY,
        "runs.max_ranks": 100,
        "pool.strategy": "round-robin-until",
        "pool.target": 100,
        "judging.in_context": False,
        "scoring.measures": ("P(rel=3)@5", "P(rel=3)@10", "P-hit(rel=3)", "AP(rel=3)"),
        "published": {"topics": 21, "wildcard_topics": 18},
    },
    "ntcir-11-math": NTCIR
    | {
        "topics.labels": KINDS_OF_QUERY,
        "pool.strategy": "known-item",
        "grades": {"Relevant": 1, "Not relevant": 0},
        "scoring.measures": ("RR",),
        "published": {"topics": 100, "wildcard_topics": 59},
    },
    "ntcir-12-wikipedia": NTCIR_12
    | {
        "topics.labels": KINDS_OF_QUERY,
        "judging.groups": ("graduate", "undergraduate"),
        "qrels.export_groups": True,
        "published": {"topics": 40, "concrete_topics": 20, "wildcard_topics": 20},
    },
    "ntcir-12-simto": NTCIR_12
    | {"topics.labels": {}, "judging.groups": (), "qrels.export_groups": False, "published": {"topics": 8}},
    "bolt-ir-p3": {
        "unit": "passage",
        "topics.participants_see": ("number", "query", "language-target"),
        "topics.labels": {
            "asks-about": (),
            "asks-for": (),
            "languages": (),
            "language-target": (),
            "language-condition": ("one", "several"),
        },
        "runs.formats": ("bolt-xml",),
        "runs.max_ranks": 1000,
        "runs.keys": ("evaluation", "phase2", "baseline", "post-interaction"),
        "runs.scored_keys": ("evaluation", "phase2", "post-interaction"),
        "min_per_team": {"evaluation": 1, "phase2": 1, "baseline": 1, "post-interaction": 0},
        "max_per_team": {"evaluation": 1, "phase2": 1, "baseline": 10, "post-interaction": 1},
        "runs.min_score": 0,
        "runs.max_score": 1,
        "runs.max_passage_characters": 250,
        "runs.max_seconds_per_topic": 600,
        "runs.forbidden_fields": ("rel", "chksrc", "trans", "dialect"),
        "pool.strategy": "top-k-by-score",
        "runs.depths": {"evaluation": 100, "phase2": 100, "baseline": 100, "post-interaction": 100},
        "pool.near_duplicate_overlap": 0.95,
        "judging.layout": "citation",
        "judging.in_context": True,
        "judging.dual_share": 0.5,
        "grades": {"Yes": 2, "Maybe": 1, "No": 0},
        "non_answers": {},
        "questions": {
            "trans": (("acceptable", "problematic", "not-acceptable", "not-applicable"), FOREIGN),
            "chksrc": (("yes", "no"), FOREIGN),
            "dialect": (("yes", "no"), ("ara", "arb", "arz")),
            "generous": (("yes", "no"), ()),
        },
        "scoring.measures": (
            "charP@100",
            "charR@100",
            "charF@100",
            "charRprec",
            "charAP@1000",
            "charP@5",
            "charP@10",
            "charP@20",
        ),
        "scoring.relevant_from": 1,
        "scoring.judged_only": False,
        "scoring.duplicates_are_false_alarms": True,
        "scoring.topic_classes": (
            "asks-about",
            "asks-for",
            "languages",
            "language-target",
            "language-condition",
        ),
        "qrels.topic_citations": True,
        "interaction.seconds_per_topic": 120,
        "interaction.run_kind": "post-interaction",
        "interaction.measure": "charRprec",
    },
    "semeval-2016-task3": {
        "unit": "answer",
        "runs.formats": ("columns",),
        "runs.columns.order": ("topic", "docno", "rank", "score", "label"),
        "runs.max_ranks": 10,
        "runs.ties": "file",
        "runs.keys": ("primary", "contrastive", "baseline"),
        "max_per_team": {"primary": 1, "contrastive": 2, "baseline": None},
        "grades": {"Good": 2, "Potentially useful": 1, "Bad": 0},
        "scoring.relevant_from": 2,
        "scoring.measures": (
            "AP(rel=2,norm=retrieved)@10",
            "AvgRec(rel=2)@10",
            "RR(rel=2)@10",
            "labelAcc(rel=2)",
            "labelP(rel=2)",
            "labelR(rel=2)",
            "labelF(rel=2)",
        ),
    },
    "semeval-2016-task3c": {
        "runs.max_ranks": 100,
        "runs.depths": {"primary": 100, "contrastive": 100, "baseline": 100},
        "grades": {"Good": 2, "Potentially useful": 1, "Bad": 0},
        "scoring.relevant_from": 2,
        "scoring.average": "common",
    },
    "semeval-2016-task3d": {
        "runs.max_ranks": 30,
        "grades": {"Direct": 2, "Related": 1, "Irrelevant": 0},
        "qrels.columns.words": {"D": 2, "R": 1, "I": 0, "true": 1, "false": 0},
        "scoring.relevant_from": 1,
        "scoring.average": "common",
    },
    "trec-rag-2024": {
        "unit": "generated-answer",
        "runs.formats": ("rag-2024",),
        "runs.max_ranks": 1,
        "runs.answers.max_words": 400,
        "runs.answers.max_references": 20,
        "runs.answers.citations": 1,
        "runs.keys": ("rag", "ag"),
        "pool.strategy": "answers",
        "nuggets.most": 30,
        "nuggets.max_words": 12,
        "grades": SUPPORT,
        "scoring.measures": (
            "V_strict",
            "A_strict",
            "W_strict",
            "V",
            "A",
            "W",
            "SupportP",
            "SupportR",
            "SupportF",
        ),
    },
    "trec-rag-2025": {
        "runs.formats": ("rag-2025",),
        "runs.answers.max_words": 400,
        "runs.answers.too_long": "warning",
        "runs.answers.max_references": 100,
        "runs.keys": ("rag", "ag"),
        "grades": SUPPORT,
    },
    "trec-rag-2026": {
        "runs.formats": ("rag-2026",),
        "runs.answers.max_words": 1024,
        "runs.answers.too_long": "error",
        "runs.answers.max_references": None,
        "runs.answers.max_run_id": 20,
        "runs.answers.citations": 3,
        "grades": {"Satisfied": 2, "Partially satisfied": 1, "Not satisfied": 0},
    },
    "trec-rag-2026-retrieval": {
        "unit": "document",
        "runs.formats": ("trec-6",),
        "runs.out_of_range_ranks": "error",
        "grades": {
            "Answers four or more parts": 4,
            "Answers two or three parts": 3,
            "Answers one part": 2,
            "Related": 1,
            "Not relevant": 0,
        },
        "scoring.relevant_from": 2,
    },
    "trec-dragun-2025": {
        "runs.formats": ("dragun",),
        "runs.answers.max_words": 250,
        "runs.answers.too_long": "error",
        "runs.answers.citations": 3,
        "runs.keys": ("automatic", "manual"),
        "grades": SUPPORT,
    },
    "trec-ragtime-2025": {
        "runs.formats": ("ragtime",),
        "runs.answers.characters_label": "limit",
        "runs.answers.too_long": "warning",
        "runs.answers.citations": 3,
        "runs.keys": ("multilingual", "english"),
        "grades": SUPPORT,
    },
    "llmjudge": {
        "grades": {"Perfectly relevant": 3, "Highly relevant": 2, "Related": 1, "Irrelevant": 0},
        "agreement.binary_from": 2,
    },
    "touche-2025-images": {
        "runs.formats": ("columns",),
        "runs.columns.order": ("topic", "docno", "rank", "tag"),
        "runs.max_ranks": 10,
        "runs.depths": {"retrieval": 5},
        "max_per_team": {"retrieval": 5},
        "judging.judges": 2,
        "grades": {"Both aspects": 2, "One aspect, or parts": 1, "Neither aspect": 0},
        "qrels.aggregate": "mean",
        "scoring.measures": ("nDCG@5", "nDCG@3", "nDCG@1", "judged@5"),
    },
    "longeval-2026-sci": {
        "runs.formats": ("trec-6",),
        "runs.depths": {"run": 10},
        "grades": {"Highly relevant": 2, "Relevant": 1, "Not relevant": 0},
        "scoring.measures": ("nDCG@10", "nDCG", "nDCG@10'", "P@10", "AP", "judged@10"),
    },
    "trec-ikat-2025": {
        "runs.formats": ("trec-6",),
        "runs.max_ranks": 1000,
        "max_per_team": {"automatic": 4, "interactive": 2},
        "pool.depth_is_default": True,
        "grades": {
            "Fully meets": 4,
            "Highly meets": 3,
            "Moderately meets": 2,
            "Slightly meets": 1,
            "Fails to meet": 0,
        },
        "scoring.relevant_from": 2,
    },
    "trec-adhoc": {
        "unit": "document",
        "runs.formats": ("trec-6",),
        "runs.max_ranks": 1000,
        "runs.depths": {"primary": 100, "alternate": 100, "baseline": 100},
        "grades": {"Highly relevant": 2, "Relevant": 1, "Not relevant": 0},
        "scoring.judged_only": False,
    },
}


def shipped_value(slug: str, key: str) -> Any:
    """The value of a dotted key in a shipped protocol; choices by the part that matters."""
    protocol = load_protocol(slug)
    if key == "grades":
        return {grade.label: grade.value for grade in protocol.judging.grades}
    if key == "non_answers":
        return {choice.label: choice.needs_comment for choice in protocol.judging.non_answers}
    if key == "questions":
        return {
            question.key: (tuple(question.labels), question.languages)
            for question in protocol.judging.questions
        }
    kinds = protocol.runs.kinds
    if key == "pooled_as":
        return {kind.key: (kind.pooled_as, kind.pooled_as_by_tag) for kind in kinds if kind.pooled_as}
    if key in {"min_per_team", "max_per_team"}:
        return {kind.key: getattr(kind, key) for kind in kinds}
    return reduce(getattr, key.split("."), protocol)


def test_every_shipped_protocol_has_figures_in_this_file() -> None:
    assert set(FIGURES) == set(shipped_slugs())


@pytest.mark.parametrize("slug", FIGURES)
def test_figures_are_the_published_ones(slug: str) -> None:
    assert {key: shipped_value(slug, key) for key in FIGURES[slug]} == FIGURES[slug]


@pytest.mark.parametrize("slug", shipped_slugs())
def test_every_choice_has_a_definition_and_a_one_letter_shortcut(slug: str) -> None:
    for choice in load_protocol(slug).judging.choices:
        assert choice.definition.endswith(".")
        assert len(choice.shortcut) == 1


def test_questions_of_bolt_come_after_yes_and_maybe_and_that_on_the_dialect_after_every_grade() -> None:
    questions = load_protocol("bolt-ir-p3").judging.questions

    for question in questions:
        always = ("no",) if question.key == "dialect" else ()
        assert question.after == ("yes", "maybe", *always)
