"""Judgments for programs."""

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from assessment.batches.selectors import batch_or_404, batches_of
from assessment.judgments import selectors, services
from assessment.judgments.exports import FORMS, TURKLE, VOTE_FORMS
from assessment.judgments.forms import ExportForm
from assessment.models import Judgment
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import Organizer
from web.api.serializers import require_valid
from web.api.views import Endpoints, get, get_file, parameter
from web.downloads import download

ANSWERS = (
    "Question to answer: a string, for any-of a list of choices, for a ranking a list of choices, best first, in which "
    "equal ones are a list, for a span a list of marked parts with `start`, `length` and `choice`. The first two count "
    "characters of the document's `text` as plain text."
)


class AnswersField(serializers.DictField):
    """Answers to the questions of a protocol."""

    child = serializers.JSONField()


JUDGMENT = (
    "id batch=batch_id task=task_id topic=topic.code docno assessor=assessor.username choice grade comment answers "
    "seconds judged_at=created_at"
)
OF_JUDGMENT = {"grade": "Null for a non-answer.", "answers": AnswersField(help_text=ANSWERS)}
JudgmentSerializer = answer(
    Judgment,
    "Judgment",
    JUDGMENT,
    "A choice for a document of a topic. A revision is a new judgment.",
    **OF_JUDGMENT,
)
FullJudgmentSerializer = answer(
    Judgment,
    "FullJudgment",
    f"{JUDGMENT} replaces=replaces_id is_current is_check is_machine=assessor.is_machine source",
    "A judgment as organizers see it.",
    **OF_JUDGMENT,
    replaces="The judgment it revises.",
    is_machine="A machine judged.",
)


class Judgments(Endpoints):
    tag = "Judgments"

    @get(
        "batches/<int:batch_id>/own-judgments/",
        "own_judgments",
        JudgmentSerializer,
        ordering=("-pk",),
        filters=[Filter("topic", "topic__code"), Filter("choice")],
        orders=["created_at"],
        searches=("topic__code", "docno", "comment"),
    )
    def list_own_judgments(self, request: Request, batch_id: int) -> object:
        """List your own judgments of a batch, newest first; of each document only the latest."""
        user = person_of(request)
        batch = get_object_or_404(batches_of(user), pk=batch_id)
        return selectors.own_judgments(batch, user).select_related("assessor")

    @get(
        "batches/<int:batch_id>/judgments/",
        "judgments",
        FullJudgmentSerializer,
        who=[Organizer],
        ordering=("pk",),
        filters=[
            Filter("topic", "topic__code"),
            Filter("assessor", "assessor__username"),
            Filter("choice"),
            Filter("grade", kind="whole number"),
            Filter("is_current", kind="true or false"),
        ],
        orders=["created_at"],
    )
    def list_judgments(self, request: Request, batch_id: int) -> object:
        """List all judgments of a batch, oldest first, with those that were replaced.

        Keep the judgments of a machine from people who still have to judge the same documents.
        """
        batch = batch_or_404(batch_id)
        if "cursor" not in request.query_params:
            services.note_export(track=batch.pool.track, content={"batch": batch.name, "through": "API"})
        return batch.judgments.select_related("topic", "assessor")

    @get_file(
        "tracks/<slug:slug>/judgments/",
        "export_judgments",
        "text/csv",
        "application/jsonl",
        "text/plain",
        who=[Organizer],
        parameters=[
            parameter(
                "to", "csv without it. The last three are for pairs.", values=[*FORMS, TURKLE, *VOTE_FORMS]
            ),
            parameter("names", "Of assessors; codes without it.", values=["codes", "usernames"]),
            parameter("comments", "Comments of assessors; without it, none.", values=["without", "with"]),
            parameter("machines", "Judgments of machines; without it, none.", values=["without", "with"]),
            parameter(
                "about", "Of generated answers: only these; without it, all.", values=list(selectors.ABOUT)
            ),
        ],
    )
    def download_judgments(self, request: Request, slug: str) -> object:
        """Download all judgments of a track, with those that were replaced.

        Code names are the same in every export. Keep the judgments of a machine from people who still have to judge the
        same documents.
        """
        track = track_of(request, slug)
        usual = {"to": "csv", "names": "codes", "comments": "without", "machines": "without"}
        form = ExportForm(usual | request.query_params.dict(), track=track)
        require_valid(form)
        return download(*services.export(track=track, **form.cleaned_data))


urlpatterns = Judgments.urls()
