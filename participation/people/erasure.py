"""Erase a person: the account is emptied, and what results depend on stays under its number."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import CharField, Q, QuerySet, Value
from django.db.models.functions import Cast, Concat

from accounts import services as account_services
from accounts.audit import services as audit
from accounts.models import Lockout, Login, User
from participation.models import Invitation, JoinRequest

NAMELESS = "invalid.invalid"  # of addresses that no mail server can have
FAILED_LOGINS = ("accessattempt", "accessfailurelog", "accesslog")  # tables of django-axes
SERVICES = ("socialaccount.socialaccount", "account.emailaddress", "mfa.authenticator")


@dataclass(frozen=True)
class Erasure:
    """The numbers of rows of a person: those that go, and those that stay under the number of the account."""

    erased: Mapping[str, int]
    kept: Mapping[str, int]


def erasure_of(user: User) -> Erasure:
    """Count what erasing a person deletes or empties, and what stays."""
    going = {rows.model._meta.label for rows in (*_deleted(user), *_emptied(user).values())}
    kept: dict[str, int] = {}
    for relation in User._meta.related_objects:
        model = relation.related_model
        if not isinstance(model, str) and model._meta.label not in going:
            n = model._default_manager.filter(**{relation.field.name: user}).count()
            name = f"{model._meta.verbose_name}, {relation.field.name.replace('_', ' ')}"
            kept |= {name: n} if n else {}
    rows = [*_deleted(user), *_emptied(user).values()]
    return Erasure(
        {str(queryset.model._meta.verbose_name): n for queryset in rows if (n := queryset.count())}, kept
    )


@transaction.atomic
def erase(*, user: User) -> Erasure:
    """Empty an account, and delete or empty what else names the person. Safe to repeat, as after a restore."""
    user = User.objects.select_for_update().get(pk=user.pk)
    erasure, emptied = erasure_of(user), _emptied(user)
    address = Concat(Value("erased-"), Cast("pk", CharField()), Value(f"@{NAMELESS}"))
    emptied["requests"].update(name="erased", email=address, message="", organization="")
    emptied["invitations"].update(name="", email="")
    emptied["entries"].update(object_repr=f"former-{user.pk}")
    for rows in _deleted(user):
        rows.delete()
    user.username, user.first_name, user.last_name, user.email = f"former-{user.pk}", "", "", ""
    user.is_active = user.is_staff = user.is_superuser = False
    user.set_unusable_password()
    user.save()
    account_services.end_sessions(user=user)
    audit.record(action="person.erased", subject=user, details=dict(erasure.erased))
    return erasure


def _deleted(user: User) -> list[QuerySet]:  # type: ignore[type-arg]  # of several models
    rows: list[QuerySet] = [Login.objects.filter(user=user), Lockout.objects.filter(user=user)]  # type: ignore[type-arg]
    for name in FAILED_LOGINS:
        failed = apps.get_model("axes", name)._default_manager
        rows.append(failed.filter(username__iexact=user.username))
    models = (
        apps.get_model(label) for label in SERVICES if apps.is_installed(f"allauth.{label.split('.')[0]}")
    )
    return [*rows, *(model._default_manager.filter(user_id=user.pk) for model in models)]


def _emptied(user: User) -> dict[str, QuerySet]:  # type: ignore[type-arg]
    """Requests and invitations of the account, or of its address and no other account; and the log of the admin."""
    own = Q(user=user) | (Q(user=None, email__iexact=user.email) if user.email else Q(pk=None))
    kind = ContentType.objects.get_for_model(User)
    return {
        "requests": JoinRequest.objects.filter(own),
        "invitations": Invitation.objects.filter(own),
        "entries": LogEntry.objects.filter(content_type=kind, object_id=str(user.pk)),
    }
