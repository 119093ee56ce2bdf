"""People for programs, and who the program itself is."""

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import selectors
from accounts.access import person_of
from accounts.models import Token, User
from web.api.permissions import LoggedIn, Organizer
from web.api.scopes import Scope
from web.api.views import Endpoints, get


class PersonSerializer(serializers.ModelSerializer[User]):
    """Somebody who has an account."""

    name = serializers.CharField(source="get_full_name")
    is_organizer = serializers.BooleanField()

    class Meta:
        model = User
        fields = [
            "username",
            "name",
            "email",
            "is_organizer",
            "is_active",
            "date_joined",
            "last_login",
        ]


class TokenSerializer(serializers.ModelSerializer[Token]):
    scopes = serializers.ListField(child=serializers.ChoiceField(Scope.choices))

    class Meta:
        model = Token
        fields = ["name", "scopes", "expires_at"]


class MeSerializer(serializers.Serializer[Any]):
    """The user of a request."""

    username = serializers.CharField()
    name = serializers.CharField()
    is_organizer = serializers.BooleanField()
    is_machine = serializers.BooleanField(help_text="Whether it is a program that judges.")
    token = TokenSerializer(allow_null=True, help_text="The token of the request; null for a session.")


class Accounts(Endpoints):
    tag = "People"
    permission_classes = [Organizer]

    @get("me/", "me", MeSerializer, who=[LoggedIn], read_scopes=tuple(Scope))
    def get_me(self, request: Request) -> Any:
        """Read whose token this is, what it may do, and when it ends."""
        user = person_of(request)
        token = TokenSerializer(request.auth).data if isinstance(request.auth, Token) else None
        data = {
            "username": user.username,
            "name": user.get_full_name(),
            "is_organizer": user.is_organizer,
            "is_machine": user.is_machine,
            "token": token,
        }
        return Response(data)

    @get("people/", "people", PersonSerializer, ordering=("username",))
    def list_people(self, request: Request) -> Any:
        """List everyone who has an account, by user name."""
        return selectors.people()

    @get("people/<str:username>/", "person", PersonSerializer)
    def get_person(self, request: Request, username: str) -> Any:
        """Read about a person."""
        return get_object_or_404(selectors.people(), username=username)


urlpatterns = Accounts.urls()
