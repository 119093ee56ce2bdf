"""E-mails about a released leaderboard, to the members of its teams who chose them. They contain no scores."""

from django.utils import timezone

from accounts.letters import services as letters
from pooling.models import Team
from pooling.runs.notices import members_to_mail
from scoring.models import Leaderboard

RELEASED = "leaderboards.released"  # kind of letters


def released(board: Leaderboard) -> None:
    """Tell the teams with runs on a leaderboard that they can see it: once, at its first release."""
    if board.mailed_at is not None:
        return
    board.mailed_at = timezone.now()
    board.save(update_fields=["mailed_at"])
    teams = Team.objects.filter(runs__evaluations__leaderboard=board).distinct()
    for user_id in sorted({user_id for team in teams for user_id in members_to_mail(team)}):
        letters.post(kind=RELEASED, data={"user": user_id, "leaderboard": board.pk}, site="")
