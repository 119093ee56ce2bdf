"""See a unit of a batch before accepting, and join a batch that is open to join. Decision: ADR 62."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_POST, require_safe

from accounts.access import AuthenticatedRequest, login_required
from accounts.models import User
from assessment.batches.selectors import batches_to_join
from assessment.joining import selectors
from assessment.judging.views import template_of
from assessment.models import Batch
from assessment.planning import services as assignments
from tracks.rows.frames import framed
from tracks.rows.selectors import values_of
from web.pages import context_of

MAX_DIGITS = 9


def _number(request: HttpRequest) -> int:
    """The number of the unit that the address asks for; the first one without it."""
    text = request.GET.get("unit", "")
    return int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else 1


@require_safe
@login_required
def preview(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """A unit with its form; nothing is stored. Organizers, and assessors who may join the batch."""
    batch = get_object_or_404(selectors.batches_to_preview(request.user), pk=batch_id)
    can_accept = batches_to_join(request.user).filter(pk=batch.pk).exists()
    shown = selectors.preview_of(batch, request.user, number=_number(request), can_accept=can_accept)
    back = batch.get_absolute_url() if request.user.is_organizer else reverse("assessment:mine")
    return shown_preview(request, batch, shown, back)


def shown_preview(
    request: HttpRequest, batch: Batch, preview: selectors.Preview | None, back: str
) -> HttpResponse:
    """The judging page with a bar that says that it is a preview, and leads back."""
    if preview is None:
        raise Http404
    context = context_of(preview.page) | {
        "preview": preview,
        "facts": selectors.facts_of(batch),
        "back": back,
        "proof": "",
    }
    return render(request, template_of(preview.page), context | {"frame": "base.html", "form": None})


@require_safe
@xframe_options_exempt
@login_required
def preview_frame(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """The document of the frame of a unit. Organizers, and assessors who may join the batch."""
    batch = get_object_or_404(selectors.batches_to_preview(request.user), pk=batch_id)
    return unit_frame(request, batch, _number(request) if request.user.is_organizer else 1)


def unit_frame(request: HttpRequest, batch: Batch, number: int = 1) -> HttpResponse:
    form, (entry, _) = batch.pool.protocol.parsed.judging.form, selectors.unit_of(batch, number)
    if form is None or not form.frame or entry is None:
        raise Http404
    return framed(request, form, values_of(entry.topic, entry.docno))


@require_POST
@login_required
def join(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Join a batch that is open to join. Assessors of its track who may join it."""
    user: User = request.user
    batch = get_object_or_404(batches_to_join(user), pk=batch_id)
    assignments.join(batch=batch, assessor=user)
    return redirect("assessment:mine")
