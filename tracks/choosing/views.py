"""The page of a sample, the one on which each of two people decides, and the one that settles disagreements."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from accounts.access import (
    AuthenticatedRequest,
    chairs_only_read,
    organizer_action,
    organizer_form,
    organizer_page,
    user_page,
)
from assay.candidates.topics import FIRST
from tracks.candidates import services as candidate_services
from tracks.candidates.forms import PeopleForm
from tracks.candidates.selectors import sample_or_404
from tracks.choosing import derivation, selectors, services
from tracks.choosing.forms import DecisionForm, TopicsForm
from tracks.models import CandidateSample
from tracks.tracks.selectors import track_or_404
from web.downloads import download
from web.forms import refusals_in
from web.pages import context_of, read_and_post
from web.translation import translated_for_assessors

REFUSED = 422
PART = "part"  # a request of the page's script for the main element only


def _entered(sample: CandidateSample, form: DecisionForm) -> dict[str, object]:
    """Values that a form with errors shows again."""
    if not form.errors:
        return {}
    given = form.posted
    entered = selectors.Entered(given["choice"], given["reason"])
    return {"labels": selectors.labels_of(sample, given["labels"]), "entered": entered}


@translated_for_assessors
@user_page
def sample_page(request: AuthenticatedRequest, slug: str, sample: int) -> HttpResponse:
    """A sample with its quotas, decisions and disagreements. Organizers and the two people who decide on it."""
    drawn = sample_or_404(request.user, slug, sample)
    page = selectors.sample_page(request.user, drawn, show=request.GET.get("show", ""))
    forms = {}
    if request.user.oversees(drawn.track_id):
        initial = dict(zip(("first_person", "second_person"), page.people, strict=False))
        forms = {"people_form": PeopleForm(track=drawn.track, initial=initial), "topics_form": TopicsForm()}
    return render(request, "tracks/choosing/sample.html", context_of(page) | forms)


@organizer_action
def name_people(request: AuthenticatedRequest, slug: str, sample: int) -> HttpResponse:
    """Name the two people who decide on a sample. Organizers only."""
    drawn = sample_or_404(request.user, slug, sample)
    form = PeopleForm(request.POST, track=drawn.track)
    if form.is_valid():
        people = [form.cleaned_data["first_person"], form.cleaned_data["second_person"]]
        candidate_services.name_people(sample=drawn, people=people, by=request.user)
        messages.success(request, f"{people[0]} and {people[1]} decide on {drawn}.")
    else:
        messages.error(request, "Choose two people from the lists.")
    return redirect(drawn)


@organizer_page
def sample_file(request: AuthenticatedRequest, slug: str, sample: int, file: str) -> HttpResponseBase:
    """A file of a sample. Organizers only."""
    drawn = sample_or_404(request.user, slug, sample)
    content = services.file_of(request.user, drawn, file, first=request.GET.get("first", FIRST))
    if not content:
        return redirect(drawn)
    return download(content, f"{drawn.track.slug}-sample-{drawn.number}-{file}")


@translated_for_assessors
@read_and_post
@chairs_only_read
def decide(request: AuthenticatedRequest, slug: str, sample: int) -> HttpResponse:
    """Decide on one candidate after the other. The two people of the sample only."""
    drawn = sample_or_404(request.user, slug, sample)
    seat = selectors.seat_of(request.user, drawn)
    if seat is None:
        raise PermissionDenied
    form = DecisionForm(request.POST or None, sample=drawn)
    docno = request.GET.get("candidate", "")
    if form.is_valid():
        with refusals_in(form):
            services.decide(sample=drawn, **form.arguments, by=request.user)
            if PART not in request.GET:
                return redirect("tracks:decide", slug, sample)
    if form.is_bound:
        docno = request.POST.get("candidate", "") if form.errors else ""
    page = selectors.decide_page(request.user, drawn, seat, docno=docno)
    frame = "assessment/judging/_fragment.html" if PART in request.GET else "base.html"
    context = context_of(page) | {"form": form, "frame": frame} | _entered(drawn, form)
    return render(request, "tracks/choosing/decide.html", context, status=REFUSED if form.errors else 200)


@translated_for_assessors
@require_POST
@chairs_only_read
def undo_decision(request: AuthenticatedRequest, slug: str, sample: int) -> HttpResponse:
    """Take back one's latest decision. The two people of the sample only."""
    drawn = sample_or_404(request.user, slug, sample)
    if selectors.seat_of(request.user, drawn) is None:
        raise PermissionDenied
    undone = services.undo(sample=drawn, by=request.user)
    address = redirect("tracks:decide", slug, sample)
    address["Location"] += f"?candidate={undone.candidate.docno}"
    return address


@translated_for_assessors
@read_and_post
@chairs_only_read
def settle(request: AuthenticatedRequest, slug: str, sample: int, docno: str) -> HttpResponse:
    """Settle a disagreement. Organizers and the two people, after both have decided."""
    drawn = sample_or_404(request.user, slug, sample)
    rows = drawn.rows.select_related("candidate__track__collection")
    candidate = get_object_or_404(rows, candidate__docno=docno).candidate
    if not selectors.may_be_settled(candidate.decisions.filter(is_current=True)):
        return redirect(drawn)
    form = DecisionForm(request.POST or None, sample=drawn)
    if form.is_valid():
        with refusals_in(form):
            services.settle(sample=drawn, **form.arguments, by=request.user)
            messages.success(request, gettext("Candidate {docno} is settled.").format(docno=docno))
            return redirect(f"{drawn.get_absolute_url()}?show=disagreements")
    context = context_of(selectors.settle_page(drawn, candidate)) | {"form": form} | _entered(drawn, form)
    return render(request, "tracks/choosing/settle.html", context)


@organizer_action
def make_topics(request: AuthenticatedRequest, slug: str, sample: int) -> HttpResponse:
    """Make topics of the accepted candidates. Organizers only."""
    drawn = sample_or_404(request.user, slug, sample)
    form = TopicsForm(request.POST)
    if form.is_valid():
        made = services.make_topics(sample=drawn, first=form.cleaned_data["first"], by=request.user)
        messages.success(request, str(made))
        return redirect("tracks:topics", slug)
    messages.error(request, "Enter the code of the first topic.")
    return redirect(drawn)


@organizer_form
def derive(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Derive the formula topics of a draft from the topics of another track. Organizers only."""
    track = track_or_404(request.user, slug)
    source = derivation.sources_for(request.user, track).filter(slug=request.GET.get("source", "")).first()
    prefix = request.POST.get("prefix", derivation.PREFIX).strip()
    if request.method == "POST" and source:
        given = derivation.picked_formulas(request.POST, source, track.protocol.parsed.topics.labels)
        result = derivation.derive(track=track, source=source, prefix=prefix, by=request.user, **given)
        messages.success(request, str(result))
        return redirect("tracks:topics", slug)
    page = derivation.derive_page(request.user, track, source, prefix=prefix)
    return render(request, "tracks/choosing/derive.html", context_of(page))
