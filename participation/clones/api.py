"""Clones of tracks for programs."""

from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from participation.clones import services
from tracks.tracks.api import TrackDetailSerializer, track_of
from tracks.tracks.forms import CloneForm
from tracks.tracks.selectors import track_page
from web.api.permissions import Organizer
from web.api.serializers import Strict, require_valid
from web.api.views import Endpoints, created, post


class CloneSerializer(Strict):
    """The names of the new track, and who comes along."""

    name = serializers.CharField(max_length=200)
    slug = serializers.SlugField(max_length=100, help_text="For the address, such as arqmath-2021.")
    assessors = serializers.BooleanField(default=False, help_text="With its assessors and their groups.")
    teams = serializers.BooleanField(default=False, help_text="With its teams and their members.")


class Clones(Endpoints):
    tag = "Tracks"
    permission_classes = [Organizer]

    @post(
        "tracks/<slug:slug>/clone/", "clone_track", TrackDetailSerializer, takes=CloneSerializer, status=201
    )
    def clone_track(self, request: Request, slug: str) -> Any:
        """Create a draft with the protocol, the settings and the guidelines of another track."""
        user, data = person_of(request), self.validated(request)
        track = track_of(request, slug)
        require_valid(CloneForm(data))
        new = services.clone(track=track, by=user, **data)
        shown = TrackDetailSerializer(track_page(user, new)).data
        return created(shown, reverse("api:track", args=[new.slug]))


urlpatterns = Clones.urls()
