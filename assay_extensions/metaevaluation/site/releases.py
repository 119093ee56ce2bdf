"""Release a board of judges: what becomes visible, and the checks that fail."""

from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.audit import services as audit
from accounts.mail import letters
from accounts.models import User
from assay.errors import Refused
from assay_extensions.metaevaluation.site.models import JudgeBoard, JudgeCall, JudgeRun
from participation.models import Team
from participation.teams.selectors import members_to_mail
from scoring.leaderboards.releases import narrowing
from scoring.models import Leaderboard
from tracks.tracks import services as track_services
from web import times
from web.confirmation import Check, Confirmation, by_mail
from web.pages import counted

Release = Leaderboard.Release
RELEASED = "judge-boards.released"  # kind of letters; they contain no numbers
WIDER = [Release.HIDDEN, Release.PARTICIPANTS, Release.PUBLIC]

board_refused = partial(Refused, code="board-refused", title="The board of judges was not changed")


def is_wider(level: str, other: str) -> bool:
    """Return whether a level releases to more people than another."""
    return WIDER.index(Release(level)) > WIDER.index(Release(other))


def hindrances(board: JudgeBoard) -> list[str]:
    """Reasons not to show a board yet, in whole sentences. Two queries."""
    reasons = []
    call = JudgeCall.objects.filter(track=board.track_id).first()
    if call is not None and call.is_open(times.now()):
        reasons.append(
            f"The track accepts judges until {times.in_words(call.closes_at, call.zone)}: a judge could be made from "
            "these numbers."
        )
    compared = board.results.values("judge_run")
    judges = board.track.judge_runs.filter(status=JudgeRun.Status.SUBMITTED)
    left_out = [row["judge"] for row in board.left_out]
    if missing := list(
        judges.exclude(pk__in=compared).exclude(pk__in=left_out).values_list("tag", flat=True)
    ):
        reasons.append(f"{', '.join(missing)}: submitted after the comparison. Compare the judges again.")
    return reasons


def question(board: JudgeBoard, level: str) -> Confirmation:
    """The question before a release, or before fewer people see the board."""
    if not is_wider(level, board.release):
        return narrowing("board", level, board.get_absolute_url())
    target = "everybody" if level == Release.PUBLIC else "the teams"
    remarks = [Check("look", reason) for reason in hindrances(board)]
    n_gone = (
        board.results.exclude(judge_run__status=JudgeRun.Status.SUBMITTED)
        .values("judge_run")
        .distinct()
        .count()
    )
    if n_gone:
        words = counted(n_gone, "judge was,judges were")
        remarks.append(Check("look", f"{words} withdrawn or replaced after the comparison"))
    if is_wider(level, board.leaderboard.release):
        remarks.append(
            Check(
                "look",
                f"The leaderboard of people is visible to {board.leaderboard.get_release_display()}",
                "People who cannot see it do not see the scores of runs on the board of judges.",
                board.leaderboard.get_absolute_url(),
                "Leaderboard",
            )
        )
    n = board.results.values("judge_run").distinct().count()
    return Confirmation(
        act=f"Release the board of judges to {target}",
        lead=f"{counted(n, 'judge')} compared with qrels {board.leaderboard.qrels} by {board.measure}.",
        button=f"Release to {target}",
        back=board.get_absolute_url(),
        keep="Not yet",
        text="You can hide the board again, but what people have read or downloaded stays with them.",
        checks=remarks
        or [Check("ok", "Every submitted judge is on it", "The track accepts no more judges.")],
        fixed=["What the judges are worth is known: later judges could be fitted to it"],
        changeable=["Who sees it: the teams, everybody, or nobody", "Later boards"],
        notified=by_mail(
            "Members of the teams with judges on it, if they chose e-mails about runs; once for a board.",
            "Tell the teams yourself.",
        ),
        is_danger=bool(remarks),
    )


@transaction.atomic
def release(*, board: JudgeBoard, level: str, by: User, reason: str = "") -> JudgeBoard:
    """Set who may see a board of judges: organizers only (withdraws a release), the track's teams, or everybody.

    `reason` overrides failed checks when more people will see it; the audit log keeps it.

    Raises:
        Refused: It is not ready, or a check fails and there is no reason.
    """
    track = track_services.lock(board.track_id)
    board = (
        JudgeBoard.objects.select_for_update(of=("self",))
        .select_related("leaderboard__qrels", "track")
        .get(pk=board.pk)
    )
    if level == board.release:
        return board
    if board.status != JudgeBoard.Status.READY:
        raise board_refused(
            f"The board is {board.get_status_display()}. You can release it when it is ready."
        )
    hindered = hindrances(board) if is_wider(level, board.release) else []
    if hindered and not reason.strip():
        raise board_refused(
            f"{' '.join(hindered)} Give a reason to release it anyway.", code="release-hindered"
        )
    is_hidden = level == Release.HIDDEN
    values: dict[str, Any] = {"release": level, "released_at": None, "released_by": None}
    if not is_hidden:
        values |= {"released_at": timezone.now(), "released_by": by}
    for name, value in values.items():
        setattr(board, name, value)
    board.save(update_fields=[*values])
    if not is_hidden:
        _notify_teams(board)
    action = "judge-board.hidden" if is_hidden else "judge-board.released"
    details = {"visible to": board.get_release_display(), "reason": reason.strip()}
    audit.record(action=action, subject=board, track=track, details=details, by=by)
    return board


def _notify_teams(board: JudgeBoard) -> None:
    """Mail the members of the teams with judges on a board who chose that: once, at its first release."""
    if board.mailed_at is not None:
        return
    board.mailed_at = timezone.now()
    board.save(update_fields=["mailed_at"])
    teams = Team.objects.filter(judge_runs__results__board=board).distinct()
    for user_id in sorted({user_id for team in teams for user_id in members_to_mail(team)}):
        letters.post(kind=RELEASED, data={"user": user_id, "board": board.pk}, site="")
