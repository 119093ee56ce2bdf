"""The pages that plan a round. Organizers only."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from accounts.access import AuthenticatedRequest, organizer_form
from assessment.batches import selectors
from assessment.judgments.disagreements import round_of, scale_of
from assessment.rounds import services
from assessment.rounds.dual import dual_proposal, rule_in_words
from assessment.rounds.forms import AdjudicationForm, DualForm, TrainingForm
from assessment.rounds.selectors import entries_to_adjudicate
from tracks.tracks.selectors import track_or_404
from web.forms import refusals_in
from web.pages import counted, form_page

OPEN = "The batch is open. Its assessors now see it under Judge."
DRAFT = "The batch is a draft."


@organizer_form
def dual(request: AuthenticatedRequest, pool_id: int) -> HttpResponse:
    """Plan second judgments by the protocol's rule. Organizers only."""
    pool = get_object_or_404(selectors.pools_to_plan(), pk=pool_id)
    form = DualForm(request.POST or None, proposal=dual_proposal(pool))
    with refusals_in(form):
        if form.is_valid():
            is_open = "open" in request.POST
            batch = services.create_dual(pool=pool, is_open=is_open, by=request.user, **form.arguments)
            messages.success(
                request, OPEN if is_open else f"{DRAFT} Change its plan as you like, then open it."
            )
            return redirect(batch) if is_open else redirect("assessment:plan", batch.pk)
    context = {"track": pool.track, "pool": pool, "form": form, "rule": rule_in_words(pool)}
    return render(request, "assessment/rounds/dual.html", context, status=422 if form.errors else 200)


@organizer_form
def training(request: AuthenticatedRequest, pool_id: int) -> HttpResponse:
    """Plan a training round. Organizers only."""
    pool = get_object_or_404(selectors.pools_to_plan(), pk=pool_id)
    is_search = "search" in request.POST
    form = (
        TrainingForm.searched(request.POST, pool)
        if is_search
        else TrainingForm(request.POST or None, pool=pool)
    )
    with refusals_in(form):
        if form.is_valid():
            is_open = "open" in request.POST
            batch = services.create_training(pool=pool, is_open=is_open, by=request.user, **form.arguments)
            messages.success(request, OPEN if is_open else f"{DRAFT} Open it to give out its tasks.")
            return redirect(batch)
    context = {"track": pool.track, "pool": pool, "form": form}
    return render(request, "assessment/rounds/training.html", context, status=422 if form.errors else 200)


@organizer_form
def adjudication(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Create an adjudication batch of disagreements. Organizers only."""
    track = track_or_404(request.user, slug)
    of_round = round_of(track, request.GET.get("round"))
    form = AdjudicationForm(request.POST or None, track=track, initial=request.GET.dict())
    with refusals_in(form):
        if form.is_valid():
            is_open = "open" in request.POST
            batches = services.create_adjudications(
                track=track, of_round=of_round, is_open=is_open, by=request.user, **form.arguments
            )
            messages.success(request, OPEN if is_open else f"{DRAFT} Check its topics, then open it.")
            return redirect(batches[0] if len(batches) == 1 else reverse("assessment:judging", args=[slug]))
    scale = scale_of(track.protocol.parsed, form["scale"].value())
    entries = entries_to_adjudicate(track, of_round, form.shown_difference)
    return form_page(
        request,
        form,
        "Create an adjudication batch",
        f"Create a draft of {counted(len(entries), 'unit')}" if entries else "Create a draft",
        template="assessment/rounds/adjudication.html",
        layout="assessment/base.html",
        track=track,
        crumbs=[("Agreement", f"{reverse('assessment:agreement', args=[slug])}?round={of_round.key}")],
        lead=of_round.label,
        style="narrow-form",
        scale=scale,
        n_units=len(entries),
    )
