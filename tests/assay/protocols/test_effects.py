"""Every key of a protocol has a test of its effect through a page or a command, and `EFFECTS` names it.

A key without an effect is listed in `NOT_CARRIED_OUT`.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from assay import structure
from assay.protocols.description import NOT_CARRIED_OUT, facts
from assay.protocols.loader import load_protocol, parse_protocol, shipped_text
from assay.protocols.schema import Protocol

ROOT = Path(__file__).parents[3]
PACKAGES = ("assay", "assay_extensions", "corpus", "tracks", "pooling", "assessment", "scoring")
ONLY_READS = {"loader.py", "description.py"}  # of assay/protocols

CLI, PAGES = (
    "tests/assay/cli/test_protocol_keys.py::test_",
    "tests/assessment/judgments/test_protocol_keys.py::test_",
)
ANSWERS = "tests/assay/cli/test_answers.py::test_"
OWN = "tests/assay/cli/test_own_columns.py::test_"
KINDS = "tests/pooling/runs/test_kinds.py::test_"
ARCHIVES = "tests/publishing/archives/test_pairs.py::test_"
SCORING = "tests/scoring/test_protocol_keys.py::test_"
PHASES = "tests/scoring/phases/test_phases.py::test_"
INTERACTION = "tests/participation/interaction/test_interaction.py::test_"
PLANNING = "tests/assessment/rounds/"
CHOICES = f"{PAGES}choices_and_questions_of_the_page_are_those_of_the_protocol"
SETS = f"{SCORING}set_has_the_grades_of_its_rules"
ROWS = "tests/assessment/judging/test_rows.py::test_"
QUESTIONS = f"{PAGES}page_shows_questions_as_the_protocol_describes_them"

# Key -> a test that fails if the key is ignored, and that uses a page or a command.
EFFECTS = {
    "slug": "tests/assay/cli/test_protocol.py::test_list_has_slug_and_title_of_every_shipped_protocol",
    "title": "tests/assay/cli/test_protocol.py::test_list_has_slug_and_title_of_every_shipped_protocol",
    "source": "tests/tracks/protocols/test_views.py::test_protocol_is_described_on_its_page_and_its_tracks",
    "unit": f"{CLI}pool_has_the_units_that_the_key_asks_for",
    "extensions": f"{CLI}protocol_of_an_extension_is_refused_where_it_is_missing",
    "topics.labels": "tests/tracks/topics/test_views.py::test_unreadable_labels_are_refused_with_the_reason",
    "topics.participants_see": (
        "tests/tracks/topics/test_bolt.py::test_participants_see_only_number_query_and_language"
    ),
    "runs.formats": f"{CLI}run_is_refused_by_the_key_and_accepted_without_it",
    "runs.max_ranks": f"{CLI}run_is_refused_by_the_key_and_accepted_without_it",
    "runs.out_of_range_ranks": f"{CLI}run_is_refused_by_the_key_and_accepted_without_it",
    **dict.fromkeys(
        ("runs.max_tag", "runs.second_column"), f"{CLI}run_is_refused_by_the_key_and_accepted_without_it"
    ),
    **dict.fromkeys(
        ("runs.tag_characters", "runs.missing_topics"),
        f"{CLI}tag_and_missing_topic_are_refused_by_the_key",
    ),
    "runs.tag_pattern": f"{CLI}naming_scheme_is_checked_but_does_not_keep_runs_from_a_pool",
    "runs.topic_documents": (
        "tests/assay/cli/test_odd_runs.py::"
        "test_document_that_is_the_topic_is_left_out_if_the_option_or_the_protocol_says_so"
    ),
    "runs.columns.order": f"{OWN}rank_orders_a_run_without_scores",
    **dict.fromkeys(
        ("runs.columns.header", "qrels.columns.header"), f"{OWN}columns_may_be_named_by_the_first_line"
    ),
    "runs.columns.separator": f"{OWN}columns_are_separated_as_the_protocol_says",
    "runs.columns.topic": f"{OWN}run_without_a_column_of_topics_has_the_topic_of_the_protocol",
    "runs.columns.labels": f"{OWN}wrong_line_is_named",
    **dict.fromkeys(
        [f"runs.answers.{key}" for key in ("max_words", "max_characters", "max_references", "max_run_id")],
        f"{ANSWERS}run_is_refused_by_a_limit_and_accepted_without_it",
    ),
    "runs.answers.too_long": f"{ANSWERS}answer_that_is_too_long_gets_a_warning_if_the_protocol_says_so",
    "runs.answers.characters_label": f"{ANSWERS}label_of_a_topic_is_the_limit_of_its_characters",
    **dict.fromkeys(
        ("nuggets.most", "nuggets.max_words"), f"{ANSWERS}list_beyond_the_limits_of_the_protocol_has_problems"
    ),
    "runs.answers.citations": f"{ANSWERS}pool_has_as_many_citations_of_a_sentence_as_are_judged",
    "judging.grade.citation_label": "tests/test_answers.py::test_assessor_sees_the_nugget_the_answer_and_no_run",
    "judging.grade.citation_definition": "tests/test_answers.py::test_assessor_sees_the_nugget_the_answer_and_no_run",
    "runs.ties": f"{OWN}ties_are_in_the_order_of_the_protocol",
    "runs.uses": f"{KINDS}what_a_run_uses_is_asked_and_shown_in_the_words_of_the_protocol",
    "runs.kind.key": f"{CLI}pool_has_the_units_that_the_key_asks_for",
    "runs.kind.title": f"{KINDS}words_of_the_protocol_are_on_the_submission_page_and_decide_what_is_accepted",
    "runs.kind.depth": f"{CLI}pool_has_the_units_that_the_key_asks_for",
    "runs.kind.pooled_as": f"{CLI}baseline_is_pooled_as_the_protocol_says",
    "runs.kind.pooled_as_by_tag": f"{CLI}baseline_is_pooled_as_the_protocol_says",
    "runs.kind.oracles": (
        "tests/scoring/leaderboards/test_selectors.py::"
        "test_gain_can_be_over_the_strongest_automatic_baseline_other_than_oracles"
    ),
    "runs.kind.scored": f"{SCORING}leaderboard_has_the_runs_of_the_kinds_that_are_scored",
    "runs.kind.submitted_by": (
        f"{KINDS}words_of_the_protocol_are_on_the_submission_page_and_decide_what_is_accepted"
    ),
    **dict.fromkeys(
        ("runs.kind.phase", "runs.phase.key", "runs.phase.scores"),
        f"{PHASES}training_run_is_scored_at_once_and_reveals_nothing_of_the_test",
    ),
    **dict.fromkeys(
        [
            f"runs.question.{key}"
            for key in ("key", "label", "kind", "choice.key", "choice.label", "required", "help")
        ],
        f"{KINDS}questions_about_a_run_are_asked_checked_and_shown",
    ),
    "runs.question.header": f"{KINDS}header_of_a_run_answers_questions_and_leaves_with_the_run",
    "runs.question.public": f"{KINDS}files_of_a_leaderboard_have_the_answers_to_public_questions",
    "runs.phase.title": f"{PHASES}runs_after_closing_are_scored_apart_and_open_nothing",
    "runs.phase.split": f"{PHASES}run_has_the_topics_of_the_split_of_its_phase",
    "runs.phase.max_per_day": f"{PHASES}daily_limit_is_stated_and_enforced_for_pages_and_programs",
    "runs.phase.after_closing": f"{PHASES}runs_after_closing_are_scored_apart_and_open_nothing",
    "runs.kind.baseline": f"{KINDS}kinds_decide_depths_scores_and_filters",
    "runs.documents": (
        "tests/pooling/runs/test_owed_runs.py::test_contact_person_writes_the_documents_that_the_team_owes"
    ),
    "runs.kind.min_per_team": (
        "tests/pooling/runs/test_owed_runs.py::test_team_without_a_run_that_it_owes_is_named_and_reminded"
    ),
    "runs.kind.max_per_team": (
        "tests/pooling/runs/test_submission.py::test_a_team_submits_one_evaluation_run_and_ten_baselines"
    ),
    "runs.min_score": f"{CLI}run_is_refused_by_the_key_and_accepted_without_it",
    "runs.max_score": f"{CLI}run_is_refused_by_the_key_and_accepted_without_it",
    "runs.max_passage_characters": f"{CLI}run_is_refused_by_the_key_and_accepted_without_it",
    "runs.max_seconds_per_topic": f"{CLI}seconds_of_a_topic_are_limited",
    "runs.attributes": f"{CLI}run_is_refused_by_the_key_and_accepted_without_it",
    "runs.forbidden_fields": f"{CLI}run_is_refused_by_the_key_and_accepted_without_it",
    "pool.strategy": f"{CLI}pool_has_the_units_that_the_key_asks_for",
    "pool.depth_is_default": "tests/pooling/pools/test_views.py::test_form_says_whether_the_protocol_fixes_the_depth",
    "pool.target": f"{CLI}pool_has_the_units_that_the_key_asks_for",
    "pool.near_duplicate_overlap": f"{CLI}near_duplicates_are_pooled_once",
    "pool.order": f"{CLI}order_of_the_protocol_is_that_of_judging",
    **dict.fromkeys(
        [f"pool.pairs.{key}" for key in ("selection", "partners", "few")],
        "tests/assay/qrels/test_derived.py::test_command_pools_the_pairs_that_the_keys_ask_for",
    ),
    "pool.pairs.k": f"{ARCHIVES}a_tournament_makes_as_many_documents_the_best_as_the_protocol_says",
    "instances.clustering": (
        "tests/pooling/pools/test_views.py::test_visual_ids_of_submitted_formulas_are_made_on_demand"
    ),
    "instances.strategy": f"{CLI}instances_are_selected_by_strategy_and_limit",
    "instances.limit": f"{CLI}instances_are_selected_by_strategy_and_limit",
    "judging.layout": "tests/assessment/judging/test_views.py::test_document_layout_shows_topic_narrative_and_document",
    "judging.grade.key": CHOICES,
    "judging.grade.value": f"{PAGES}value_of_a_grade_is_the_grade_of_the_judgment",
    "judging.grade.label": CHOICES,
    "judging.grade.definition": CHOICES,
    "judging.grade.shortcut": CHOICES,
    "judging.non_answer.key": CHOICES,
    "judging.non_answer.label": CHOICES,
    "judging.non_answer.definition": CHOICES,
    "judging.non_answer.needs_comment": f"{PAGES}needs_comment_refuses_a_non_answer_without_one",
    "judging.non_answer.shortcut": CHOICES,
    "judging.non_answer.qrels_code": (
        f"{SCORING}code_of_a_non_answer_is_imported_as_not_judged_and_is_an_error_without_the_key"
    ),
    "judging.question.key": CHOICES,
    "judging.question.label": CHOICES,
    "judging.question.kind": f"{PAGES}answers_of_every_kind_are_stored_as_the_kind_says",
    "judging.question.choices_from": (
        "tests/publishing/archives/test_diversity.py::test_page_asks_about_the_subtopics_of_the_topic"
    ),
    "judging.question.choice.key": QUESTIONS,
    "judging.question.choice.label": CHOICES,
    "judging.question.choice.value": SETS,
    "judging.question.choice.definition": QUESTIONS,
    "judging.question.choice.shortcut": QUESTIONS,
    **dict.fromkeys(
        [
            f"judging.question.{key}"
            for key in ("after_all", "required", "min", "max", "max_characters", "at_least", "at_most")
        ],
        f"{PAGES}answers_that_a_question_does_not_take_are_refused",
    ),
    "judging.question.help": QUESTIONS,
    "judging.question.field": (
        "tests/assessment/judging/test_rows.py::test_parts_of_a_field_are_marked_checked_and_exported"
    ),
    "judging.question.unit": QUESTIONS,
    "judging.question.after": f"{PAGES}questions_are_asked_after_the_grades_that_they_name",
    "judging.question.languages": (
        "tests/assessment/judgments/test_answers.py::test_question_for_a_language_follows_the_document"
    ),
    "judging.form.fields": f"{ROWS}page_has_the_row_with_its_questions_in_their_places",
    "judging.form.html": f"{ROWS}page_has_the_row_with_its_questions_in_their_places",
    "judging.form.frame": f"{ROWS}frame_gives_answers_as_they_are_and_questions_check_theirs",
    "judging.preference.question": (
        "tests/assessment/judging/test_pairs.py::test_page_asks_the_question_of_the_protocol"
    ),
    **dict.fromkeys(
        [f"judging.preference.{key}" for key in ("ties", "both_bad", "strength")],
        "tests/assessment/judging/test_pairs.py::test_choices_are_those_of_the_protocol",
    ),
    "judging.judges": f"{PAGES}judges_is_the_number_of_assessors_of_a_unit",
    "judging.groups": "tests/assessment/planning/test_grid.py::test_topics_are_shared_by_group",
    "judging.dual_share": (
        f"{PLANNING}test_views.py::test_share_of_the_topics_is_proposed_where_the_protocol_states_one"
    ),
    "judging.in_context": (
        "tests/assessment/judging/test_members.py::test_member_is_shown_without_its_post_if_the_protocol_says_so"
    ),
    "judging.training_topics": (
        f"{PLANNING}test_views.py::test_training_starts_with_as_many_topics_as_the_protocol_states"
    ),
    "judging.dual_topics": f"{PLANNING}test_views.py::test_each_assessor_gets_two_topics_in_task_2_of_arqmath",
    "qrels.aggregate": f"{SCORING}two_judges_become_one_grade_and_versions_of_their_groups",
    "qrels.set.key": SETS,
    "qrels.set.title": f"{SCORING}each_set_is_scored_with_its_measures_and_shown_side_by_side",
    "qrels.set.question": SETS,
    "qrels.set.grades": SETS,
    "qrels.set.rule.when": SETS,
    "qrels.set.rule.grade": SETS,
    "qrels.set.only": SETS,
    "qrels.set.otherwise": SETS,
    "qrels.set.aggregate": f"{SCORING}judgments_of_several_assessors_become_one_grade_of_a_set",
    "qrels.set.min_relevant": SETS,
    "qrels.set.relevant_from": SETS,
    **dict.fromkeys(
        ["qrels.preferences", "qrels.set.preferences"],
        f"{ARCHIVES}a_lab_of_preferences_is_verified_and_loaded",
    ),
    "qrels.min_relevant": f"{SCORING}topics_with_fewer_relevant_units_are_dropped",
    "qrels.relevant_from": f"{SCORING}topics_with_fewer_relevant_units_are_dropped",
    "qrels.topic_citations": f"{SCORING}citations_in_topics_join_the_judged_ones",
    "qrels.columns.order": f"{OWN}run_and_gold_in_their_own_columns_are_scored",
    "qrels.columns.separator": f"{OWN}gold_is_converted_from_and_to_its_own_columns",
    "qrels.columns.words": f"{OWN}wrong_word_for_a_grade_is_named",
    "qrels.export_groups": f"{SCORING}two_judges_become_one_grade_and_versions_of_their_groups",
    "scoring.measures": f"{SCORING}columns_of_the_leaderboard_are_the_measures",
    "scoring.judged_only": (
        f"{SCORING}curves_of_a_run_follow_the_relevant_grade_and_leave_unjudged_documents_out"
    ),
    "scoring.group_relevant_from": (
        "tests/scoring/leaderboards/test_interaction.py::test_scoring_a_version_scores_the_same_runs_by_each_group"
    ),
    "scoring.relevant_from": (
        f"{SCORING}curves_of_a_run_follow_the_relevant_grade_and_leave_unjudged_documents_out"
    ),
    "scoring.average": f"{SCORING}average_is_over_the_judged_topics_or_over_those_of_the_run",
    "scoring.collapse_instances": f"{SCORING}instances_of_a_formula_are_scored_as_one_unit",
    "scoring.duplicates_are_false_alarms": f"{SCORING}repeated_near_duplicate_is_a_false_alarm",
    "scoring.topic_classes": (
        "tests/scoring/leaderboards/test_classes.py::test_page_and_file_have_the_means_of_each_class"
    ),
    "agreement.binary_from": f"{PAGES}binary_from_divides_the_grades_into_two_classes",
    "baselines.tokenizer": "assay_extensions/baselines/tests/test_commands.py::test_tokenizer_of_the_protocol_is_used",
    "interaction.seconds_per_topic": (
        f"{INTERACTION}the_site_ends_a_session_after_the_seconds_of_the_protocol"
    ),
    "interaction.run_kind": f"{INTERACTION}the_run_and_the_data_follow_the_interaction",
    "interaction.measure": (
        "tests/scoring/leaderboards/test_interaction.py::test_page_compares_the_measure_of_the_protocol"
    ),
}


def keys_of(table: type = Protocol, parent: str = "") -> Iterator[tuple[str, str]]:
    """Each key as it is written in a file, with the attribute that has its value; without keys below listed tables."""
    for child, (field, hint) in structure.keys(table).items():
        key = f"{parent}{child}"
        yield key, field.name
        inner = structure.table_in(hint)
        if inner and key not in NOT_CARRIED_OUT:
            yield from keys_of(inner, f"{key}.")


@cache
def used_attributes() -> frozenset[str]:
    """The names after a dot in the packages, outside imports and outside the modules that only read protocols."""
    names: set[str] = set()
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        if path.parent != ROOT / "assay" / "protocols" or path.name not in ONLY_READS:
            code = re.sub(r"^\s*(from|import) .*$", "", path.read_text(), flags=re.MULTILINE)
            code = re.sub(r'action="[^"]*"', "", code)  # names of events in the audit log
            names.update(re.findall(r"\.([a-z_]+)\b", code))
    return frozenset(names)


def test_key_has_an_effect_or_is_listed() -> None:
    unused = {key for key, attribute in keys_of() if attribute not in used_attributes()}

    assert unused <= set(NOT_CARRIED_OUT), "list a key without effect"


@pytest.mark.parametrize("reason", NOT_CARRIED_OUT.values())
def test_description_of_a_protocol_says_what_is_not_carried_out(reason: str) -> None:
    bolt = shipped_text("bolt-ir-p3") + "\n[published]\ntopics = 150\n"

    descriptions = dict(facts(parse_protocol(bolt, name="bolt.toml"))).values()

    assert any(reason in words for words in descriptions)


@pytest.mark.parametrize("slug", ["trec-adhoc", "arqmath-2020-task1"])
def test_protocol_without_such_keys_says_nothing_about_them(slug: str) -> None:
    words = " ".join(words for _, words in facts(load_protocol(slug)))

    assert "This version of Assay" not in words


def keys_with_values() -> list[str]:
    """The keys of the schema that have a value, and not a table of further keys, in the order of the schema."""
    keys = [key for key, _ in keys_of()]
    return [
        key
        for key in keys
        if key not in NOT_CARRIED_OUT and not any(other.startswith(f"{key}.") for other in keys)
    ]


def test_every_key_has_a_test_of_its_effect() -> None:
    missing = [key for key in keys_with_values() if key not in EFFECTS]

    assert not missing, (
        f"The keys {missing} have no test of their effect. Write a test that changes the key in a protocol and sees "
        f"the effect through a page or a command of `assay`; then add to EFFECTS in "
        f"{__file__.removeprefix(f'{ROOT}/')}:\n"
        f'    "{missing[0]}": "tests/<path>/test_<module>.py::test_<name>",\n'
        "For a key without effect, add a sentence to NOT_CARRIED_OUT in assay/protocols/description.py instead."
    )


def test_every_row_names_a_test_that_uses_a_page_or_a_command() -> None:
    tests = {key: test.partition("::") for key, test in EFFECTS.items()}

    unknown = {key for key, (path, _, name) in tests.items() if name not in names_of_tests(path)}
    others = {key for key, (path, _, _) in tests.items() if not uses_pages_or_commands(path)}

    assert not unknown, "pytest collects none of these tests; correct their rows in EFFECTS"
    assert not others, "the modules of these tests request no page and run no command"


def test_every_row_is_a_key_of_the_schema() -> None:
    """A key with an effect is not in `NOT_CARRIED_OUT`."""
    others = set(EFFECTS) - set(keys_with_values())

    assert not others, "take these rows out of EFFECTS, or their keys out of NOT_CARRIED_OUT"


@cache
def names_of_tests(path: str) -> frozenset[str]:
    """The functions of a module that pytest collects as tests and does not skip."""
    if not (ROOT / path).is_file() or not (ROOT / path).name.startswith("test_"):
        return frozenset()
    module = ast.parse((ROOT / path).read_text())
    return frozenset(
        node.name
        for node in module.body
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not any(
            "skip" in ast.unparse(mark) or "xfail" in ast.unparse(mark) for mark in node.decorator_list
        )
    )


def uses_pages_or_commands(path: str) -> bool:
    return bool({"Client", "Page", "APIClient", "main", "call_command"} & set(imports_of(path)))


@cache
def imports_of(path: str) -> frozenset[str]:
    def names() -> Iterator[str]:
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            if isinstance(node, ast.ImportFrom):
                yield from (alias.name for alias in node.names)

    return frozenset(names())
