"""Judges that teams submit, for tests of all pages and operations."""

from datetime import timedelta

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from accounts.models import User
from assay.digests import sha256_of
from assay_extensions.metaevaluation.site.models import JudgeBoard, JudgeCall, JudgeResult, JudgeRun
from participation.models import Team
from scoring.models import Leaderboard


def make_judge(team: Team, by: User, tag: str = "fair") -> JudgeRun:
    """A judge of a team, as if its qrels had been submitted, in a track that accepts judges."""
    call = {"closes_at": timezone.now() + timedelta(days=1), "created_by": by}
    JudgeCall.objects.get_or_create(track=team.track, defaults=call)
    return JudgeRun.objects.create(
        track=team.track,
        team=team,
        tag=tag,
        file_name="fair.qrels",
        file=default_storage.save("judges/fair", ContentFile(b"A.1 0 10 3\n")),
        sha256=sha256_of(b"A.1 0 10 3\n"),
        n_bytes=11,
        parts=[{"name": "fair.qrels", "kind": "qrels", "rows": 1, "topics": 1}],
        submitted_by=by,
        submitted_at=timezone.now(),
    )


def make_judge_board(judge: JudgeRun, leaderboard: Leaderboard) -> JudgeResult:
    """A judge on a hidden board, which a leaderboard of people was compared with."""
    board = JudgeBoard.objects.create(
        track=judge.track,
        leaderboard=leaderboard,
        measure=leaderboard.measures[0],
        seed=1,
        status="ready",
        created_by=leaderboard.created_by,
    )
    return JudgeResult.objects.create(board=board, judge_run=judge, source="qrels", measure=board.measure)
