"""The pages of batches."""

from functools import partial

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts.access import AuthenticatedRequest, organizer_action, organizer_form, organizer_page
from assay.errors import Refused
from assay.formats.text import listed
from assessment.batches import selectors, services
from assessment.batches.closing import closing_page
from assessment.batches.page import batch_page
from assessment.models import Batch
from jobs.files.deletion import parts_in_words
from tracks.tracks.selectors import track_or_404
from web.confirmation import confirmation_page, deletion
from web.forms import StyledForm, refusals_in
from web.pages import context_of, form_page


class EditBatchForm(StyledForm, forms.ModelForm[Batch]):
    """Changes of a batch; its pool and kind stay."""

    class Meta:
        model = Batch
        fields = ["name", "minutes_allotted", "judges", "is_shared"]
        labels = {
            "minutes_allotted": "Minutes for a task",
            "judges": "People per unit",
            "is_shared": "Open to join: assessors take units by themselves",
        }

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        try:
            services.check_name(pool=self.instance.pool, name=name, batch=self.instance)
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from refusal
        return name


@organizer_page
def show_batch(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """A batch: progress by assessor and topic, choices, remarks. Organizers only."""
    return render(
        request, "assessment/batches/batch.html", context_of(batch_page(selectors.batch_or_404(batch_id)))
    )


@organizer_form
def edit(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Change the name of a batch, the minutes for a task, the people per unit, and who may join. Organizers only."""
    batch = selectors.batch_or_404(batch_id)
    form = EditBatchForm(request.POST or None, instance=batch)
    with refusals_in(form):
        if form.is_valid():
            batch = services.edit(batch=batch, **form.cleaned_data)
            messages.success(request, f"The batch “{batch}” is changed.")
            return redirect(batch)
    stored = selectors.batch_or_404(batch_id)  # the form has changed the other row
    return form_page(
        request,
        form,
        f"Edit {stored.name}",
        "Save batch",
        layout="assessment/base.html",
        track=batch.pool.track,
        crumbs=[(stored.name, stored.get_absolute_url())],
        style="narrow-form",
    )


@organizer_action
def open_batch(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Let assessors take tasks. Organizers only."""
    batch = services.open_for_judging(batch=selectors.batch_or_404(batch_id))
    messages.success(request, f"The batch “{batch}” is open. Its assessors now see it under Judge.")
    return redirect(batch)


@organizer_form
def close_batch(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Give out no more tasks; asks first if units are left to judge. Organizers only."""
    batch = selectors.batch_or_404(batch_id)
    page = closing_page(batch)
    if not page.is_given(request):
        return confirmation_page(request, page, layout="assessment/base.html", track=batch.pool.track)
    batch = services.close(batch=batch)
    undo = reverse("assessment:open", args=[batch.pk])
    messages.success(request, f"The batch “{batch}” is closed. All its judgments are kept.", extra_tags=undo)
    return redirect(batch)


@organizer_action
def close_finished(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Close all batches in which everything is judged. Organizers only."""
    track = track_or_404(request.user, slug)
    batches = services.close_finished(track=track)
    verb = "is" if len(batches) == 1 else "are"
    messages.success(
        request, f"{listed([batch.name for batch in batches])} {verb} closed. All judgments are kept."
    )
    return redirect("assessment:judging", track.slug)


@organizer_form
def delete(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Ask, then delete a draft of a batch. Organizers only."""
    batch = selectors.batch_or_404(batch_id)
    goes_with = parts_in_words(batch, services.PARTS)
    is_open = batch.status == Batch.Status.OPEN
    closing = (reverse("assessment:close", args=[batch.pk]), "Close batch") if is_open else ("", "")
    check = partial(services.check_deletion, batch)
    page = deletion(batch, "batch", check, goes_with=goes_with, instead=closing)
    if not page.is_given(request):
        return confirmation_page(request, page, layout="assessment/base.html", track=batch.pool.track)
    services.delete(batch=batch, by=request.user)
    messages.success(request, f"The batch “{batch}” is deleted.")
    return redirect("assessment:judging", batch.pool.track.slug)
