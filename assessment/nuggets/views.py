"""The pages of nuggets: the lists of a track, and one list next to the relevant segments of its topic."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import AuthenticatedRequest, chairs_only_read, organizer_page
from assessment.nuggets import selectors, services
from assessment.nuggets.forms import ChangeForm, ImportForm, MergeForm, NuggetForm, SegmentsForm
from pooling.models import Nugget
from tracks.models import Topic
from tracks.tracks.selectors import tracks_overseen_by
from web.downloads import download
from web.forms import bytes_of, refusals_in
from web.pages import context_of, counted, notes_shown, number_in, read_and_post
from web.translation import translated_for_assessors


@translated_for_assessors
@read_and_post
@chairs_only_read
def nuggets(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The lists of a track; organizers import files there. Assessors of the track, and organizers."""
    track = selectors.track_or_404(request.user, slug)
    if request.method == "POST" and not request.user.organizes(track.pk):
        raise PermissionDenied
    chosen = request.POST.get("action", "")
    upload = ImportForm(request.POST, request.FILES) if chosen == "import" else ImportForm()
    page = selectors.nuggets_page(track)
    current = page.sources
    initial = {"judged_in": current.judged_in.slug, "from_grade": current.from_grade} if current else {}
    data = request.POST if (chosen == "segments") else None
    segments = SegmentsForm(data, initial=initial, tracks=tracks_overseen_by(request.user))
    if chosen == "import" and upload.is_valid():
        file = upload.cleaned_data["file"]
        with refusals_in(upload, "file"), notes_shown(request):
            n = services.import_lists(
                track=track, data=bytes_of(file).read(), name=file.name, by=request.user
            )
            messages.success(request, f"{counted(n, page.words.imported)} imported.")
            return redirect("assessment:nuggets", track.slug)
    if chosen == "segments" and segments.is_valid():
        with refusals_in(segments):
            services.choose_sources(track=track, by=request.user, **segments.cleaned_data)
            return redirect("assessment:nuggets", track.slug)
    context = context_of(page) | {
        "form": upload,
        "segments_form": segments,
        "files": selectors.offered_forms(track),
    }
    return render(request, "assessment/nuggets/nuggets.html", context)


FORMS: dict[str, type[Any]] = {"add": NuggetForm, "change": ChangeForm, "merge": MergeForm}


def _nugget_or_404(request: AuthenticatedRequest, topic: Topic) -> Nugget:
    return get_object_or_404(topic.nuggets, pk=number_in(request.POST.get("nugget", ""), 0))


@translated_for_assessors
@read_and_post
@chairs_only_read
def nugget_list(request: AuthenticatedRequest, slug: str, code: str) -> HttpResponse:
    """The list of a topic. Assessors of the track, and organizers, who freeze it."""
    topic = get_object_or_404(
        selectors.track_or_404(request.user, slug).topics.select_related("track__protocol"), code=code
    )
    form, chosen = NuggetForm(), request.POST.get("action", "")
    if chosen in FORMS:
        others = {"nuggets": selectors.listed(topic)} if chosen == "merge" else {}
        form = FORMS[chosen](request.POST, **others)
        if form.is_valid():
            with refusals_in(form):
                values = dict(form.cleaned_data)
                if chosen == "change":
                    nugget = get_object_or_404(topic.nuggets, pk=values.pop("nugget"))
                    services.change(nugget=nugget, by=request.user, **values)
                else:
                    store = services.add if chosen == "add" else services.merge
                    store(topic=topic, by=request.user, **values)
                return redirect(request.path)
    elif request.method == "POST":
        match chosen:
            case "remove":
                services.remove(nugget=_nugget_or_404(request, topic), by=request.user)
            case "restore":
                services.restore(nugget=_nugget_or_404(request, topic), by=request.user)
            case "freeze" if request.user.organizes(topic.track_id):
                version = services.freeze(topic=topic, by=request.user)
                messages.success(
                    request, f"Froze version {version.version} of the nuggets of topic {topic.code}."
                )
            case "freeze":
                raise PermissionDenied
            case _:
                raise Http404
        return redirect(request.path)
    page = selectors.nugget_list_page(request.user, topic, request.GET.get("version", ""))
    context = context_of(page) | {"form": form, "action": chosen}
    return render(request, "assessment/nuggets/nugget_list.html", context)


@organizer_page
def nuggets_file(request: AuthenticatedRequest, slug: str, form: str) -> HttpResponseBase:
    """The latest frozen lists as a file for another program. Organizers only."""
    return download(*selectors.frozen_file(selectors.track_or_404(request.user, slug), form))
