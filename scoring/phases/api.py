"""The phases of a track for programs: their rules, the qrels that score them, and their scores."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import AnyUser, oversees, person_of, user_of
from assay.protocols.schema import Phase
from pooling.runs.api import BY_NAME
from pooling.runs.names import names_for
from scoring.leaderboards.api import OF_FAMILY
from scoring.models import PhaseBoard, PhaseScore, Qrels
from scoring.phases import selectors, services
from tracks.models import Topic, Track
from tracks.topics.selectors import topics_for
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import Everyone, Organizer
from web.api.serializers import Strict
from web.api.views import Endpoints, get, put
from web.models import Scope


class ShownPhase(NamedTuple):
    """A phase of a track: its topics, its daily limit, and who sees the scores of its runs."""

    rules: Phase
    kinds: tuple[str, ...]
    topics: list[str]
    board: PhaseBoard | None
    sees_qrels: bool

    @property
    def is_scoring(self) -> bool:
        return self.board is not None

    @property
    def measures(self) -> list[str]:
        return self.board.measures if self.board else []

    @property
    def qrels(self) -> int | None:
        return self.board.qrels.version if self.board and self.sees_qrels else None


PhaseSerializer = answer(
    ShownPhase,
    "Phase",
    "key=rules.key name=rules.name kinds split=rules.split topics scores=rules.scores max_per_day=rules.max_per_day "
    "is_after_closing=rules.after_closing is_scoring measures qrels",
    kinds="The kinds of runs in the phase.",
    split="Runs have the topics of this split; empty: all topics.",
    topics="The codes of these topics, once you may see them.",
    scores=serializers.CharField(
        source="rules.scores",
        help_text="Who sees scores: `release`, as the leaderboard; or at once `team`, `teams` or `everybody`.",
    ),
    max_per_day="Runs of a team in a day, in the time zone of the track; null: no limit.",
    is_after_closing="Whether its runs are accepted after the closing.",
    is_scoring="Whether its runs are scored when they are submitted.",
    measures="Of its board.",
    qrels="The version that scores its runs; null for all but organizers.",
)


PhaseScoreSerializer = answer(
    PhaseScore,
    "PhaseScore",
    "phase=board.phase run=run_id team=run.team.name tag=run.tag kind=run.kind submitted_at=run.submitted_at status "
    "is_of_judge_family n_topics n_missing values scored_at",
    "A run on the board of its phase.",
    status=serializers.CharField(help_text="scoring, ready or failed."),
    is_of_judge_family=OF_FAMILY,
    values=serializers.DictField(
        child=serializers.DictField(child=serializers.FloatField()),
        help_text="Topic, or `all` for the means, to measure to value; empty until it is scored.",
    ),
)


class PhaseQrelsSerializer(Strict):
    version = serializers.IntegerField(min_value=1, help_text="A version of the qrels of the track.")


def _shown(
    user: AnyUser, track: Track, topics: QuerySet[Topic], phase: Phase, board: PhaseBoard | None
) -> ShownPhase:
    of_split = {"split": phase.split} if phase.split else {}
    return ShownPhase(
        phase,
        track.protocol.parsed.runs.kinds_of(phase),
        list(topics.filter(**of_split).values_list("code", flat=True)),
        board,
        sees_qrels=board is not None and oversees(user, board.track_id),
    )


def _found(track: Track, key: str) -> Phase:
    phase = selectors.phases_of(track).get(key)
    if phase is None:
        raise Http404
    return phase


class Phases(Endpoints):
    tag = "Phases"
    read_scopes = (Scope.READ, Scope.RUNS)  # as for the runs that are scored
    permission_classes = [Everyone]

    def paginate_queryset(self, queryset: object) -> Any:
        """A page of scores, with the names of runs that the reader reads."""
        page: Sequence[PhaseScore] = super().paginate_queryset(queryset)
        names = names_for(user_of(self.request), page[0].run.track) if page else None
        for score in page:
            score.run = names.run(score.run) if names else score.run
        return page

    @get("tracks/<slug:slug>/phases/", "phases", PhaseSerializer(many=True))
    def list_phases(self, request: Request, slug: str) -> object:
        """List the phases of a track, in the order of its protocol."""
        user, track = user_of(request), track_of(request, slug)
        boards, topics = selectors.boards_of(track), topics_for(user, track)
        phases = selectors.phases_of(track).values()
        return [_shown(user, track, topics, phase, boards.get(phase.key)) for phase in phases]

    @get(
        "tracks/<slug:slug>/phases/<slug:key>/scores/",
        "phase_scores",
        PhaseScoreSerializer,
        ordering=("pk",),
        parameters=BY_NAME,
        filters=[Filter("run", "run_id", kind="whole number")],
    )
    def list_phase_scores(self, request: Request, slug: str, key: str) -> object:
        """List the scores of a phase that you may see: ask for the `run` that you submitted until it is ready."""
        user, track = user_of(request), track_of(request, slug)
        scores = selectors.scores_for(user, track, _found(track, key))
        return names_for(user, track).filtered(scores, request.query_params)

    @put(
        "tracks/<slug:slug>/phases/<slug:key>/qrels/",
        "phase_qrels",
        PhaseSerializer,
        takes=PhaseQrelsSerializer,
        who=[Organizer],
    )
    def update_phase_qrels(self, request: Request, slug: str, key: str) -> object:
        """Choose the qrels that score the runs of a phase, and score those that it has."""
        track, data = track_of(request, slug), self.validated(request)
        phase, qrels = _found(track, key), get_object_or_404(Qrels, track=track, version=data["version"])
        user = person_of(request)
        board = services.set_qrels(track=track, phase=key, qrels=qrels, by=user)
        shown = _shown(user, track, topics_for(user, track), phase, board)
        return Response(PhaseSerializer(shown).data)


urlpatterns = Phases.urls()
