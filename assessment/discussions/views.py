"""The pages of discussions. Organizers, and assessors of a round that is shared with them."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.access import AuthenticatedRequest, login_required, organizer_required
from assay.errors import Refused
from assessment.batches.selectors import batches_for_organizer
from assessment.discussions import selectors, services
from assessment.discussions.exports import discussion_csv
from assessment.discussions.forms import NoteForm, ShareForm
from web.downloads import download
from web.pages import context_of


@require_safe
@never_cache
@login_required
def discussion(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Everyone's answers in a training round. Organizers, and its assessors while it is shared with them."""
    batch = get_object_or_404(selectors.discussions_for(request.user), pk=batch_id)
    page = selectors.discussion_page(batch, request.user, number=request.GET.get("page"))
    form = ShareForm(initial={"discussion": batch.discussion})
    return render(request, "assessment/discussions/discussion.html", context_of(page) | {"form": form})


@require_safe
@never_cache
@organizer_required
def discussion_file(request: AuthenticatedRequest, batch_id: int) -> HttpResponseBase:
    """The discussion as CSV. Organizers only."""
    batch = get_object_or_404(selectors.discussions_for(request.user), pk=batch_id)
    current = selectors.round_of_batch(batch)
    _, units = selectors.discussed_units(batch, current, request.user)
    return download(discussion_csv(units), f"discussion-batch-{batch.pk}.csv")


@require_POST
@organizer_required
def share(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Set who sees the discussion. Organizers only."""
    batch = get_object_or_404(batches_for_organizer(), pk=batch_id)
    form = ShareForm(request.POST)
    if form.is_valid():
        services.share(batch=batch, discussion=form.cleaned_data["discussion"])
        messages.success(request, "Saved who sees the discussion.")
    else:
        messages.error(request, " ".join(map(str, form.errors["discussion"])))
    return redirect("assessment:discussion", batch.pk)


@require_POST
@organizer_required
def note(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Store the outcome for a unit. Organizers only."""
    batch = get_object_or_404(batches_for_organizer(), pk=batch_id)
    form = NoteForm(request.POST)
    if form.is_valid():
        try:
            services.note(batch=batch, by=request.user, **form.cleaned_data)
            messages.success(request, f"Saved the outcome of {form.cleaned_data['docno']}.")
        except Refused as refusal:
            messages.error(request, refusal.message)
    else:
        messages.error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
    query = {"page": request.POST["page"]} if request.POST.get("page", "").isdecimal() else {}
    address = reverse("assessment:discussion", args=[batch.pk])
    return redirect(f"{address}?{urlencode(query)}" if query else address)
