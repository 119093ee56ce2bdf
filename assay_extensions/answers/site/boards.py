"""The answers of a leaderboard, graded by the rubrics of its qrels, and the impact of each criterion."""

from dataclasses import dataclass, replace

from django.http import Http404

from accounts.access import AnyUser
from assay.answers import ANSWER, NuggetUnit
from assay.nuggets.assignments import VERDICTS, grades_of
from assay.pools.answers import answers_of
from assay.tables import Table
from assay_extensions.answers.rubric_files import rubric_of, write_rubrics
from assay_extensions.answers.rubrics import Rubric
from assay_extensions.answers.rubrics_command import impact_table, type_table
from assessment.nuggets.selectors import frozen_nuggets
from pooling.models import PooledAnswer
from scoring.evaluations.stored_runs import columns_of
from scoring.models import Leaderboard
from scoring.qrels.selectors import qrels_columns
from scoring.selectors import LeaderboardPage, shared_page
from scoring.stored_analyses import evaluated
from web.tables import ShownTable, file_of, shown_table


def graded_answers(board: Leaderboard) -> list[Rubric]:
    """The answers of the runs of a leaderboard, as `assay rubrics` reads them.

    Raises:
        Http404: Its qrels are not of rubrics, or are an imported file.
    """
    pool, protocol = board.qrels.pool, board.track.protocol.parsed
    if pool is None or not protocol.judged.has_weights:
        raise Http404
    grades = grades_of(qrels_columns(board.qrels))
    verdicts = dict(zip(sorted(grade.value for grade in protocol.judging.grades), VERDICTS, strict=False))
    lists = {nuggets.topic: nuggets for nuggets in frozen_nuggets(pool)}
    texts = {
        (code, digest): " ".join(text for text, _ in sentences)
        for code, digest, sentences in PooledAnswer.objects.filter(topic__track=board.track_id).values_list(
            "topic__code", "digest", "sentences"
        )
    }
    answers = []
    for evaluation in evaluated(board):
        for code, docno in answers_of(columns_of(evaluation.run)).items():
            if code not in lists:
                continue
            digest, rubric = docno.removeprefix(ANSWER), rubric_of(lists[code])
            units = [(code, str(NuggetUnit(digest, nugget.key))) for nugget in lists[code].nuggets]
            criteria = tuple(
                replace(criterion, verdict=verdicts[grades[unit]])
                for criterion, unit in zip(rubric.criteria, units, strict=True)
                if grades.get(unit, -1) in verdicts
            )
            text = texts.get((code, digest), "")
            answers.append(
                replace(
                    rubric,
                    criteria=criteria,
                    run=evaluation.run.tag,
                    words=len(text.split()),
                    more={"answer_text": text},
                )
            )
    return answers


def graded_lines(board: Leaderboard) -> bytes:
    return write_rubrics(graded_answers(board), "ragdoll")


def tables_of(answers: list[Rubric]) -> list[Table]:
    return [impact_table(answers), type_table(answers)]


def table_file(board: Leaderboard, name: str, kind: str) -> str:
    """A table as TSV or CSV.

    Raises:
        Http404: There is no such table.
    """
    content = file_of(tables_of(graded_answers(board)), name, kind)
    if content is None:
        raise Http404
    return content


def file_name(board: Leaderboard, name: str) -> str:
    return f"{board.track.slug}-leaderboard-{board.pk}-{name}"


@dataclass(frozen=True, kw_only=True)
class CriteriaPage(LeaderboardPage):
    tables: list[ShownTable]
    n_answers: int


def criteria_page(user: AnyUser, board: Leaderboard) -> CriteriaPage:
    answers = graded_answers(board)
    return CriteriaPage(
        **vars(shared_page(user, board)),
        tables=[shown_table(table) for table in tables_of(answers)],
        n_answers=len(answers),
    )
