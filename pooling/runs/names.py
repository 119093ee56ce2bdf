"""The names of teams and runs as a reader may read them. Decision: ADR 110.

A track can hide them until a date: then its organizers read all names, a team reads its own, and everybody else reads
pseudonyms. What shows runs of other teams to people who are not organizers asks `names_for`.
"""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.utils.crypto import salted_hmac

from accounts.access import AnyUser, oversees
from participation.models import Team
from participation.teams.selectors import own_teams
from pooling.models import Run
from tracks.models import Track

DIGITS = 8  # of a pseudonym that no map has


class Pseudonyms(NamedTuple):
    """Pseudonyms of teams by name, and of runs by tag."""

    teams: Mapping[str, str] = {}
    runs: Mapping[str, str] = {}


Source = Callable[[Track], Pseudonyms]
_sources: list[Source] = []


def source_of_pseudonyms(source: Source) -> Source:
    """Register a function that knows pseudonyms of a track, such as those under which its runs were released."""
    _sources.append(source)
    return source


@dataclass(frozen=True)
class Names:
    """The names of a track as one reader may read them; `pseudonyms` is None for a reader of all names.

    A name that no source has gets a pseudonym from a keyed digest, which stays the same.
    """

    track_id: int
    pseudonyms: Pseudonyms | None = None
    own_teams: frozenset[str] = frozenset()
    own_tags: frozenset[str] = frozenset()

    @property
    def are_hidden(self) -> bool:
        return self.pseudonyms is not None

    def team(self, name: str) -> str:
        if self.pseudonyms is None or name in self.own_teams:
            return name
        return self.pseudonyms.teams.get(name) or self._digest("t", name)

    def tag(self, tag: str) -> str:
        if self.pseudonyms is None or tag in self.own_tags:
            return tag
        return self.pseudonyms.runs.get(tag) or self._digest("r", tag)

    def run(self, run: Run) -> Run:
        """A run to be shown to the reader: itself, or a copy under pseudonyms, which must not be saved."""
        if self.pseudonyms is None or run.team.name in self.own_teams:
            return run
        shown = copy(run)
        shown.tag, shown.description = self.tag(run.tag), ""
        shown.team = Team(pk=run.team_id, track_id=run.track_id, name=self.team(run.team.name))
        return shown

    def reference(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """A run as stored results name it: see `Run.reference`."""
        return {**stored, "team": self.team(stored["team"]), "tag": self.tag(stored["tag"])}

    def filtered(self, rows: QuerySet[Any], asked: Mapping[str, str]) -> Any:
        """The rows about runs whose `team` and `tag` are asked for, as the reader reads them."""
        wanted = {name: asked[name] for name in ("team", "tag") if name in asked}
        if not self.are_hidden:
            fields = {"team": "run__team__name", "tag": "run__tag"}
            return rows.filter(**{fields[name]: value for name, value in wanted.items()})
        if not wanted:
            return rows
        runs = [self.run(run) for run in Run.objects.filter(track=self.track_id).select_related("team")]
        names = [(run.pk, {"team": run.team.name, "tag": run.tag}) for run in runs]
        return rows.filter(run__in=[pk for pk, named in names if wanted.items() <= named.items()])

    def _digest(self, kind: str, name: str) -> str:
        digest = salted_hmac(f"names of track {self.track_id}", f"{kind}\0{name}", algorithm="sha256")
        return f"anon-{kind}-{digest.hexdigest()[:DIGITS]}"


def names_for(user: AnyUser, track: Track) -> Names:
    """The names of a track for a reader. No query as long as they read all; else two, and one of each source."""
    if not track.names_are_hidden or oversees(user, track.pk):
        return Names(track.pk)
    own = own_teams(user, track).order_by()
    known = [source(track) for source in _sources]
    return Names(
        track.pk,
        Pseudonyms(
            {name: pseudonym for each in known for name, pseudonym in each.teams.items()},
            {name: pseudonym for each in known for name, pseudonym in each.runs.items()},
        ),
        frozenset(own.values_list("name", flat=True)),
        frozenset(Run.objects.filter(team__in=own).values_list("tag", flat=True)),
    )
