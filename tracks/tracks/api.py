"""Tracks for programs."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.forms.models import model_to_dict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of, user_of
from accounts.models import User
from corpus.collections.selectors import collections_for
from tracks.deadline_acceptance import Acceptance
from tracks.models import Track
from tracks.protocols.selectors import protocols
from tracks.tracks import selectors, services
from tracks.tracks.forms import TrackForm
from web.api.answers import answer
from web.api.conditional import require_match
from web.api.filters import Filter
from web.api.permissions import Creator, Everyone, Organizer
from web.api.serializers import Strict, require_valid
from web.api.views import Endpoints, created, delete, get, patch, post

TrackSerializer = answer(
    Track,
    "Track",
    "slug name description status protocol=protocol.slug collection",
    "One task of a campaign.",
    collection=serializers.CharField(
        source="collection.slug", default=None, allow_null=True, help_text="The collection that runs search."
    ),
)


KindStateSerializer = answer(
    Acceptance,
    "KindState",
    "kind name stage is_accepting reason opens_at closes_at ends_at",
    "The acceptance of runs of a kind.",
    name="The kind in the words of the protocol, as on pages.",
    stage="not open yet, open, open and late, or closed.",
    is_accepting="Whether runs can be submitted and withdrawn now.",
    reason="Why not, as the end of a sentence; empty if they are accepted.",
    ends_at="The end of the grace period.",
)
TrackDetailSerializer = answer(
    selectors.TrackPage,
    "TrackDetail",
    "slug=track.slug name=track.name description=track.description status protocol=track.protocol.slug "
    "protocol_sha256=track.protocol.digest collection=track.collection.slug n_topics uses=protocol.runs.uses "
    "kinds=states",
    "A track, with what it accepts now.",
    status=serializers.ChoiceField(Track.Status.choices, source="track.status"),
    uses="What a run may use, each word with its name on pages; empty if teams do not state it.",
    kinds="The kinds of runs that you may submit.",
)


class TrackChangeSerializer(Strict):
    """The fields of a track that can be changed. A field that is left out stays."""

    name = serializers.CharField(max_length=200, required=False)
    description = serializers.CharField(allow_blank=True, required=False, help_text="Shown to everyone.")
    protocol = serializers.CharField(required=False, help_text="The short name of a protocol.")
    collection = serializers.CharField(
        required=False, allow_null=True, help_text="The short name of the collection that runs search."
    )
    topic_collection = serializers.CharField(
        required=False,
        allow_null=True,
        help_text="The short name of the collection with the threads of the topics. Participants never see it.",
    )


class NewTrackSerializer(TrackChangeSerializer):
    """A new track."""

    slug = serializers.SlugField(max_length=100, help_text="For the address, such as arqmath-2020.")
    name = serializers.CharField(max_length=200)
    protocol = serializers.CharField(help_text="The short name of a protocol.")


def _form(changes: dict[str, Any], track: Track, user: User) -> TrackForm:
    """The form of the page, filled with the track and the changes.

    Raises:
        ValidationError: The form refuses them, or a protocol or collection does not exist.
    """
    data = model_to_dict(track, TrackForm.Meta.fields) | changes
    if "protocol" in changes:
        data["protocol"] = _pk_of("protocol", protocols(), changes["protocol"])
    for name in {"collection", "topic_collection"} & set(changes):
        data[name] = _pk_of(name, collections_for(user), changes[name])
    form = TrackForm(data, instance=track, user=user)
    require_valid(form)
    return form


def _pk_of(field: str, rows: QuerySet[Any], slug: str | None) -> int | None:
    if slug is None:
        return None
    row = rows.filter(slug=slug).first()
    if row is None:
        raise serializers.ValidationError({field: f"There is no {field.replace('_', ' ')} named {slug}."})
    return int(row.pk)


def _detail(request: Request, track: Track) -> Any:
    return TrackDetailSerializer(selectors.track_page(user_of(request), track)).data


def track_of(request: Request, slug: str) -> Track:
    """The track of an address. 404 if there is none that the user of the request may see."""
    return selectors.track_or_404(user_of(request), slug)


class Tracks(Endpoints):
    tag = "Tracks"
    permission_classes = [Everyone]

    @get(
        "tracks/",
        "tracks",
        TrackSerializer,
        in_track="pk",
        ordering=("slug",),
        filters=[Filter("status", values=Track.Status.values), Filter("protocol", "protocol__slug")],
        orders=["created_at", "slug"],
        searches=("slug", "name", "description"),
    )
    def list_tracks(self, request: Request) -> object:
        """List the tracks. Drafts are for their organizers and administrators."""
        return selectors.tracks_for(user_of(request))

    @post("tracks/", "tracks", TrackDetailSerializer, takes=NewTrackSerializer, who=[Creator], status=201)
    def create_track(self, request: Request) -> object:
        """Create a track, as a draft that only organizers see."""
        form = _form(self.validated(request), Track(), person_of(request))
        track = services.create(track=form.save(commit=False), by=person_of(request))
        return created(_detail(request, track), reverse("api:track", args=[track.slug]))

    @get("tracks/<slug:slug>/", "track", TrackDetailSerializer)
    def get_track(self, request: Request, slug: str) -> object:
        """Read about a track: its protocol, and which kinds of runs it accepts now."""
        track = track_of(request, slug)
        return Response(_detail(request, track))

    @patch(
        "tracks/<slug:slug>/", "track", TrackDetailSerializer, takes=TrackChangeSerializer, who=[Organizer]
    )
    @transaction.atomic
    def update_track(self, request: Request, slug: str) -> object:
        """Change a track.

        What runs are checked against, its protocol and its collection, is fixed once the track was opened. A track
        without a collection can get one until it has a pool.
        """
        user = person_of(request)
        track = services.lock(track_of(request, slug).pk)
        require_match(request, _detail(request, track))
        changes = self.validated(request)
        if fixed := sorted(set(changes) & services.fixed_fields(track)):
            raise services.track_refused(f"{track} was opened: its {', '.join(fixed)} cannot change.")
        form = _form(changes, track, user)
        services.edit(track=form.save(commit=False), changed=form.changed_data)
        return Response(_detail(request, get_object_or_404(selectors.tracks_for(user), pk=track.pk)))

    @delete("tracks/<slug:slug>/", "track", who=[Organizer])
    def delete_track(self, request: Request, slug: str) -> None:
        """Delete a draft to which no run, pool, judgment or archive refers, with its topics, people and files."""
        services.delete(track=track_of(request, slug), by=person_of(request))

    @post("tracks/<slug:slug>/open/", "open_track", TrackDetailSerializer, who=[Organizer])
    def open_track(self, request: Request, slug: str) -> object:
        """Let teams submit runs."""
        track = track_of(request, slug)
        return Response(_detail(request, services.open_for_runs(track=track)))

    @post("tracks/<slug:slug>/close/", "close_track", TrackDetailSerializer, who=[Organizer])
    def close_track(self, request: Request, slug: str) -> object:
        """Accept no more runs."""
        track = track_of(request, slug)
        return Response(_detail(request, services.close(track=track)))

    @post("tracks/<slug:slug>/draft/", "back_to_draft", TrackDetailSerializer, who=[Organizer])
    def return_track_to_draft(self, request: Request, slug: str) -> object:
        """Make an opened track a draft again.

        Possible while nobody has downloaded a file or submitted a run.
        """
        track = track_of(request, slug)
        return Response(_detail(request, services.back_to_draft(track=track)))


urlpatterns = Tracks.urls()
