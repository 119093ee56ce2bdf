"""The pages of machines. Organizers only."""

from typing import Any

from django.contrib import messages
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import AuthenticatedRequest, organizer_action, organizer_form, organizer_page
from accounts.selectors import tokens_of
from assessment.machines import selectors, services
from assessment.machines.forms import MachineForm, MachineTokenForm, StartMachineForm
from assessment.machines.selectors import MachinePage
from tracks.assessors import machines as machine_services
from tracks.tracks.selectors import tracks_for
from web.forms import refusals_in
from web.pages import context_of


@organizer_page
def machines(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The programs and models that judge for a track. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    context = {"track": track, "rows": selectors.shown_machines(track), "tab": "judging"}
    return render(request, "assessment/machines/machines.html", context)


@organizer_form
def new(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Add a machine to a track. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    form = MachineForm(request.POST or None, initial={"owner": request.user})
    with refusals_in(form, "version"):
        if form.is_valid():
            return redirect(machine_services.add(track=track, by=request.user, **form.cleaned_data))
    context = {"track": track, "form": form, "tab": "judging"}
    return render(request, "assessment/machines/new.html", context, status=422 if form.errors else 200)


@organizer_page
def machine(request: AuthenticatedRequest, machine_id: int) -> HttpResponse:
    """A machine: what it has judged, and how it agrees with people. Organizers only."""
    page = selectors.machine_page(get_object_or_404(selectors.machines(), pk=machine_id))
    return _answer(request, page, {})


def _answer(request: AuthenticatedRequest, page: MachinePage, more: dict[str, Any]) -> HttpResponse:
    forms = {"form": StartMachineForm(pools=page.pools), "token_form": MachineTokenForm()}
    status = 422 if any(form.errors for form in more.values() if isinstance(form, Form)) else 200
    context = context_of(page) | forms | more
    return render(request, "assessment/machines/machine.html", context, status=status)


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
            new = machine_services.create_token(machine=machine, name=name, expires_at=form.expires_at)
            shown = {"new": new}
    return _answer(request, selectors.machine_page(machine), shown)


@organizer_action
def revoke_token(request: AuthenticatedRequest, machine_id: int, token_id: int) -> HttpResponse:
    """Revoke a token of a machine. Organizers only."""
    machine = get_object_or_404(selectors.machines(), pk=machine_id)
    token = get_object_or_404(tokens_of(machine.assessor.user), pk=token_id)
    machine_services.revoke_token(machine=machine, token=token)
    messages.success(request, f"The token {token.name} is revoked.")
    return redirect(machine)
