"""The pages of agreement and of the discussions of training rounds."""

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from accounts.access import AuthenticatedRequest, organizer_action, organizer_page, user_page
from assessment.agreement import discussions, exports, selectors, services
from assessment.agreement.exports import discussion_csv
from assessment.agreement.forms import DisagreementsForm, DiscussionForm, NoteForm
from assessment.agreement.machines import comparisons
from assessment.agreement.preferences import preferences_of, preferences_tsv
from assessment.batches.selectors import batch_or_404
from assessment.judgments import disagreements as rounds
from assessment.judgments.disagreements import Difference
from tracks.tracks.selectors import track_or_404
from web.downloads import download
from web.forms import refusals_in
from web.pages import context_of
from web.translation import translated


@organizer_page
def agreement(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Kappa and alpha in one round of a track. Organizers only."""
    track = track_or_404(request.user, slug)
    scale = rounds.scale_of(track.protocol.parsed, request.GET.get("scale"))
    page = selectors.agreement_page(track, rounds.round_of(track, request.GET.get("round")), scale)
    context = context_of(page) | {"has_disagreements": any(row.observed < 1 for row in page.topics)}
    return render(request, "assessment/agreement/agreement.html", context)


@organizer_page
def agreement_file(request: AuthenticatedRequest, slug: str, name: str) -> HttpResponseBase:
    """A table of the agreement page as TSV. Organizers only."""
    track = track_or_404(request.user, slug)
    if name not in (*exports.TABLES, "machines", "preferences"):
        raise Http404
    of_round = rounds.round_of(track, request.GET.get("round"))
    if name == "preferences":
        content = preferences_tsv(preferences_of(track, of_round))
        return download(content, f"{track.slug}-consistency.tsv")
    if name == "machines":
        return download(exports.machines_tsv(comparisons(track)), f"{track.slug}-agreement-machines.tsv")
    scale = rounds.scale_of(track.protocol.parsed, request.GET.get("scale"))
    graded = selectors.graded(track, of_round, scale)
    content = exports.tsv(graded, scale, name)
    return download(content, f"{track.slug}-agreement-{name}.tsv")


@organizer_page
def disagreements(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The units on which assessors disagree, with their comments. Organizers only."""
    track = track_or_404(request.user, slug)
    form = DisagreementsForm.from_query(request.GET, track.protocol.parsed)
    page = selectors.disagreements_page(
        track,
        rounds.round_of(track, request.GET.get("round")),
        form.difference if form.is_valid() else Difference(),
        order=form.cleaned_data.get("order", ""),
        number=request.GET.get("page"),
    )
    status = 200 if form.is_valid() else 400
    context = context_of(page) | {"form": form}
    return render(request, "assessment/agreement/disagreements.html", context, status=status)


@organizer_page
def disagreements_file(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """The disagreements of the page as CSV, with every judgment and comment. Organizers only.

    The page itself says what is wrong with a filter that is not valid.
    """
    track = track_or_404(request.user, slug)
    form = DisagreementsForm.from_query(request.GET, track.protocol.parsed)
    if not form.is_valid():
        return disagreements(request, slug)
    of_round, order = request.GET.get("round"), form.cleaned_data["order"]
    return download(*exports.disagreements_file(track, of_round, form.difference, order))


@translated
@user_page
def discussion(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Everyone's answers in a training round. Organizers, and its assessors while it is shared with them."""
    return _discussion(request, batch_id)


def _discussion(
    request: AuthenticatedRequest,
    batch_id: int,
    *,
    form: DiscussionForm | None = None,
    refused: NoteForm | None = None,
) -> HttpResponse:
    """The page of a discussion, with what is wrong with a form. Then htmx, which shows no page with an error status,
    replaces the whole page instead of the unit.
    """
    batch = get_object_or_404(discussions.discussions_for(request.user), pk=batch_id)
    number = request.GET.get("page") or request.POST.get("page")
    page = discussions.discussion_page(batch, request.user, number=number)
    is_wrong = form is not None or refused is not None
    form = form or DiscussionForm(initial={"discussion": batch.discussion})
    status = 422 if is_wrong and not request.headers.get("HX-Request") else 200
    context = context_of(page) | {"form": form, "refused": refused}
    response = render(request, "assessment/agreement/discussion.html", context, status=status)
    if is_wrong:
        response["HX-Retarget"] = response["HX-Reselect"] = "#main"
    return response


@organizer_page
def discussion_file(request: AuthenticatedRequest, batch_id: int) -> HttpResponseBase:
    """The discussion as CSV. Organizers only."""
    batch = get_object_or_404(discussions.discussions_for(request.user), pk=batch_id)
    current = discussions.round_of_batch(batch)
    _, units = discussions.discussed_units(batch, current, request.user)
    return download(discussion_csv(units), f"discussion-batch-{batch.pk}.csv")


@organizer_action
def share(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Set who sees the discussion. Organizers only."""
    batch = batch_or_404(batch_id)
    form = DiscussionForm(request.POST)
    if not form.is_valid():
        return _discussion(request, batch_id, form=form)
    services.share(batch=batch, discussion=form.cleaned_data["discussion"])
    messages.success(request, "Saved who sees the discussion.")
    return redirect("assessment:discussion", batch.pk)


@organizer_action
def note(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Store the outcome for a unit. Organizers only."""
    batch = batch_or_404(batch_id)
    form = NoteForm(request.POST)
    with refusals_in(form):
        if form.is_valid():
            services.note(batch=batch, by=request.user, **form.cleaned_data)
            messages.success(request, f"Saved the outcome of {form.cleaned_data['docno']}.")
    if form.errors:
        return _discussion(request, batch_id, refused=form)
    query = {"page": request.POST["page"]} if request.POST.get("page", "").isdecimal() else {}
    address = reverse("assessment:discussion", args=[batch.pk])
    return redirect(f"{address}?{urlencode(query)}" if query else address)
