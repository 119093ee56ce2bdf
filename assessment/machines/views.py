"""The pages of machines. Organizers only."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import AuthenticatedRequest, organizer_required
from assay.errors import Refused
from assessment.machines import selectors, services
from assessment.machines.forms import MachineForm, StartForm
from tracks.machines import services as machine_services
from tracks.tracks.selectors import tracks_for
from web.pages import context_of


@require_safe
@never_cache
@organizer_required
def machines(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The programs and models that judge for a track. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    return render(request, "assessment/machines/machines.html", context_of(selectors.machines_page(track)))


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@organizer_required
def new(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Add a machine to a track. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    form = MachineForm(request.POST or None, initial={"owner": request.user})
    if form.is_valid():
        try:
            machine = machine_services.add(track=track, by=request.user, **form.cleaned_data)
            return redirect(machine)
        except Refused as refusal:
            form.add_error("version", refusal.message)
    context = {"track": track, "form": form, "tab": "judging"}
    return render(request, "assessment/machines/new.html", context, status=422 if form.errors else 200)


@require_safe
@never_cache
@organizer_required
def machine(request: AuthenticatedRequest, machine_id: int) -> HttpResponse:
    """A machine: what it has judged, and how it agrees with people. Organizers only."""
    page = selectors.machine_page(get_object_or_404(selectors.machines(), pk=machine_id))
    context = context_of(page) | {"form": StartForm(pools=page.pools)}
    return render(request, "assessment/machines/machine.html", context)


@require_POST
@organizer_required
def start(request: AuthenticatedRequest, machine_id: int) -> HttpResponse:
    """Let a machine judge a pool. Organizers only."""
    page = selectors.machine_page(get_object_or_404(selectors.machines(), pk=machine_id))
    form = StartForm(request.POST, pools=page.pools)
    if not form.is_valid():
        context = context_of(page) | {"form": form}
        return render(request, "assessment/machines/machine.html", context, status=422)
    batch = services.start(machine=page.machine, pool=form.cleaned_data["pool"], by=request.user)
    messages.success(request, f"The batch “{batch}” is open. The machine can take its tasks through the API.")
    return redirect(page.machine)
