"""Published runs of a track, and the consents of its teams."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from accounts.access import AnyUser, oversees
from participation.models import Team
from participation.teams.selectors import teams_of
from pooling.models import Run
from publishing.models import Consent, Publication
from tracks.models import Track
from web.statements import Prepared


class TeamConsent(NamedTuple):
    """A team with its latest answer; None if it never answered."""

    team: Team
    consent: Consent | None
    n_runs: int

    @property
    def is_given(self) -> bool:
        return self.consent is not None and self.consent.is_given


def consents(track: Track) -> list[TeamConsent]:
    """The teams of a track that have submitted runs, with their latest answers. Three queries."""
    n_runs = Counter(published_runs(track).order_by().values_list("team_id", flat=True))
    latest: dict[int, Consent] = {}
    for consent in Consent.objects.filter(team__track=track).select_related("by").order_by("pk"):
        latest[consent.team_id] = consent
    return [
        TeamConsent(team, latest.get(team.pk), n_runs[team.pk])
        for team in track.teams.all()
        if n_runs[team.pk]
    ]


def published_runs(track: Track) -> Any:
    """The runs that can be published: submitted ones, by team and tag."""
    runs = track.runs.filter(status=Run.Status.SUBMITTED).select_related("team").defer("report")
    return runs.order_by("team__name", "tag", "pk")


def left_out(track: Track) -> dict[str, list[dict[str, Any]]]:
    """Return what an archive would leave out now: teams without consent, and disqualified runs."""
    disqualified = track.runs.filter(status=Run.Status.DISQUALIFIED).select_related("team").defer("report")
    return {
        "teams": [
            {"team": consent.team.name, "runs": consent.n_runs}
            for consent in consents(track)
            if not consent.is_given
        ],
        "disqualified": [{"team": run.team.name, "tag": run.tag} for run in disqualified],
    }


_PUBLISHED = Prepared(
    lambda track: Publication.objects.filter(track=track, status=Publication.Status.READY)[:1]
)


def publication_of(user: AnyUser, track: Track) -> Publication | None:
    """The archive that everybody may download, if there is one. As long as names are hidden, others get none."""
    if track.names_are_hidden and not oversees(user, track.pk):
        return None
    publication = _PUBLISHED.first(track=track.pk)
    if publication is not None:
        publication.track = track
    return publication


@dataclass(frozen=True)
class PublicationPage:
    """The published runs of a track. Members see the answers of their teams, organizers those of all.

    `unfinished` is an archive that is being made or failed; `outdated` are teams in the archive that no longer agree.
    """

    track: Track
    publication: Publication | None
    unfinished: Publication | None
    consents: list[TeamConsent]
    outdated: list[str]
    is_organizer: bool
    may_publish: bool


def publication_page(user: AnyUser, track: Track) -> PublicationPage:
    sees_all = oversees(user, track.pk)
    teams = track.teams.all() if sees_all else teams_of(user, track)
    own = set(teams.values_list("pk", flat=True))
    answers = consents(track)
    current = publication_of(user, track)
    latest = track.publications.select_related("job").first() if sees_all else None
    is_unfinished = latest is not None and latest.status in {
        Publication.Status.BUILDING,
        Publication.Status.FAILED,
    }
    agreeing = {answer.team.name for answer in answers if answer.is_given}
    included = {run["team"] for run in current.runs} if current else set()
    return PublicationPage(
        track=track,
        publication=current,
        unfinished=latest if is_unfinished else None,
        consents=[answer for answer in answers if answer.team.pk in own],
        outdated=sorted(included - agreeing) if sees_all else [],
        is_organizer=sees_all,
        may_publish=sees_all and track.status == Track.Status.CLOSED and bool(agreeing),
    )
