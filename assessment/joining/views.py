"""See a unit of a batch before accepting, join a batch, and judge by a link without an account. Decision: ADR 58."""

from django.contrib import messages
from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from accounts.access import (
    AuthenticatedRequest,
    GuestWorkEnded,
    as_guest,
    begin_as_guest,
    creator_required,
    login_required,
    organizer_action,
    organizer_form,
    organizer_required,
    public_page,
    user_action,
    user_page,
)
from accounts.models import User
from assessment.batches.selectors import batch_or_404, batches_to_join
from assessment.joining import selectors, services
from assessment.joining.forms import ExcludeForm, LinkForm, StartForm
from assessment.joining.sample import sample_batch, sample_facts, sample_preview
from assessment.judging.layouts.rows import sample_values
from assessment.judging.services import accept_next
from assessment.models import Batch
from assessment.planning import services as assignments
from participation.invitations.views import INVITED_BY
from tracks.drafts.checks import check
from tracks.drafts.selectors import drafts_of, first_error, place_of_first_error
from tracks.guidelines.selectors import html_of
from tracks.rows.selectors import values_of
from tracks.rows.views import framed
from web.confirmation import Confirmation, confirmation_page
from web.forms import refusals_in
from web.pages import context_of, counted, number_in, read_and_post, site_of
from web.throttling import limited
from web.translation import translated


@translated
@user_page
def preview_batch(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """A unit with its form; nothing is stored. Organizers, and assessors who may join the batch."""
    batch = get_object_or_404(selectors.batches_to_preview(request.user), pk=batch_id)
    can_accept = batches_to_join(request.user).filter(pk=batch.pk).exists()
    number = number_in(request.GET.get("unit", ""), 1)
    shown = selectors.preview_of(batch, request.user, number=number, can_accept=can_accept)
    back = (
        batch.get_absolute_url() if request.user.oversees(batch.pool.track_id) else reverse("assessment:mine")
    )
    return shown_preview(request, batch, request.user, shown, back)


def shown_preview(
    request: HttpRequest, batch: Batch, reader: User, preview: selectors.Preview | None, back: str
) -> HttpResponse:
    """The judging page with a bar that says that it is a preview, and leads back."""
    if preview is None:
        raise Http404
    context = context_of(preview.page) | {
        "preview": preview,
        "facts": selectors.facts_of(batch) if batch.pk else sample_facts(batch.pool.protocol.parsed.judging),
        "back": back,
        "proof": "",
        "user": reader,
        "frame": "base.html",
        "form": None,
    }
    return render(request, preview.page.unit.template, context)


@translated
@require_safe
@xframe_options_exempt
@login_required
def preview_frame(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """The document of the frame of a unit. Organizers, and assessors who may join the batch."""
    batch = get_object_or_404(selectors.batches_to_preview(request.user), pk=batch_id)
    chosen = request.GET.get("unit", "") if request.user.oversees(batch.pool.track_id) else ""
    return unit_frame(request, batch, number_in(chosen, 1))


def unit_frame(request: HttpRequest, batch: Batch, number: int = 1) -> HttpResponse:
    form, (entry, _) = batch.pool.protocol.parsed.judging.form, selectors.unit_of(batch, number)
    if form is None or not form.frame or entry is None:
        raise Http404
    return framed(request, form, values_of(entry.topic, entry.docno))


@require_safe
@creator_required
def preview_draft(request: AuthenticatedRequest, draft_id: int) -> HttpResponse:
    """The judging page of a protocol that is being written, with a made-up unit. The owner of the draft only."""
    draft = get_object_or_404(drafts_of(request.user), pk=draft_id)
    protocol = check(draft.text).protocol
    if protocol is None:
        messages.error(
            request, f"The judging page cannot be shown yet. Correct this first: {first_error(draft)}"
        )
        return redirect(place_of_first_error(draft))
    batch, shown = sample_batch(protocol), sample_preview(protocol, request.user)
    return shown_preview(request, batch, request.user, shown, draft.get_absolute_url())


@require_safe
@xframe_options_exempt
@creator_required
def draft_frame(request: AuthenticatedRequest, draft_id: int) -> HttpResponse:
    """The document of the frame in the preview of a draft. The owner of the draft only."""
    protocol = check(get_object_or_404(drafts_of(request.user), pk=draft_id).text).protocol
    if protocol is None or protocol.judging.form is None or not protocol.judging.form.frame:
        raise Http404
    return framed(request, protocol.judging.form, sample_values(protocol.judging.form))


@translated
@user_action
def join(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Join a batch that is open to join, and open the first task. Assessors of its track who may join it."""
    user: User = request.user
    batch = get_object_or_404(batches_to_join(user), pk=batch_id)
    assignments.join(batch=batch, assessor=user)
    task = accept_next(batch=batch, assessor=user)
    return redirect(task or reverse("assessment:done", args=[batch.pk]))


# --- Links, for organizers


@read_and_post
@organizer_required
def batch_link(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """The link of a batch, the form that makes one, and everyone who came by it. Organizers only."""
    batch = batch_or_404(batch_id)
    form = LinkForm(request.POST if request.method == "POST" else None)
    with refusals_in(form):
        if form.is_valid():
            data = form.cleaned_data
            services.create(batch=batch, terms=form.terms, asks_name=data["asks_name"], by=request.user)
            messages.success(request, "The link is made. Copy it, and pass it on.")
            return redirect("assessment:batch_link", batch.pk)
    page = selectors.link_page(batch, site_of(request))
    context = context_of(page) | {"track": batch.pool.track, "form": form, "exclude_form": ExcludeForm()}
    return render(request, "assessment/joining/link.html", context, status=422 if form.errors else 200)


@organizer_form
def revoke_link(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Ask, then end the link of a batch, and the work of those who came by it. Organizers only."""
    batch = batch_or_404(batch_id)
    page = Confirmation(
        act=f"Revoke the link of “{batch}”",
        button="Revoke link",
        back=reverse("assessment:batch_link", args=[batch.pk]),
        text="Nobody can start or go on with it, from their next request.",
        fixed=["Judgments are kept and count"],
        changeable=["Make a new link. Those who came by this one start with it as new people"],
        notified="Nobody. Those who judge by the link read that it has ended.",
        is_danger=True,
    )
    if not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=batch.pool.track)
    link = selectors.link_in_force(batch)
    if link is not None:
        services.revoke(link=link)
    messages.success(request, "The link is revoked. Nobody can go on with it; what was judged counts.")
    return redirect("assessment:batch_link", batch.pk)


@organizer_action
def exclude(request: AuthenticatedRequest, batch_id: int, user_id: int) -> HttpResponse:
    """Let nothing count that somebody judged who came by a link. Organizers only."""
    batch = batch_or_404(batch_id)
    worker = get_object_or_404(selectors.guests_of(batch), pk=user_id)
    form = ExcludeForm(request.POST)
    if form.is_valid():
        n = services.exclude(batch=batch, worker=worker, reason=form.cleaned_data["reason"])
        messages.success(
            request, f"{counted(n, 'judgment')} of {worker} no longer count. Their units are open again."
        )
    else:
        messages.error(request, "Nothing was excluded: give a reason.")
    return redirect("assessment:batch_link", batch.pk)


# --- Links, for those who have one


@translated
@read_and_post
@never_cache
@limited("start")
def link_page(request: HttpRequest) -> HttpResponse:
    """The page of a link: the batch and its guidelines, or the work that was begun. Everyone who has a link."""
    arrival = selectors.arrival_by(request.session.get(INVITED_BY, ""))
    own = _own_work(request, arrival)
    if own is not None:
        return own
    if arrival is None:
        return render(request, "participation/invitations/gone.html", status=410)
    data = request.POST if request.method == "POST" else None
    form = StartForm(data) if arrival.link.asks_name and arrival.guest is None else None
    if request.method == "POST" and (form is None or form.is_valid()) and not request.user.is_authenticated:
        guest = arrival.guest
        if guest is None:
            name = form.cleaned_data["name"] if form else ""
            guest = services.admit(digest=request.session[INVITED_BY], name=name).user
        begin_as_guest(request, guest)
        del request.session[INVITED_BY]
        return redirect("assessment:link")
    batch = arrival.link.batch
    context = {"batch": batch, "arrival": arrival, "form": form, "facts": selectors.facts_of(batch)}
    context["version"] = batch.pool.track.guidelines
    context["html"] = html_of(batch.pool.track.guidelines)
    return render(
        request, "assessment/joining/start.html", context, status=422 if form and form.errors else 200
    )


def _own_work(request: HttpRequest, arrival: selectors.Arrival | None) -> HttpResponse | None:
    """The page of a guest between tasks; None if nobody works here, or if they have come by another link."""
    try:
        is_guest = as_guest(request)
    except GuestWorkEnded:
        if arrival is None:
            raise
        return None
    if not is_guest or not isinstance(request.user, User):
        return None
    work = selectors.guest_page(request.user, site_of(request))
    if arrival is not None and arrival.link.batch != work.item.batch:
        request.user = AnonymousUser()  # the page of the other link is for visitors
        return None
    return render(request, "assessment/joining/work.html", context_of(work))


def _arrived(request: HttpRequest) -> Batch:
    arrival = selectors.arrival_by(request.session.get(INVITED_BY, ""))
    if arrival is None:
        raise Http404
    return arrival.link.batch


@translated
@public_page
def link_unit(request: HttpRequest) -> HttpResponse:
    """A unit with its form, before somebody starts with a link; nothing is stored. Everyone who has a link."""
    batch = _arrived(request)
    reader = User(guest_until=timezone.now())  # nobody has an account yet
    shown = selectors.preview_of(batch, reader, can_accept=False)
    return shown_preview(request, batch, reader, shown, reverse("assessment:link"))


@translated
@require_safe
@never_cache
@xframe_options_exempt
def link_frame(request: HttpRequest) -> HttpResponse:
    """The document of the frame of that unit. Everyone who has a link."""
    return unit_frame(request, _arrived(request))
