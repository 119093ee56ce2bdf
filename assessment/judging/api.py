"""Tasks for programs: take one, judge it, revise, skip, undo."""

from typing import Any, get_args
from uuid import uuid4

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from assay.protocols.schema import QuestionKind
from assessment.batches.selectors import batches_of
from assessment.judging import selectors, services
from assessment.judging.layouts.answers import UnitAnswer
from assessment.judging.layouts.citations import ContextPost, UnitCitation
from assessment.judging.layouts.formulas import UnitMember
from assessment.judging.layouts.pairs import UnitSide
from assessment.judging.many import MOST, Unit, submit_many
from assessment.judging.units import ShownTask, ShownUnit, shown_task
from assessment.judgments import services as judgments
from assessment.judgments.api import ANSWERS, AnswersField, JudgmentSerializer
from assessment.judgments.services import Answer
from assessment.models import Batch, Task
from web.api.answers import answer
from web.api.filters import Filter
from web.api.serializers import Address, Strict
from web.api.views import Endpoints, get, parameter, post
from web.models import Scope

MAX_ID = 2**63 - 1
LIMITED = "Choices of any-of and ranking; marked parts of span."
MAX_SECONDS = 10**6
TEXTS = ("plain", "html")


class GradeSerializer(serializers.Serializer[Any]):
    """A grade of the protocol."""

    grade = serializers.IntegerField()
    key = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    definition = serializers.CharField()


class NonAnswerSerializer(serializers.Serializer[Any]):
    """A choice that is not a grade."""

    key = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    definition = serializers.CharField()
    needs_comment = serializers.BooleanField(help_text="A comment must say why.")


class QuestionChoiceSerializer(serializers.Serializer[Any]):
    """A choice of a question."""

    key = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    definition = serializers.CharField()


class QuestionSerializer(serializers.Serializer[Any]):
    """A question that is asked after some choices. A condition is the key of a grade, or `question:choice`."""

    key = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    kind = serializers.CharField(help_text=f"{', '.join(get_args(QuestionKind))}.")
    choices = QuestionChoiceSerializer(many=True)
    after = serializers.ListField(
        child=serializers.CharField(),
        help_text="Conditions, one of which must hold; empty: after every grade.",
    )
    after_all = serializers.ListField(
        child=serializers.CharField(), help_text="Conditions that must all hold."
    )
    required = serializers.BooleanField(help_text="Who is asked must answer.")  # type: ignore[assignment]
    help = serializers.CharField()
    min = serializers.FloatField(allow_null=True, help_text="Of a number.")
    max = serializers.FloatField(allow_null=True, help_text="Of a number.")
    unit = serializers.CharField(help_text="Of a number.")
    max_characters = serializers.IntegerField(
        allow_null=True,
        help_text="Of a text; of a span, the length of the document's `text`, or of the `field`.",
    )
    field = serializers.CharField(help_text="Of a span in a row: the field whose text is marked; else empty.")
    at_least = serializers.IntegerField(allow_null=True, help_text=LIMITED)
    at_most = serializers.IntegerField(allow_null=True, help_text=LIMITED)


answer(UnitMember, "Member", "docno latex text")
answer(
    ContextPost,
    "ThreadPost",
    "docno author published_at text=body is_cited",
    "A post of the thread of a citation.",
    text="With `texts=html`, the cited words are in `<mark>`.",
)
answer(
    UnitCitation,
    "CitedPost",
    "words language thread_title posts is_outside",
    "A citation in its thread. The passage of the system is the `text` of the unit.",
    words="The cited words; empty if they are the passage.",
    language="Of the thread.",
    posts="The cited post, with up to five before and after it.",
    is_outside="The citation is not inside its post.",
)
answer(
    UnitAnswer,
    "Generated",
    "judged text answer",
    "A part of a generated answer. The cited segment is the `text` of the unit.",
    text="The nugget, or the sentence whose citation is judged.",
    answer="The whole answer.",
)
answer(UnitSide, "Paired", "docno title text", "A document of a pair.")
UnitSerializer = answer(
    ShownUnit,
    "Unit",
    " ".join(ShownUnit._fields),
    "The question of a task: texts, guidelines and choices. Texts are plain, or HTML with `texts=html`.",
    scenario="Who asks, and what for.",
    criteria="What makes a document relevant.",
    thread_question="The question that the answer belongs to, where units are shown in context; otherwise empty.",
    latex="Of the formula, if the unit is a formula.",
    citation="Null if the unit is not a citation.",
    generated="Null if the unit is not in a generated answer.",
    members="If each has its own choice; otherwise empty.",
    pair="The two documents of a pair, the left one first; otherwise empty.",
    row="Of a row of a table: its values by column; otherwise empty.",
    guidelines="Markdown.",
    grades=GradeSerializer(many=True),
    non_answers=NonAnswerSerializer(many=True),
    questions=QuestionSerializer(many=True, help_text="Those that can be asked of this document."),
    has_other_answers="Whether answers may have other names than the questions, as those of a frame.",
)
TaskSerializer = answer(
    ShownTask,
    "Task",
    "id=task.id url batch=task.batch.id status accepted_at=task.accepted_at expires_at=task.expires_at unit judgments",
    "A unit that an assessor judges, with their judgments of it.",
    url=Address("api:task", "task.pk", help_text="The address of this task in the API."),
    status=serializers.CharField(source="task.status", help_text="accepted, submitted, expired or skipped."),
    judgments=JudgmentSerializer(many=True, help_text="Your own, oldest first."),
)


class ChoiceSerializer(Strict):
    """A choice for a document."""

    choice = serializers.CharField(max_length=50, help_text="Key of a grade or of a non-answer.")
    comment = serializers.CharField(max_length=10_000, required=False, allow_blank=True, default="")
    answers = AnswersField(required=False, help_text=ANSWERS)
    shown = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=MAX_ID,
        help_text="The id of the judgment that you revise. Without it, a task that is judged already is refused.",
    )


class MemberChoiceSerializer(ChoiceSerializer):
    """A choice for a document in the unit."""

    docno = serializers.CharField(max_length=1_000)


class SubmissionSerializer(ChoiceSerializer):
    """A judgment of a task: one choice, or `members` with a choice for each, if the unit has members."""

    choice = serializers.CharField(
        max_length=50,
        required=False,
        help_text="Key of a grade or of a non-answer. Required without `members`.",
    )
    members = serializers.ListField(child=MemberChoiceSerializer(), required=False, max_length=1_000)
    seconds = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=MAX_SECONDS,
        help_text="How long judging took.",
    )
    request_id = serializers.UUIDField(
        required=False,
        help_text="The same submission, sent twice with it, is stored once and answered alike.",
    )


class SkipSerializer(Strict):
    """The reason why a task is skipped."""

    reason = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")


class UnitSubmissionSerializer(SubmissionSerializer):
    """A judgment of a unit of a batch."""

    topic = serializers.CharField(max_length=200, help_text="The code of the topic.")
    docno = serializers.CharField(max_length=1_000, help_text="As in the `unit` of a task, and in the pool.")


class SubmissionsSerializer(Strict):
    """Judgments of one batch."""

    judgments = serializers.ListField(child=UnitSubmissionSerializer(), min_length=1, max_length=MOST)


def _wrong_kind(batch: Batch, data: dict[str, Any]) -> dict[str, str]:
    """The problem with a submission of a choice or of members, whichever the units of the batch need."""
    if batch.pool.protocol.parsed.judged.has_members:
        if "members" not in data or "choice" in data:
            return {"members": "This unit needs `members`, with a choice for each."}
    elif "choice" not in data or "members" in data:
        return {"choice": "This unit needs a `choice`, and has no `members`."}
    return {}


def submit_task(task: Task, data: dict[str, Any]) -> list[Any]:
    """Store the content of a submission: a choice, or one for each member."""
    request_id, seconds = data.get("request_id") or uuid4(), data.get("seconds")
    if wrong := _wrong_kind(task.batch, data):
        raise serializers.ValidationError(wrong)
    if "members" in data:
        answers = {
            row["docno"]: Answer(
                row["choice"], row["comment"], row.get("shown") or 0, row.get("answers") or {}
            )
            for row in data["members"]
        }
        return judgments.submit_members(task=task, answers=answers, request_id=request_id, seconds=seconds)
    choice: dict[str, Any] = {name: data.get(name) for name in ("choice", "comment", "answers")}
    choice["shown"] = data.get("shown") or 0  # two programs may judge one batch
    return [judgments.submit(task=task, request_id=request_id, seconds=seconds, **choice)]


TASK_JUDGMENTS = ("tasks/<int:task_id>/judgments/", "task_judgments")


class Tasks(Endpoints):
    tag = "Judging"
    write_scopes = (Scope.JUDGE,)

    @post(
        "batches/<int:batch_id>/submissions/",
        "submissions",
        JudgmentSerializer(many=True),
        takes=SubmissionsSerializer,
        status=201,
    )
    def submit_judgments(self, request: Request, batch_id: int) -> object:
        """Judge many units of a batch, taken or not: all of them, or none if one is refused.

        The answer has the judgments in the order of the request.
        """
        user = person_of(request)
        batch = get_object_or_404(batches_of(user), pk=batch_id)
        given = self.validated(request)["judgments"]
        wrong: Any = {
            index: problem for index, row in enumerate(given) if (problem := _wrong_kind(batch, row))
        }
        if wrong:
            raise serializers.ValidationError({"judgments": wrong})
        units = [Unit(row["topic"], row["docno"]) for row in given]
        return submit_many(
            batch=batch,
            assessor=user,
            units=units,
            submit=lambda task, index: submit_task(task, given[index]),
        )

    def task(self, request: Request, task_id: int) -> Task:
        return get_object_or_404(selectors.tasks_of(person_of(request)), pk=task_id)

    def answer(self, request: Request, task: Task) -> object:
        current = self.task(request, task.pk)
        return shown_task(current, is_html=request.query_params.get("texts") == "html")

    @post("batches/<int:batch_id>/next/", "next_task", {200: TaskSerializer, 204: None})
    def take_next_task(self, request: Request, batch_id: int) -> object:
        """Take the next task of a batch, or get the one that you have. 204 if everything is judged."""
        user = person_of(request)
        batch = get_object_or_404(batches_of(user), pk=batch_id)
        taken = services.take_next(batch=batch, assessor=user)
        return Response(status=204) if taken is None else self.answer(request, taken.task)

    @get(
        "tasks/<int:task_id>/",
        "task",
        TaskSerializer,
        parameters=[parameter("texts", "Plain without it.", values=TEXTS)],
        read_scopes=(Scope.READ, Scope.JUDGE),
    )
    def get_task(self, request: Request, task_id: int) -> object:
        """Read a task that you have taken."""
        return self.answer(request, self.task(request, task_id))

    @get(*TASK_JUDGMENTS, JudgmentSerializer, ordering=("-pk",), filters=[Filter("choice")])
    def list_task_judgments(self, request: Request, task_id: int) -> object:
        """List your judgments of a task, newest first, with those that you revised."""
        task = self.task(request, task_id)
        return task.judgments.select_related("topic", "assessor")

    @post(
        *TASK_JUDGMENTS,
        JudgmentSerializer(many=True),
        takes=SubmissionSerializer,
        status=201,
        read_scopes=(Scope.READ, Scope.JUDGE),
    )
    def submit_judgment(self, request: Request, task_id: int) -> object:
        """Judge a task. Another submission for the same task is a revision; the judgment before is kept.

        A first submission is always kept, also when the time of the task has run out or the batch is closed.
        """
        return submit_task(self.task(request, task_id), self.validated(request))

    @post("tasks/<int:task_id>/skip/", "skip_task", TaskSerializer, takes=SkipSerializer)
    def skip_task(self, request: Request, task_id: int) -> object:
        """Put a task aside. It comes back when you have judged all others; organizers see the reason."""
        task = self.task(request, task_id)
        return self.answer(request, services.skip(task=task, reason=self.validated(request)["reason"]))

    @post("tasks/<int:task_id>/give-back/", "give_back_task", TaskSerializer)
    def give_back_task(self, request: Request, task_id: int) -> object:
        """Return a task to your queue. It is the first one that you get again."""
        return self.answer(request, services.give_back(task=self.task(request, task_id)))

    @post("tasks/<int:task_id>/extend/", "extend_task", TaskSerializer)
    def extend_task(self, request: Request, task_id: int) -> object:
        """Start the time of a task again. Refused if it was over and somebody else has the unit now."""
        return self.answer(request, services.extend(task=self.task(request, task_id)))

    @post("tasks/<int:task_id>/undo/", "undo_judgment", TaskSerializer)
    def undo_judgment(self, request: Request, task_id: int) -> object:
        """Take the judgment of a task back, to judge it again. It is kept, but does not count."""
        return self.answer(request, services.undo(task=self.task(request, task_id)))


urlpatterns = Tasks.urls()
