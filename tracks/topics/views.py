"""The pages of topics, and the one that creates a track with its topics."""

from functools import partial

from django.contrib import messages
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, creator_required, organizer_form
from assay.errors import Refused
from tracks.models import Topic
from tracks.protocols.selectors import protocol_page, protocols
from tracks.topics import selectors, services
from tracks.topics.forms import CorrectionForm, NewTopicForm, NewTrackForm, TopicFileForm, form_for
from tracks.tracks.selectors import track_or_404
from web.confirmation import Confirmation, by_mail, confirmation_page, deletion
from web.forms import refusals_in
from web.pages import context_of, read_and_post
from web.translation import translated_for_assessors


@read_and_post
@creator_required
def new_track(request: AuthenticatedRequest) -> HttpResponse:
    """Create a track. Organizers only."""
    form = NewTrackForm(
        request.POST or None, request.FILES or None, initial=request.GET.dict(), user=request.user
    )
    if form.is_valid():
        try:
            report = services.create_track(
                track=form.instance, topics=form.cleaned_data["topics"], by=request.user
            )
            messages.success(request, f"Created {form.instance}. {report}".strip())
            return redirect(form.instance)
        except Refused as refusal:
            form.instance.pk = None
            form.add_error("topics" if form.cleaned_data["topics"] else None, refusal.message.split("\n"))
    number = str(form["protocol"].value() or "")
    stored = protocols().filter(pk=int(number)).first() if number.isdecimal() else None
    chosen = protocol_page(stored) if stored and not stored.missing else None
    return render(request, "tracks/topics/new_track.html", {"form": form, "chosen": chosen})


@organizer_form
def import_topics(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Import topics, or labels for them. Organizers only."""
    track = track_or_404(request.user, slug)
    form = TopicFileForm(request.POST or None, request.FILES or None, track=track)
    report, is_preview = None, _is_preview(request)
    accept = partial(services.accept_removal, given=request.POST.get("removed", ""))
    if request.method == "POST" and form.is_valid():
        try:
            if is_preview:
                report = services.preview_upload(track=track, **form.cleaned_data)
            else:
                imported = services.import_upload(track=track, **form.cleaned_data, on_stored=accept)
                messages.success(request, str(imported))
                return redirect("tracks:topics", track.slug)
        except services.RemovalRefused as refusal:
            report, is_preview = refusal.report, True
            form.add_error("upload", refusal.message)
        except Refused as refusal:
            form.add_error("upload", refusal.message.split("\n"))
    labels = track.protocol.parsed.topics.labels
    context = {"track": track, "form": form, "labels": labels}
    context |= {"report": report, "is_preview": is_preview}
    return render(request, "tracks/topics/import.html", context)


@translated_for_assessors
@require_safe
def topics(request: HttpRequest, slug: str) -> HttpResponse:
    """The topics of a track. Everyone; drafts for organizers only."""
    track = track_or_404(request.user, slug)
    page = selectors.topics_page(request.user, track, request.GET.get("q", "").strip())
    return render(request, "tracks/topics/topics.html", context_of(page))


@translated_for_assessors
@require_safe
def topic_page(request: HttpRequest, slug: str, code: str) -> HttpResponse:
    """A topic, with a link to its thread for those who may read it. Everyone; drafts for organizers only."""
    track = track_or_404(request.user, slug)
    topic = selectors.topic_or_404(request.user, track, code)
    return render(
        request, "tracks/topics/topic.html", context_of(selectors.topic_page(request.user, track, topic))
    )


@organizer_form
def edit(request: AuthenticatedRequest, slug: str, code: str) -> HttpResponse:
    """Edit a topic: all of it in a draft, otherwise its scenario, criteria and labels. Organizers only."""
    track = track_or_404(request.user, slug)
    topic = selectors.topic_or_404(request.user, track, code)
    form = form_for(topic)(request.POST or None, topic=topic)
    if form.is_valid() and not _is_preview(request):
        with refusals_in(form):
            services.edit(topic=topic, by=request.user, **form.cleaned_data)
            messages.success(request, f"Topic {topic} is saved.")
            return redirect("tracks:topic", track.slug, topic.code)
    context = context_of(selectors.topic_page(request.user, track, topic)) | {"form": form}
    if form.is_bound:
        context["rendered"] = selectors.preview(topic, form.cleaned_data)
    return render(request, "tracks/topics/edit.html", context)


def _is_preview(request: AuthenticatedRequest) -> bool:
    return request.POST.get("action") == "preview"


@organizer_form
def new_topic(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Write a topic of a draft. Organizers only."""
    track = track_or_404(request.user, slug)
    topic = Topic(track=track, scenario="", criteria="", known_item="", split="")
    form = NewTopicForm(request.POST or None, topic=topic)
    if form.is_valid() and not _is_preview(request):
        with refusals_in(form):
            topic = services.write(track=track, by=request.user, **form.cleaned_data)
            messages.success(request, f"Topic {topic} is written.")
            return redirect("tracks:topic", track.slug, topic.code)
    rendered = selectors.preview(topic, form.cleaned_data if form.is_bound else {})
    context = {"track": track, "topic": None, "form": form, "rendered": rendered}
    return render(request, "tracks/topics/edit.html", context)


@organizer_form
def correct(request: AuthenticatedRequest, slug: str, code: str) -> HttpResponse:
    """Correct the text of a topic of an opened track, with a reason. Organizers only."""
    track = track_or_404(request.user, slug)
    topic = selectors.topic_or_404(request.user, track, code)
    form = CorrectionForm(request.POST or None, initial=model_to_dict(topic, services.CORRECTABLE))
    page = Confirmation(
        act=f"Correct topic {topic}",
        button="Correct the topic",
        back=reverse("tracks:topic", args=[slug, code]),
        text="Runs and judgments that exist were made for the earlier text.",
        fixed=[
            "The earlier text stays, with the reason, for the organizers",
            "The audit log has the correction",
        ],
        changeable=["The text again, with another reason", "Leave the topic out when you freeze qrels"],
        notified=by_mail(
            "Everybody: the correction is published as an announcement, and sent to those who want e-mails.",
            "The correction is published as an announcement.",
        ),
    )
    with refusals_in(form):
        if page.is_given(request) and form.is_valid():
            services.edit(topic=topic, by=request.user, **form.cleaned_data)
            messages.success(request, f"Topic {topic} is corrected, and the correction is announced.")
            return redirect("tracks:topic", track.slug, topic.code)
    return confirmation_page(request, page, layout="tracks/base.html", track=track, form=form)


@organizer_form
def delete_topic(request: AuthenticatedRequest, slug: str, code: str) -> HttpResponse:
    """Ask, then delete a topic of a draft. Organizers only."""
    track = track_or_404(request.user, slug)
    topic = selectors.topic_or_404(request.user, track, code)
    back = reverse("tracks:topic", args=[slug, code])
    edit = reverse("tracks:edit_topic", args=[slug, code]), "Edit the topic"
    page = deletion(topic, "topic", lambda: services.check_deletion(topic), back=back, instead=edit)
    if not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=track)
    services.delete(topic=topic, by=request.user)
    messages.success(request, f"Topic {code} is deleted.")
    return redirect("tracks:topics", track.slug)
