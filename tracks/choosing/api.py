"""Decisions on candidates for programs: two people decide, disagreements are settled, topics are made."""

from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from accounts.access import person_of
from assay.candidates.topics import FIRST
from assay.formats.topics.reader import MAX_CODE
from tracks.candidates import services as candidate_services
from tracks.candidates.api import CandidateSerializer, PeopleSerializer, SampleSerializer, people_of
from tracks.candidates.selectors import sample_or_404
from tracks.choosing import derivation, selectors, services
from tracks.choosing.derivation import PREFIX
from tracks.choosing.forms import MAX_REASON
from tracks.models import CandidateDecision
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.permissions import LoggedIn, Organizer
from web.api.serializers import Strict, named
from web.api.views import Endpoints, get, get_file, parameter, post, put
from web.downloads import download
from web.models import Scope

DECIDING = (Scope.JUDGE, Scope.MANAGE)


DecisionSerializer = answer(
    CandidateDecision,
    "Decision",
    "docno=candidate.docno place created_by=by.username is_accepted reason labels "
    "is_changed_after_seeing=changed_after_seeing is_current created_at",
    "The decision of one person on a candidate, or its settlement.",
    place=serializers.CharField(source="get_seat_display"),
    labels=serializers.DictField(),
)


class NewDecisionSerializer(Strict):
    """A decision on a candidate. An accepted one needs a value of each label, a rejected one a reason."""

    docno = serializers.CharField(max_length=200)
    is_accepted = serializers.BooleanField()
    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=MAX_REASON)
    labels = serializers.DictField(child=serializers.CharField(), required=False, default=dict)


class FirstCodeSerializer(Strict):
    """The code of the first topic; the others count up."""

    first = serializers.CharField(required=False, default=FIRST, max_length=MAX_CODE)


class DerivationSerializer(Strict):
    """Formulas to make topics of."""

    track = serializers.SlugField(help_text="The track of questions.")
    formulas = serializers.DictField(
        child=serializers.CharField(max_length=MAX_CODE),
        allow_empty=False,
        help_text="Of each topic, by its code: the id of the formula.",
    )
    labels = serializers.DictField(
        child=serializers.DictField(child=serializers.CharField()),
        required=False,
        default=dict,
        help_text="By the same codes: the labels of the formula.",
    )
    prefix = serializers.CharField(
        required=False,
        default=PREFIX,
        max_length=20,
        help_text="Of the codes, before the number of the topic.",
    )


class MadeSerializer(serializers.Serializer[Any]):
    n_topics = serializers.IntegerField(
        help_text="Topics that were made; of derived ones, also those made again."
    )
    topics = serializers.ListField(child=serializers.CharField(), help_text="Their codes, in order.")
    result = serializers.CharField(source="__str__", help_text="What was made, in a sentence.")


class Choosing(Endpoints):
    tag = "Topics"
    permission_classes = [LoggedIn]
    address = "tracks/<slug:slug>/candidate-samples/<int:sample>/"

    @put(f"{address}people/", "choosers", SampleSerializer, takes=PeopleSerializer, who=[Organizer])
    def update_sample_people(self, request: Request, slug: str, sample: int) -> object:
        """Name the two people who decide on a sample."""
        drawn = sample_or_404(person_of(request), slug, sample)
        people = people_of(drawn.track, self.validated(request)["people"])
        return candidate_services.name_people(sample=drawn, people=people, by=person_of(request))

    @get_file(
        f"{address}files/<str:file>/",
        "candidate_file",
        "application/json",
        "application/xml",
        "text/csv",
        parameters=[parameter("first", "The code of the first topic in `topics.xml`.")],
        who=[Organizer],
    )
    def download_sample_file(self, request: Request, slug: str, sample: int, file: str) -> object:
        """Download candidates.jsonl, sample.json, labels.csv, decided.csv, decisions.csv or topics.xml of a sample."""
        drawn = sample_or_404(person_of(request), slug, sample)
        content = services.file_of(
            person_of(request), drawn, file, first=request.query_params.get("first", FIRST)
        )
        if not content:
            raise Http404
        return download(content, file)

    @get(f"{address}next/", "next_candidate", CandidateSerializer, write_scopes=DECIDING)
    def get_next_candidate(self, request: Request, slug: str, sample: int) -> object:
        """Read the next candidate on which you have not decided; nothing after the last one."""
        drawn = sample_or_404(person_of(request), slug, sample)
        seat = selectors.seat_of(person_of(request), drawn)
        if seat is None:
            raise PermissionDenied("You are not one of the two people who decide on this sample.")
        return next((place.candidate for place in selectors.next_places(drawn, seat, 1)), None)

    @post(
        f"{address}decisions/",
        "decide",
        DecisionSerializer,
        takes=NewDecisionSerializer,
        status=201,
        write_scopes=DECIDING,
    )
    def create_decision(self, request: Request, slug: str, sample: int) -> object:
        """Accept or reject a candidate, as one of the two people. It replaces your earlier decision."""
        drawn = sample_or_404(person_of(request), slug, sample)
        return services.decide(sample=drawn, **self.validated(request), by=person_of(request))

    @post(f"{address}undo/", "undo_decision", DecisionSerializer, write_scopes=DECIDING)
    def undo_decision(self, request: Request, slug: str, sample: int) -> object:
        """Take back your latest decision. It stays on record."""
        return services.undo(sample=sample_or_404(person_of(request), slug, sample), by=person_of(request))

    @post(
        f"{address}settle/",
        "settle",
        DecisionSerializer,
        takes=NewDecisionSerializer,
        write_scopes=DECIDING,
    )
    def settle_candidate(self, request: Request, slug: str, sample: int) -> object:
        """Settle a disagreement of the two people, with a reason."""
        drawn = sample_or_404(person_of(request), slug, sample)
        return services.settle(sample=drawn, **self.validated(request), by=person_of(request))

    @post(
        f"{address}topics/",
        "make_topics",
        MadeSerializer,
        takes=FirstCodeSerializer,
        status=201,
        who=[Organizer],
    )
    def create_sample_topics(self, request: Request, slug: str, sample: int) -> object:
        """Make topics of the accepted candidates, with their labels."""
        drawn, first = sample_or_404(person_of(request), slug, sample), self.validated(request)["first"]
        return services.make_topics(sample=drawn, first=first, by=person_of(request))

    @post(
        "tracks/<slug:slug>/derive-topics/",
        "derive_topics",
        MadeSerializer,
        takes=DerivationSerializer,
        status=201,
        who=[Organizer],
    )
    def derive_topics(self, request: Request, slug: str) -> object:
        """Derive the formula topics of a draft from the topics of another track, at most one formula of each."""
        track, data = track_of(request, slug), self.validated(request)
        sources = {source.slug: source for source in derivation.sources_for(person_of(request), track)}
        data["source"] = named(sources, data.pop("track"), "track")
        return derivation.derive(track=track, by=person_of(request), **data)


urlpatterns = Choosing.urls()
