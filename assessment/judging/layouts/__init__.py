"""The layouts of the judging page: a class for each value of `judging.layout`."""

from assessment.judging.layouts.answers import GeneratedAnswer
from assessment.judging.layouts.battles import Battle
from assessment.judging.layouts.citations import Citation
from assessment.judging.layouts.documents import Layout, QuestionAnswer
from assessment.judging.layouts.formulas import Formula, FormulaInstances
from assessment.judging.layouts.pairs import Pair
from assessment.judging.layouts.rows import Row
from assessment.models import Task

LAYOUTS: dict[str, type[Layout]] = {
    "question-answer": QuestionAnswer,
    "topic-document": Layout,
    "formula-instances": FormulaInstances,
    "formula": Formula,
    "citation": Citation,
    "generated-answer": GeneratedAnswer,
    "rubric": GeneratedAnswer,
    "battle": Battle,
    "form": Row,
    "pair": Pair,
}


def shown_unit(task: Task) -> Layout:
    """The unit of a task, in the layout of its protocol."""
    rules = task.batch.pool.protocol.parsed.judging
    return LAYOUTS[rules.layout].of(task, rules)
