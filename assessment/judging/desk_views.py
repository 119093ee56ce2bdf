"""The other pages of assessors: their desk, keys and guidelines."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from accounts import services as account_services
from accounts.access import (
    AuthenticatedRequest,
    guests_welcome,
    login_required,
    organizer_required,
    user_page,
)
from assessment.batches.progress import track_progress, with_times
from assessment.batches.selectors import batches_for, batches_of, batches_to_join, pools_to_plan
from assessment.judging import selectors
from assessment.judging.forms import ExampleForm, KeysForm
from assessment.judging.guidelines import examples_page, guidelines_page
from assessment.judging.keys import judged_protocols
from assessment.judging.page import stored_page
from assessment.judgments.selectors import own_judgments
from tracks.assessors.selectors import is_assessor
from tracks.guidelines import services as guidelines_services
from tracks.guidelines.selectors import guidelines_to_read
from tracks.guidelines.selectors import track_or_404 as track_with_guidelines
from tracks.tracks.selectors import track_or_404
from web.pages import context_of, local_address, read_and_post
from web.translation import translated


@translated
@require_safe
@guests_welcome
def mine(request: AuthenticatedRequest) -> HttpResponse:
    """The assessor's desk: their own open and closed batches. Every logged-in user; guests go to their batch."""
    if request.user.guest_until:
        return redirect("assessment:link")
    context = {
        "desk": selectors.desk(request.user),
        "to_join": batches_to_join(request.user),
        "to_read": guidelines_to_read(request.user),
        "closed": selectors.closed_batches(request.user),
    }
    return render(request, "assessment/judging/mine.html", context)


@translated
@user_page
def back(request: AuthenticatedRequest) -> HttpResponse:
    """The page after a new login from a judging page, which continues by itself. Every logged-in user."""
    return render(request, "assessment/judging/back.html")


@require_POST
@guests_welcome
def highlighting(request: AuthenticatedRequest) -> HttpResponse:
    """Choose whether the judging page highlights the words of the topic. Every logged-in user, for themselves."""
    account_services.set_highlighting(user=request.user, is_on="is_on" in request.POST)
    return HttpResponse(status=204)


@translated
@require_safe
@guests_welcome
def stored(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """The page between two tasks, for those who do not take the next one at once. Assessors of the batch only."""
    batch = get_object_or_404(batches_of(request.user), pk=batch_id)
    page = stored_page(batch, request.user)
    if page.item.is_done:
        return redirect("assessment:done", batch.pk)
    return render(request, "assessment/judging/stored.html", context_of(page))


@translated
@require_POST
@guests_welcome
def accepting(request: AuthenticatedRequest) -> HttpResponse:
    """Choose whether the next task comes at once, and go back. Every logged-in user, for themselves."""
    account_services.set_accepts_next(user=request.user, is_on="accepts_next" in request.POST)
    if not request.accepts("text/html"):
        return JsonResponse({})
    return redirect(local_address(request, request.POST.get("back", "")) or "assessment:mine")


@translated
@require_safe
@guests_welcome
def done(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """The page after the last task of a batch. Assessors of the batch only."""
    batch = get_object_or_404(batches_of(request.user), pk=batch_id)
    if request.user.guest_until:
        return redirect("assessment:link")
    item = selectors.desk_batch(batch, request.user)
    other = next((desk_batch for desk_batch in selectors.desk(request.user) if not desk_batch.is_done), None)
    former = own_judgments(batch, request.user).exclude(topic__in=[row.topic.pk for row in item.topics])
    context = {"item": item, "other": other, "n_former": former.count()}
    return render(request, "assessment/judging/done.html", context)


@translated
@user_page
def judging(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The batches of a track. Organizers see all of them, assessors their own, nobody else any."""
    track = track_or_404(request.user, slug)
    if request.user.oversees(track.pk):
        pools = pools_to_plan().filter(track=track)
        context = {"track": track, "batches": with_times(track_progress(track)), "pools": pools}
        return render(request, "assessment/batches/judging.html", context)
    if not is_assessor(request.user, track):
        raise PermissionDenied
    to_join = batches_to_join(request.user).filter(pool__track=track)
    context = {
        "track": track,
        "desk": selectors.desk(request.user, track=track),
        "to_join": to_join,
        "to_read": guidelines_to_read(request.user).filter(pk=track.pk),
    }
    return render(request, "assessment/judging/track_desk.html", context)


@translated
@read_and_post
@login_required
def edit_keys(request: AuthenticatedRequest) -> HttpResponse:
    """The keys of the judging page. Every logged-in user, for themselves."""
    if "reset" in request.POST:
        return _stored(request, {}, gettext("All keys are the usual ones again."))
    data = request.POST if request.method == "POST" else None
    form = KeysForm(data, initial=request.user.judging_keys, protocols=judged_protocols(request.user))
    if data is not None and form.is_valid():
        return _stored(request, form.keys, gettext("Keys saved."))
    return render(request, "assessment/judging/keys.html", {"form": form}, status=422 if form.errors else 200)


def _stored(request: AuthenticatedRequest, keys: dict[str, str], message: str) -> HttpResponse:
    account_services.set_keys(user=request.user, keys=keys)
    messages.success(request, message)
    return redirect("assessment:keys")


@translated
@require_safe
@guests_welcome
def guidelines(request: AuthenticatedRequest, batch_id: int, *, template: str = "guidelines") -> HttpResponse:
    """The track's guidelines and the meaning of each choice. Assessors of the batch, and organizers.

    It is a page, or a panel without the frame of a page, to open next to a task.
    """
    batch = get_object_or_404(batches_for(request.user), pk=batch_id)
    page = guidelines_page(batch, request.user)
    if page.version is not None:
        guidelines_services.mark_read(version=page.version, user=request.user)
    return render(request, f"assessment/judging/{template}.html", context_of(page))


@read_and_post
@organizer_required
def examples(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Pick worked examples from judged training units. Organizers only."""
    track = track_with_guidelines(request.user, slug)
    form = ExampleForm(request.POST or None, track=track)
    if request.method == "POST" and form.is_valid():
        guidelines_services.add_example(track=track, by=request.user, **form.cleaned_data)
        messages.success(request, "The example is at the end of the draft.")
        return redirect("tracks:edit_guidelines", track.slug)
    page = examples_page(track, request.GET.get("topic", ""), request.GET.get("page"))
    context = context_of(page) | {"form": form}
    return render(request, "assessment/judging/examples.html", context, status=422 if form.errors else 200)
