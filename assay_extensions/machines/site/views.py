"""The pages of machines. Organizers only."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from accounts.access import AuthenticatedRequest, organizer_action, organizer_form, organizer_page
from accounts.forms import DAYS, TokenForm
from accounts.models import IS_PERSON, User
from accounts.selectors import tokens_of
from assay_extensions.machines.site import selectors, services
from assay_extensions.machines.site.selectors import MachinePage
from pooling.models import Pool
from tracks.assessors import machines as machine_services
from tracks.models import Machine
from tracks.tracks.selectors import track_or_404
from web.forms import StyledForm, refusals_in
from web.pages import context_of, form_page


class MachineForm(StyledForm, forms.ModelForm[Machine]):
    class Meta:
        model = Machine
        fields = ["name", "version", "description", "owner"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        owner = cast("forms.ModelChoiceField[User]", self.fields["owner"])
        owner.queryset = User.objects.filter(is_active=True, **IS_PERSON).order_by("username")
        owner.empty_label = None


class StartMachineForm(StyledForm):
    """The pool that a machine judges next."""

    pool = forms.ModelChoiceField(queryset=Pool.objects.none(), empty_label=None)

    def __init__(self, *args: Any, pools: list[Pool], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast("forms.ModelChoiceField[Pool]", self.fields["pool"])
        field.queryset = Pool.objects.filter(pk__in=[pool.pk for pool in pools])


class MachineTokenForm(TokenForm):
    """A token with which a machine judges, and nothing else."""

    scopes = track = None  # type: ignore[assignment]  # takes the fields of the base away
    name = forms.CharField(
        max_length=100, initial="judging", help_text="What will use it, such as “GPU server”."
    )
    days = forms.TypedChoiceField(choices=DAYS, coerce=int, initial=30, label="It expires after")


@organizer_page
def machines(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The programs and models that judge for a track. Organizers only."""
    track = track_or_404(request.user, slug)
    context = {"track": track, "rows": selectors.shown_machines(track)}
    return render(request, "machines/machines.html", context)


@organizer_form
def new(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Add a machine to a track. Organizers only."""
    track = track_or_404(request.user, slug)
    form = MachineForm(request.POST or None, initial={"owner": request.user})
    with refusals_in(form, "version"):
        if form.is_valid():
            return redirect(machine_services.add(track=track, by=request.user, **form.cleaned_data))
    return form_page(
        request,
        form,
        "Add a machine",
        "Add machine",
        layout="assessment/base.html",
        track=track,
        crumbs=[("Machines", reverse("machines:machines", args=[slug]))],
        note="A machine gets its own account. Nobody can log in with it: the program uses a token. What you enter here "
        "cannot be changed later, because judgments are published under it. For another model, prompt or version, add "
        "another machine.",
        style="narrow-form",
    )


@organizer_page
def show_machine(request: AuthenticatedRequest, machine_id: int) -> HttpResponse:
    """A machine: what it has judged, and how it agrees with people. Organizers only."""
    page = selectors.machine_page(get_object_or_404(selectors.machines(), pk=machine_id))
    return _answer(request, page, {})


def _answer(request: AuthenticatedRequest, page: MachinePage, more: dict[str, Any]) -> HttpResponse:
    empty = {"form": StartMachineForm(pools=page.pools), "token_form": MachineTokenForm()}
    status = 422 if any(form.errors for form in more.values() if isinstance(form, Form)) else 200
    context = context_of(page) | empty | more
    return render(request, "machines/machine.html", context, status=status)


@organizer_action
def start(request: AuthenticatedRequest, machine_id: int) -> HttpResponse:
    """Let a machine judge a pool. Organizers only."""
    page = selectors.machine_page(get_object_or_404(selectors.machines(), pk=machine_id))
    form = StartMachineForm(request.POST, pools=page.pools)
    if not form.is_valid():
        return _answer(request, page, {"form": form})
    batch = services.start(machine=page.machine, pool=form.cleaned_data["pool"], by=request.user)
    messages.success(request, f"The batch “{batch}” is open. The machine can take its tasks through the API.")
    return redirect(page.machine)


@organizer_action
def create_token(request: AuthenticatedRequest, machine_id: int) -> HttpResponse:
    """Create a token of a machine. Its text is shown once. Organizers only."""
    machine = get_object_or_404(selectors.machines(), pk=machine_id)
    form = MachineTokenForm(request.POST)
    shown: dict[str, Any] = {"token_form": form}
    with refusals_in(form, "name"):
        if form.is_valid():
            name = form.cleaned_data["name"]
            token = machine_services.create_token(machine=machine, name=name, expires_at=form.expires_at)
            shown = {"new": token}
    return _answer(request, selectors.machine_page(machine), shown)


@organizer_action
def revoke_token(request: AuthenticatedRequest, machine_id: int, token_id: int) -> HttpResponse:
    """Revoke a token of a machine. Organizers only."""
    machine = get_object_or_404(selectors.machines(), pk=machine_id)
    token = get_object_or_404(tokens_of(machine.assessor.user), pk=token_id)
    machine_services.revoke_token(machine=machine, token=token)
    messages.success(request, f"The token {token.name} is revoked.")
    return redirect(machine)
