"""People for programs, who the program itself is, and its tokens."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import selectors, services, tokens
from accounts.access import person_of
from accounts.audit.selectors import events_for, filtered
from accounts.models import Event, Role, Token, User
from accounts.tokens import MAX_DAYS, NewToken
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import EVERYWHERE, Administrator, LoggedIn
from web.api.serializers import Strict
from web.api.views import Endpoints, created, get, parameter, patch, post
from web.models import Scope

PersonSerializer = answer(
    User,
    "Person",
    "username name email is_administrator is_active created_at=date_joined last_login_at=last_login",
    "Somebody who has an account.",
    name=serializers.CharField(source="get_full_name"),
    is_administrator=serializers.BooleanField(),
)


OF_ALL = "name scopes track expires_at"
KNOWN = f"id {OF_ALL} prefix=shown created_at revoked_at last_used_at"
OF_TOKEN = {
    "scopes": serializers.ListField(child=serializers.ChoiceField(Scope.choices)),
    "track": serializers.CharField(
        source="track_slug",
        default=None,
        allow_null=True,
        help_text="The only track where it is valid; null: all.",
    ),
}
OF_KNOWN_TOKEN = {**OF_TOKEN, "prefix": "The first characters, to recognize it."}
TokenSerializer = answer(Token, "Token", OF_ALL, **OF_TOKEN)
KnownTokenSerializer = answer(Token, "KnownToken", KNOWN, "A token, without its text.", **OF_KNOWN_TOKEN)
CreatedTokenSerializer = answer(
    Token,
    "CreatedToken",
    f"{KNOWN} token",
    "A new token with its text.",
    **OF_KNOWN_TOKEN,
    token=serializers.CharField(
        allow_null=True,
        help_text="Shown once, and stored nowhere: null if the request was repeated with its `Idempotency-Key`.",
    ),
)


class NewTokenSerializer(Strict):
    """The name of a new token and its end."""

    name = serializers.CharField(max_length=100, help_text="What will use it.")
    days = serializers.IntegerField(
        min_value=1, max_value=MAX_DAYS, default=30, help_text="Until it expires."
    )


class NewOwnTokenSerializer(NewTokenSerializer):
    """A new token of the user of the request."""

    scopes = serializers.ListField(
        child=serializers.ChoiceField(Scope.choices),
        min_length=1,
        max_length=len(Scope),
        help_text="Of those of the token of the request. A session has all.",
    )
    track = serializers.CharField(
        default="", help_text="The slug of a track in which you have a role. The token is valid only there."
    )


def created_token(new: NewToken) -> dict[str, Any]:
    """The fields that show a new token once."""
    token = selectors.tokens_of(new.token.user).get(pk=new.token.pk)
    return {**KnownTokenSerializer(token).data, "token": new.text}


class RoleInTrackSerializer(serializers.Serializer[Role]):
    """A track that the user organizes or chairs."""

    track = serializers.CharField(source="slug")
    is_chair = serializers.BooleanField(help_text="A chair sees all of the track and changes nothing.")


class MeSerializer(serializers.Serializer[Any]):
    """The user of a request."""

    username = serializers.CharField()
    name = serializers.CharField()
    is_administrator = serializers.BooleanField()
    is_organizer = serializers.BooleanField(help_text="Whether you organize any track.")
    roles = RoleInTrackSerializer(many=True, help_text="The tracks that you organize or chair.")
    is_machine = serializers.BooleanField(help_text="Whether it is a program that judges.")
    language = serializers.CharField(help_text="Of the pages of assessors. Empty: that of the browser.")
    token = TokenSerializer(allow_null=True, help_text="The token of the request; null for a session.")


class MeChangeSerializer(Strict):
    """The language of the pages and e-mails of the user of the request."""

    language = serializers.ChoiceField(settings.LANGUAGES, allow_blank=True)


EventSerializer = answer(
    Event,
    "Event",
    "id created_at=at created_by via action subject track=track_slug details",
    "A change that a person or a program made.",
    created_by=serializers.CharField(
        source="by.username",
        default=None,
        allow_null=True,
        help_text="User name; null for a command or worker.",
    ),
    via=serializers.CharField(help_text="site, admin, api or command."),
    track="Empty for changes of the site.",
    details=serializers.DictField(),
)


TOKENS = ("tokens/", "tokens")


def _me(request: Request) -> Response:
    user, token = person_of(request), None
    if isinstance(request.auth, Token):
        token = TokenSerializer(selectors.tokens_of(user).get(pk=request.auth.pk)).data
    data = {
        "username": user.username,
        "name": user.get_full_name(),
        "is_administrator": user.is_administrator,
        "is_organizer": user.is_organizer,
        "roles": [{"track": role.slug, "is_chair": role.is_chair} for role in user.roles.values()],
        "is_machine": user.is_machine,
        "language": user.language,
        "token": token,
    }
    return Response(data)


class Accounts(Endpoints):
    tag = "People"
    permission_classes = [Administrator]

    @get("me/", "me", MeSerializer, who=[LoggedIn], in_track=EVERYWHERE, read_scopes=tuple(Scope))
    def get_me(self, request: Request) -> object:
        """Read whose token this is, what it may do, and when it ends."""
        return _me(request)

    @patch("me/", "me", MeSerializer, takes=MeChangeSerializer, who=[LoggedIn])
    def update_me(self, request: Request) -> object:
        """Set the language of your pages and e-mails; an empty one is that of the browser."""
        services.set_language(user=person_of(request), language=self.validated(request)["language"])
        return _me(request)

    @get(*TOKENS, KnownTokenSerializer, ordering=("-pk",), who=[LoggedIn], filters=[Filter("name")])
    def list_tokens(self, request: Request) -> object:
        """List your tokens, newest first, without their texts."""
        return selectors.tokens_of(person_of(request))

    @post(
        *TOKENS,
        CreatedTokenSerializer,
        takes=NewOwnTokenSerializer,
        status=201,
        who=[LoggedIn],
        secrets=("token",),
    )
    def create_token(self, request: Request) -> object:
        """Create a token of yours. It can do no more than the token of the request, and does not outlive it."""
        data = self.validated(request)
        new = tokens.create(
            user=person_of(request),
            name=data["name"],
            scopes=data["scopes"],
            track=data["track"],
            expires_at=timezone.now() + timedelta(days=data["days"]),
            within=request.auth if isinstance(request.auth, Token) else None,
        )
        return created(created_token(new), reverse("api:tokens"))

    @post("tokens/<int:token_id>/revoke/", "revoke_token", KnownTokenSerializer, who=[LoggedIn])
    def revoke_token(self, request: Request, token_id: int) -> object:
        """End the validity of a token of yours, which can be the token of the request."""
        token = get_object_or_404(selectors.tokens_of(person_of(request)), pk=token_id)
        tokens.revoke(token=token)
        token.refresh_from_db()
        return token

    @get(
        "events/",
        "events",
        EventSerializer,
        in_track="track_id",
        ordering=("-pk",),
        filters=[Filter("track", "track_slug"), Filter("action")],
        parameters=[
            parameter("created_by", "A user name, or `nobody` for commands and workers."),
        ],
        who=[LoggedIn],
    )
    def list_events(self, request: Request) -> object:
        """Read the audit log, newest first: administrators all of it, others that of the tracks that they oversee."""
        return filtered(events_for(person_of(request)), person=request.query_params.get("created_by", ""))

    @get(
        "people/",
        "people",
        PersonSerializer,
        ordering=("username",),
        filters=[
            Filter("is_administrator", "is_staff", kind="true or false"),
            Filter("is_active", kind="true or false"),
        ],
        orders=["username"],
        searches=("username", "first_name", "last_name", "email"),
    )
    def list_people(self, request: Request) -> object:
        """List everyone who has an account, by user name."""
        return selectors.people()

    @get("people/<str:username>/", "person", PersonSerializer)
    def get_person(self, request: Request, username: str) -> object:
        """Read about a person."""
        return get_object_or_404(selectors.people(), username=username)


urlpatterns = Accounts.urls()
