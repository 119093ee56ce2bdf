"""Score a run of another track's team on a closed track, which stays as it is."""

from typing import BinaryIO, cast

from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.protocols.schema import Average
from participation.models import Team
from participation.teams.selectors import may_submit_for
from pooling.errors import RunRefused
from pooling.runs.services import check, check_tag, models_of
from scoring.errors import later_run_refused
from scoring.evaluations.stored_runs import as_scored, check_can_be_scored, judged_documents, scored_alone
from scoring.models import LaterRun, Leaderboard
from scoring.selectors import stored_measures
from tracks.models import Track

MOST = 50  # runs of a team on a leaderboard


def score(
    *,
    leaderboard: Leaderboard,
    team: Team,
    by: User,
    file: BinaryIO,
    file_name: str,
    tag: str = "",
    models_used: str = "",
) -> LaterRun:
    """Check a run by the rules of the leaderboard's track, and score it against its qrels.

    A run with the tag of an earlier one of the team replaces it. The tag and the models are by default those of
    the file.

    Raises:
        Refused: The leaderboard is not ready, its track is not closed, the team is one of its teams or has too
            many runs here, the user may not submit for the team, or there is no tag.
        RunRefused: The file has errors.
        LeaderboardRefused: The protocol needs a missing collection.
    """
    track = leaderboard.track
    _check_allowed(leaderboard, team, by)
    check_can_be_scored(track)
    checked = check(track=track, file=file, file_name=file_name)
    if checked.columns is None:
        raise RunRefused(checked)
    tag = tag or checked.report.tag
    check_tag(tag, later_run_refused)
    scored = scored_alone(
        as_scored(checked.columns, track),
        judged_documents(leaderboard.qrels),
        stored_measures(leaderboard),
        cast(Average, leaderboard.average),
    )
    models = models_of(models_used, checked)
    stored = {**scored, "models_used": models, "sha256": checked.report.sha256, "scored_by": by}
    with transaction.atomic():
        Team.objects.select_for_update(of=("self",)).get(pk=team.pk)
        others = leaderboard.later_runs.filter(team=team).exclude(tag=tag)
        if others.count() >= MOST:
            raise later_run_refused(f"{team} has {MOST} runs here already. Use the tag of one to replace it.")
        run, _ = LaterRun.objects.update_or_create(
            leaderboard=leaderboard, team=team, tag=tag, defaults=stored
        )
        details = {"team": team.name, "tag": tag, "sha256": run.sha256}
        audit.record(action="run.scored-later", subject=leaderboard, track=team.track, details=details, by=by)
    return run


def _check_allowed(leaderboard: Leaderboard, team: Team, by: User) -> None:
    track = leaderboard.track
    if leaderboard.status != Leaderboard.Status.READY:
        raise later_run_refused(f"The leaderboard is {leaderboard.get_status_display()}.")
    if team.track_id == track.pk:
        raise later_run_refused(f"{team} is a team of {track}. Here, teams of other tracks score their runs.")
    if track.status != Track.Status.CLOSED:
        raise later_run_refused(f"{track} is not closed. Runs of other tracks’ teams are scored afterwards.")
    if not may_submit_for(by, team):
        raise later_run_refused(f"{by.named} is not a member of {team} with the right to submit runs.")
