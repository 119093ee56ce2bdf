"""The guidelines of a batch: their page, the part that opens next to a task, and the choice of worked examples."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.access import AuthenticatedRequest, login_required, organizer_required
from assessment.batches import selectors as batch_selectors
from assessment.guidelines import selectors
from assessment.guidelines.forms import ExampleForm
from assessment.tasks import selectors as task_selectors
from tracks.guidelines import selectors as guidelines_selectors
from tracks.guidelines import services as guidelines_services
from web.pages import context_of


@require_safe
@never_cache
@login_required
def guidelines(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """The track's guidelines and the meaning of each choice. Assessors of the batch, and organizers."""
    return _guidelines(request, batch_id, "assessment/guidelines/guidelines.html")


@require_safe
@never_cache
@login_required
def panel(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """The same without the frame of a page, to open next to a task. Assessors of the batch, and organizers."""
    return _guidelines(request, batch_id, "assessment/guidelines/_panel.html")


def _guidelines(request: AuthenticatedRequest, batch_id: int, template: str) -> HttpResponse:
    own = task_selectors.batches_of(request.user)
    batches = batch_selectors.batches_for_organizer() if request.user.is_organizer else own
    batch = get_object_or_404(batches, pk=batch_id)
    page = selectors.guidelines_page(batch, request.user)
    if page.version is not None:
        guidelines_services.mark_read(version=page.version, user=request.user)
    return render(request, template, context_of(page))


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@organizer_required
def examples(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Pick worked examples from judged training units. Organizers only."""
    track = get_object_or_404(guidelines_selectors.tracks_with_guidelines(request.user), slug=slug)
    form = ExampleForm(request.POST or None, track=track)
    if request.method == "POST" and form.is_valid():
        guidelines_services.add_example(track=track, by=request.user, **form.cleaned_data)
        messages.success(request, "The example is at the end of the draft.")
        return redirect("tracks:edit_guidelines", track.slug)
    page = selectors.examples_page(track, request.GET.get("topic", ""), request.GET.get("page"))
    context = context_of(page) | {"form": form}
    return render(request, "assessment/guidelines/examples.html", context, status=422 if form.errors else 200)
