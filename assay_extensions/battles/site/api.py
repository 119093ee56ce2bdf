"""Boards of systems for programs."""

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of, user_of
from assay.tables import plain
from assay_extensions.battles.records import FORMS
from assay_extensions.battles.site import boards
from scoring.selectors import board_or_404
from web.api.permissions import Everyone, Organizer
from web.api.views import Endpoints, get, get_file, parameter


class BattlesSerializer(serializers.Serializer[boards.Battles]):
    """The systems of a leaderboard, rated by battles of their answers."""

    tables = serializers.DictField(
        help_text="The tables of the page by name, `board`, `differences`, `pairs` and `consistency`: each has a row "
        "as an object for each of its lines. Undefined values are null."
    )


class BattleBoards(Endpoints):
    tag = "Leaderboards"
    permission_classes = [Everyone]

    @get("leaderboards/<int:board_id>/battles/", "battles", BattlesSerializer)
    def get_battles(self, request: Request, board_id: int) -> object:
        """Read the ratings of systems by battles. Everyone who may see the leaderboard."""
        battles = boards.battles_behind(board_or_404(user_of(request), board_id))
        rows = {
            table.name: [dict(zip(table.header, plain(row), strict=True)) for row in table.rows]
            for table in battles.tables
        }
        return Response({"tables": rows})

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
        return boards.battles_download(board, form)


urlpatterns = BattleBoards.urls()
