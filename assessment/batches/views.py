"""The pages of batches."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render

from accounts.access import AuthenticatedRequest, organizer_action, organizer_form, organizer_page
from assay.errors import Refused
from assessment.batches import selectors, services
from assessment.batches.page import batch_page
from assessment.models import Batch
from pooling.models import Pool
from tracks.tracks.selectors import track_or_404
from web.forms import StyledForm, refusals_in
from web.pages import context_of, form_page

LABELS = {"minutes_allotted": "Minutes for a task", "judges": "People per unit", "is_shared": "Open to join"}


class NewBatchForm(StyledForm, forms.ModelForm[Batch]):
    """A new batch of a pool of a track, for people. The page of a machine creates those for the machine."""

    class Meta:
        model = Batch
        fields = ["pool", "name", "kind", "minutes_allotted", "judges", "is_shared"]
        labels = LABELS

    def __init__(self, *args: Any, pools: QuerySet[Pool], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        pool = cast("forms.ModelChoiceField[Pool]", self.fields["pool"])
        pool.queryset, pool.empty_label = pools, None
        kind = cast("forms.ChoiceField", self.fields["kind"])
        if not self.is_bound:
            self.initial.setdefault("name", f"Batch {Batch.objects.filter(pool__in=pools).count() + 1}")
        kind.choices = [choice for choice in Batch.Kind.choices if choice[0] != Batch.Kind.MACHINE]


class EditBatchForm(StyledForm, forms.ModelForm[Batch]):
    """Changes of a batch; its pool and kind stay."""

    class Meta:
        model = Batch
        fields = ["name", "minutes_allotted", "judges", "is_shared"]
        labels = LABELS

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        try:
            services.check_name(pool=self.instance.pool, name=name, batch=self.instance)
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from refusal
        return name


@organizer_form
def new(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Create a batch of a pool. Organizers only."""
    track = track_or_404(request.user, slug)
    pools = selectors.pools_to_plan().filter(track=track)
    form = NewBatchForm(request.POST or None, pools=pools, initial=request.GET.dict())
    with refusals_in(form):
        if form.is_valid():
            fields = {name: form.cleaned_data[name] for name in form.Meta.fields}
            batch = services.create(by=request.user, **fields)
            if batch.is_shared:
                messages.success(
                    request, f"The batch “{batch}” is a draft. Look at its preview, then open it."
                )
                return redirect(batch)
            messages.success(request, f"The batch “{batch}” is a draft. Assign its topics, then open it.")
            return redirect("assessment:plan", batch.pk)
    context = {"track": track, "form": form, "pools": pools, "tab": "judging"}
    return render(request, "assessment/batches/new.html", context, status=422 if form.errors else 200)


@organizer_page
def batch(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
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
        tab="judging",
        crumbs=[(stored.name, stored.get_absolute_url())],
        style="narrow-form",
    )


@organizer_action
def open_batch(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Let assessors take tasks. Organizers only."""
    batch = services.open_for_judging(batch=selectors.batch_or_404(batch_id))
    messages.success(request, f"The batch “{batch}” is open. Its assessors now see it under Judge.")
    return redirect(batch)


@organizer_action
def close_batch(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Give out no more tasks. Organizers only."""
    batch = services.close(batch=selectors.batch_or_404(batch_id))
    messages.success(request, f"The batch “{batch}” is closed. All its judgments are kept.")
    return redirect(batch)
