"""Requests to join a track for programs: send one, read them, and decide on them."""

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from participation.models import JoinRequest
from participation.requests import selectors, services
from participation.requests.forms import RequestForm
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.filters import Filter
from web.api.serializers import Address, Strict, require_valid
from web.api.views import Endpoints, get, post
from web.models import Scope
from web.pages import site_of

OF_ACCOUNT = "Only if your account has none."


JoinRequestSerializer = answer(
    JoinRequest,
    "JoinRequest",
    "id url track=track.slug username name email organization team_name message status reason invitation=invitation_id "
    "created_at decided_at",
    "Somebody asks to take part in a track.",
    url=Address("api:join_request", help_text="The address of this request in the API."),
    username=serializers.CharField(source="user.username", default="", help_text="Empty: a visitor asked."),
    status=serializers.CharField(source="state", help_text="open, accepted or refused."),
    invitation="Of a visitor who was accepted.",
)


class NewJoinRequestSerializer(Strict):
    """With which team you want to take part. Name and address are those of your account."""

    team_name = serializers.CharField(
        max_length=100, help_text="A new team, or one of yours, whose contact person then decides."
    )
    organization = serializers.CharField(max_length=200, default="", allow_blank=True)
    message = serializers.CharField(
        max_length=2000, default="", allow_blank=True, help_text="For the organizers."
    )
    name = serializers.CharField(max_length=300, required=False, help_text=OF_ACCOUNT)
    email = serializers.EmailField(required=False, help_text=OF_ACCOUNT)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that no name or address is given that would be ignored.

        Raises ValidationError.
        """
        user = person_of(self.context["request"])
        known = {"name": user.get_full_name(), "email": user.email}
        for name in known.keys() & attrs.keys():
            if known[name]:
                raise serializers.ValidationError({name: f"Leave it out: your account has {known[name]}."})
        return attrs


class AcceptanceSerializer(Strict):
    """Into which team a person is accepted."""

    team_name = serializers.CharField(
        max_length=100, required=False, help_text="Without it: the team of the request."
    )


class RefusalSerializer(Strict):
    """The reason why a request is refused."""

    reason = serializers.CharField(max_length=1000, help_text="The person gets it.")


class Requests(Endpoints):
    tag = "People"

    @get(
        "tracks/<slug:slug>/join-requests/",
        "join_requests",
        JoinRequestSerializer,
        write_scopes=(Scope.RUNS, Scope.MANAGE),
        ordering=("-pk",),
        filters=[Filter("status", "state", values=JoinRequest.State.values)],
    )
    def list_join_requests(self, request: Request, slug: str) -> object:
        """List the requests to join a track, newest first: organizers all, managers of a team those that name it."""
        return selectors.requests_for(person_of(request)).filter(track=track_of(request, slug))

    @post(
        "tracks/<slug:slug>/join-requests/",
        "join_requests",
        {201: JoinRequestSerializer, 204: None},
        takes=NewJoinRequestSerializer,
        write_scopes=(Scope.RUNS, Scope.MANAGE),
    )
    def create_join_request(self, request: Request, slug: str) -> object:
        """Ask to join a track. If you have an open request, it stays as it is, and is the answer.

        Nothing is the answer (204) if an open request of somebody else has your address.
        """
        track, user = track_of(request, slug), person_of(request)
        form = RequestForm(self.validated(request), user=user)
        require_valid(form)
        services.ask(track=track, asked=form.asked, user=user, site=site_of(request._request))
        return selectors.open_requests(track).filter(user=user).first()

    @get("join-requests/<int:request_id>/", "join_request", JoinRequestSerializer)
    def get_join_request(self, request: Request, request_id: int) -> object:
        """Read a request to join: organizers any, managers of a team those that name it, others their own."""
        return get_object_or_404(selectors.requests_for(person_of(request)), pk=request_id)

    @post(
        "join-requests/<int:request_id>/accept/",
        "accept_join_request",
        JoinRequestSerializer,
        takes=AcceptanceSerializer,
    )
    def accept_join_request(self, request: Request, request_id: int) -> object:
        """Put the person into a team, which is created if there is none. A visitor gets an invitation to it.

        Organizers accept into new teams; the contact person of a team into it.
        """
        user = person_of(request)
        asked, data = get_object_or_404(selectors.decidable(user), pk=request_id), self.validated(request)
        return services.accept(
            request=asked,
            team_name=data.get("team_name", asked.team_name),
            by=user,
            site=site_of(request._request),
        )

    @post(
        "join-requests/<int:request_id>/refuse/",
        "refuse_join_request",
        JoinRequestSerializer,
        takes=RefusalSerializer,
    )
    def refuse_join_request(self, request: Request, request_id: int) -> object:
        """Refuse a request. The person gets the reason."""
        user = person_of(request)
        asked, data = get_object_or_404(selectors.decidable(user), pk=request_id), self.validated(request)
        return services.refuse(request=asked, reason=data["reason"], by=user, site=site_of(request._request))


urlpatterns = Requests.urls()
