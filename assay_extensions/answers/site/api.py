"""The impact of draft criteria, and the criteria of leaderboards, for programs."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from assay.tables import plain
from assay_extensions.answers.site import boards, drafts
from assay_extensions.answers.site.drafts import Draft
from assessment.nuggets.selectors import nugget_or_404
from scoring.selectors import board_or_404
from web.api.permissions import LoggedIn, Organizer
from web.api.serializers import Strict
from web.api.views import Endpoints, get, get_file, put
from web.downloads import download
from web.models import Scope

WRITING = (Scope.JUDGE, Scope.MANAGE)


class WaitingAnswerSerializer(serializers.Serializer[Any]):
    """An answer that nobody graded by the criterion yet, without the systems that wrote it."""

    answer = serializers.CharField(help_text="Names it in the address of its grade.")
    text = serializers.CharField()


class ImpactSerializer(serializers.Serializer[Any]):
    """The number of submitted systems that satisfy a draft criterion."""

    n_answers = serializers.IntegerField(help_text="Different answers to the topic.")
    n_systems = serializers.IntegerField(help_text="Runs with an answer to the topic.")
    n_graded = serializers.IntegerField(help_text="Systems whose answers are graded.")
    n_satisfied = serializers.IntegerField()
    n_partly = serializers.IntegerField()
    verdict = serializers.CharField(
        help_text="`separates`, `universal` (more than 80 % satisfy it) or `hard` (fewer than 10 % do); empty until "
        "all systems are graded."
    )
    next = WaitingAnswerSerializer(
        allow_null=True, help_text="The next answer to grade; null if there is none."
    )


class DraftGradeSerializer(Strict):
    """The grade of an answer by a draft criterion."""

    choice = serializers.CharField(max_length=50, help_text="The key of a grade of the protocol.")


class CriteriaSerializer(serializers.Serializer[Any]):
    """The number of systems that satisfy each criterion of the rubrics behind a leaderboard."""

    tables = serializers.DictField(
        help_text="The tables `impact` and `types` of the page. Rows are objects; undefined values are null."
    )


def _values(draft: Draft) -> dict[str, Any]:
    waiting = draft.shown(draft.waiting[0]) if draft.waiting else None
    following = waiting and {"answer": waiting.digest, "text": " ".join(waiting.sentences)}
    return {"n_answers": len(draft.systems), **draft.tally._asdict(), "next": following}


class Impacts(Endpoints):
    tag = "Nuggets"
    permission_classes = [LoggedIn]

    @get("nuggets/<int:nugget_id>/impact/", "impact", ImpactSerializer)
    def get_impact(self, request: Request, nugget_id: int) -> object:
        """Read how many systems satisfy a draft criterion, and the next answer to grade. Assessors and organizers."""
        return Response(_values(drafts.draft_of(nugget_or_404(person_of(request), nugget_id))))

    @put(
        "nuggets/<int:nugget_id>/impact/<slug:answer>/",
        "draft_grade",
        ImpactSerializer,
        takes=DraftGradeSerializer,
        write_scopes=WRITING,
    )
    def update_draft_grade(self, request: Request, nugget_id: int, answer: str) -> object:
        """Grade an answer by a draft criterion. The grade does not affect any score. Assessors and organizers."""
        user = person_of(request)
        nugget = nugget_or_404(user, nugget_id)
        drafts.grade(nugget=nugget, answer=answer, by=user, **self.validated(request))
        return Response(_values(drafts.draft_of(nugget)))


class Criteria(Endpoints):
    tag = "Leaderboards"
    permission_classes = [Organizer]

    @get("leaderboards/<int:board_id>/rubrics/", "rubrics", CriteriaSerializer)
    def get_rubrics(self, request: Request, board_id: int) -> object:
        """Read which criteria separate the systems of a leaderboard. Organizers only."""
        answers = boards.graded_answers(board_or_404(person_of(request), board_id))
        rows = {
            table.name: [dict(zip(table.header, plain(row), strict=True)) for row in table.rows]
            for table in boards.tables_of(answers)
        }
        return Response({"tables": rows})

    @get_file("leaderboards/<int:board_id>/rubrics/file/", "graded_answers", who=[Organizer])
    def download_graded_answers(self, request: Request, board_id: int) -> object:
        """Download the answers of a leaderboard, graded by rubrics, as RAGDoll reads them. Organizers only."""
        board = board_or_404(person_of(request), board_id)
        return download(boards.graded_lines(board), boards.file_name(board, "graded.jsonl"))


urlpatterns = Impacts.urls() + Criteria.urls()
