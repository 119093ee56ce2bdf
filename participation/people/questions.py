"""The questions before somebody loses a role in a track."""

from functools import partial

from django.urls import reverse

from accounts.models import User
from participation.models import Team
from tracks.assessors import organizers
from tracks.models import Track
from web.confirmation import Confirmation, refusals


def removal_page(track: Track, user: User) -> Confirmation:
    """The question before an assessor is removed."""
    name = user.named
    return Confirmation(
        act=f"Remove {name} from the assessors",
        button="Remove assessor",
        back=reverse("participation:people", args=[track.slug]),
        text=f"The units that {name} has not judged yet are taken back, in all batches of the track. Nobody judges "
        "them until you assign their topics again.",
        fixed=[f"The judgments of {name} are kept and still count"],
        changeable=["Give the topics to others, in the plan of the batch", f"Add {name} again"],
        notified=f"Nobody. {name} gets no more tasks, and can change judgments of finished topics while their batch is "
        "open.",
        is_danger=True,
    )


def member_page(team: Team, user: User, *, is_own: bool = False) -> Confirmation:
    """The question before somebody loses a membership, or gives it up."""
    who, sees = ("You", "see") if is_own else (user.named, "sees")
    return Confirmation(
        act=f"Leave {team}" if is_own else f"Remove {user.named} from {team}",
        button="Leave the team" if is_own else "Remove member",
        back=team.get_absolute_url(),
        text=f"{who} no longer {sees} the runs of the team, and can only come back with an invitation.",
        fixed=["The runs stay with the team, and name who submitted them"],
        notified="Nobody. The team page lists former members.",
        is_danger=True,
    )


def leaving_page(track: Track, user: User, *, is_chair: bool = False) -> Confirmation:
    """The question before an organizer or a chair gives up the role, or an organizer becomes a chair."""
    role = track.organizers.filter(user=user).first()
    removal = f"Remove yourself as {role.role if role else 'organizer'} of {track}"
    return Confirmation(
        act=f"Make yourself a chair of {track}" if is_chair else removal,
        button="Make me a chair" if is_chair else "Remove yourself",
        back=reverse("participation:people", args=[track.slug]),
        text=f"You see {'all and change nothing' if is_chair else 'what visitors see'}, from this moment. "
        "You cannot undo this yourself.",
        checks=list(
            refusals(
                partial(organizers.check_dismissal, track=track, user=user),
                address=reverse("participation:people", args=[track.slug]),
                link="Appoint an organizer",
            )
        ),
        fixed=["What you made stays"],
        changeable=["Another organizer or an administrator can appoint you again"],
        notified="Nobody. The audit log keeps it.",
        is_danger=True,
    )
