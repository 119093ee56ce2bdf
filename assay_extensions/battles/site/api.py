"""Boards of systems for programs."""

from collections.abc import Sequence

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of, user_of
from assay.tables import Table, plain
from assay_extensions.battles.records import FORMS
from assay_extensions.battles.site import boards, systems
from scoring.models import Leaderboard
from scoring.selectors import board_or_404
from web.api.permissions import Everyone, Organizer
from web.api.views import Endpoints, get, get_file, parameter


class BattlesSerializer(serializers.Serializer[boards.Battles]):
    """The systems of a leaderboard, rated by battles of their answers."""

    tables = serializers.DictField(
        help_text="The tables of the page by name, `board`, `differences`, `pairs` and `consistency`: each has a row "
        "as an object for each of its lines. Undefined values are null."
    )


class SystemsSerializer(serializers.Serializer[Leaderboard]):
    """The systems of a leaderboard, with what the leaderboards of other judges and tracks say of the same runs."""

    tables = serializers.DictField(
        help_text="The tables of the page by name. `systems` has a row for each system; a column `TRACK/JUDGE/rating`, "
        "`low` or `high` has ratings by battles, others have means of measures. `agreement` compares the judges of "
        "battles. Undefined values are null."
    )


def _rows(tables: Sequence[Table]) -> dict[str, list[dict[str, object]]]:
    """The rows of tables as objects, by the name of the table."""
    return {
        table.name: [dict(zip(table.header, plain(row), strict=True)) for row in table.rows]
        for table in tables
    }


class BattleBoards(Endpoints):
    tag = "Leaderboards"
    permission_classes = [Everyone]

    @get(
        "leaderboards/<int:board_id>/battles/",
        "battles",
        BattlesSerializer,
        parameters=[
            parameter(
                "prior",
                "Wins each way that are added between all systems, so that each has a rating; none without it.",
                values=[*filter(None, boards.PRIORS)],
            )
        ],
    )
    def get_battles(self, request: Request, board_id: int) -> object:
        """Read the ratings of systems by battles. Everyone who may see the leaderboard."""
        user = user_of(request)
        prior = boards.PRIORS[request.query_params.get("prior", "")]
        battles = boards.battles_behind(user, board_or_404(user, board_id), prior=prior)
        return Response({"tables": _rows(battles.tables)})

    @get("leaderboards/<int:board_id>/systems/", "systems", SystemsSerializer)
    def get_systems(self, request: Request, board_id: int) -> object:
        """Read the systems in one table: battles by people and programs, and measures of other tracks. Everyone who
        may see the leaderboard; other leaderboards are those that the user sees.
        """
        user = user_of(request)
        return Response({"tables": _rows(systems.tables_of(user, board_or_404(user, board_id)))})

    @get_file(
        "leaderboards/<int:board_id>/battles/file/",
        "battles_file",
        "text/tab-separated-values",
        who=[Organizer],
        parameters=[parameter("format", "The form of the file; `tsv` without it.", values=[*FORMS])],
    )
    def download_battles(self, request: Request, board_id: int) -> object:
        """Download the battles behind a leaderboard, with their assessors. Organizers only."""
        board = board_or_404(person_of(request), board_id)
        form = request.query_params.get("format", "tsv")
        if form not in FORMS:
            raise serializers.ValidationError({"format": f"Use {', '.join(FORMS)}."})
        return boards.battles_download(person_of(request), board, form)


urlpatterns = BattleBoards.urls()
