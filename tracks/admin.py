"""Tracks with their assessors, protocols and topics in the admin, and the headings of the admin site."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminTextInputWidget
from django.contrib.auth.models import Group
from django.db.models import QuerySet, TextField
from django.forms import BaseModelFormSet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.models import User
from assay.errors import Refused
from tracks.assessors import services as assessor_services
from tracks.models import Assessor, StoredProtocol, Topic, TopicImport, Track
from tracks.topics.selectors import render_topic
from tracks.tracks import services
from tracks.tracks.forms import TrackForm
from tracks.tracks.opening import opening_page
from web.admin import ReadOnly, Undeletable
from web.pages import counted

admin.site.site_header = "Assay administration"
admin.site.site_title = "Assay"
admin.site.index_title = "Users, tracks, runs, batches"
admin.site.unregister(Group)  # permissions follow from roles in tracks, not from groups


class UserName(forms.TextInput):
    """Shows the user of an existing row, without a query for each."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def format_value(self, value: object) -> str:
        return self.name


class AssessorForm(forms.ModelForm[Assessor]):
    """Shows next to the form what the service would refuse."""

    class Meta:
        model = Assessor
        fields = ["user", "group"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            self.fields["user"].disabled = True
            self.fields["user"].widget = UserName(self.instance.user.username)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        track, user = self.instance.track if self.instance.track_id else None, data.get("user")
        if track is not None and user is not None:
            try:
                assessor_services.check(track=track, user=user)
                assessor_services.check_group(track=track, group=data.get("group", ""))
            except Refused as refusal:
                raise forms.ValidationError(refusal.message) from refusal
        return data


class Assessors(forms.BaseInlineFormSet[Assessor, Track, forms.ModelForm[Assessor]]):
    """The assessors of a track. A refusal of their groups is an error of the form, so that nothing is saved."""

    def clean(self) -> None:
        super().clean()
        if any(self.errors) or self.instance.pk is None:
            return
        try:
            assessor_services.check_set_groups(track=self.instance, groups=self.changed_groups)
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from None

    @property
    def changed_groups(self) -> dict[User, str]:
        changed = [form.instance for form in self.initial_forms if form.has_changed()]
        return {assessor.user: assessor.group for assessor in changed}


class AssessorInline(Undeletable, admin.TabularInline[Assessor, Track]):
    """The assessors of a track and their groups. To stop one, assign no more topics to them; their judgments stay."""

    model = Assessor
    form = AssessorForm
    formset = Assessors
    autocomplete_fields = ["user"]
    extra = 1
    verbose_name = "assessor"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Assessor]:
        return super().get_queryset(request).select_related("user")


@admin.register(Track)
class TrackAdmin(Undeletable, admin.ModelAdmin[Track]):
    """Correct a track and the groups of its assessors, open and close several. Tracks are created on the site."""

    track_way = "pk"
    form = TrackForm
    list_display = ["name", "slug", "status", "protocol", "collection"]
    list_filter = ["status"]
    search_fields = ["name", "slug"]
    autocomplete_fields = ["protocol", "collection", "topic_collection"]
    list_select_related = ["protocol", "collection"]
    inlines = [AssessorInline]
    actions = ["open_tracks", "close_tracks"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Track | None = None) -> list[str]:
        """Fields that cannot change once the track was opened, because runs are checked against them."""
        return sorted(services.fixed_fields(obj)) if obj else []

    def save_model(self, request: HttpRequest, obj: Track, form: Any, change: bool) -> None:
        services.edit(track=obj, changed=form.changed_data)

    def save_formset(
        self, request: HttpRequest, form: object, formset: BaseModelFormSet[Any, Any], change: bool
    ) -> None:
        """Save assessors through the services; after a refusal the form is shown again, and nothing is saved."""
        formset.save(commit=False)
        for assessor in formset.new_objects:
            assessor_services.add(track=assessor.track, user=assessor.user, group=assessor.group)
        assessor_services.set_groups(track=form.instance, groups=formset.changed_groups)  # type: ignore[attr-defined]

    @admin.action(description="Open for runs")
    def open_tracks(self, request: HttpRequest, queryset: QuerySet[Track]) -> HttpResponse | None:
        """Ask first, as the page of a track does, with the same lines."""
        return self._ask(request, queryset, "open_tracks", services.open_for_runs)

    @admin.action(description="Close for runs")
    def close_tracks(self, request: HttpRequest, queryset: QuerySet[Track]) -> HttpResponse | None:
        return self._ask(request, queryset, "close_tracks", services.close)

    def _ask(
        self, request: HttpRequest, tracks: QuerySet[Track], action: str, service: object
    ) -> HttpResponse | None:
        if "confirmed" in request.POST:
            self._apply(request, tracks, service)
            return None
        is_opening = action == "open_tracks"
        pages = [(track, opening_page(track).checks if is_opening else []) for track in tracks]
        context = {
            **self.admin_site.each_context(request),
            "title": f"{'Open' if is_opening else 'Close'} {counted(len(pages), 'track')} for runs",
            "opts": self.opts,
            "pages": pages,
            "action": action,
            "is_opening": is_opening,
        }
        return TemplateResponse(request, "admin/open_tracks.html", context)

    def _apply(self, request: HttpRequest, tracks: QuerySet[Track], service: Any) -> None:
        for track in tracks:
            try:
                self.message_user(request, f"{track}: {service(track=track).get_status_display()}.")
            except Refused as refusal:
                self.message_user(request, refusal.message, messages.ERROR)


@admin.register(StoredProtocol)
class StoredProtocolAdmin(ReadOnly, admin.ModelAdmin[StoredProtocol]):
    """Search and view protocols. They are never edited: a changed protocol gets a new slug."""

    list_display = ["slug", "title", "is_shipped", "created_at"]
    list_filter = ["is_shipped"]
    search_fields = ["slug", "title"]
    fields = ["slug", "title", "digest", "is_shipped", "created_by", "text"]


@admin.register(Topic)
class TopicAdmin(Undeletable, admin.ModelAdmin[Topic]):
    """The threads of topics. Their texts and labels change on the site, on the page of the topic."""

    track_way = "track"
    list_display = ["code", "shown_title", "track", "thread"]
    formfield_overrides = {TextField: {"widget": AdminTextInputWidget}}
    list_filter = ["track"]
    search_fields = ["code", "title"]
    list_select_related = ["track"]
    readonly_fields = [
        "track",
        "code",
        "shown_title",
        "shown_body",
        "shown_narrative",
        "tags",
        "shown_labels",
    ]
    fields = [*readonly_fields, "thread"]

    class Media:
        css = {"all": ["vendor/katex/katex.min.css"]}
        js = [
            forms.Script(path, defer=True)
            for path in (
                "web/page.js",
                "vendor/katex/katex.min.js",
                "vendor/katex/contrib/mhchem.min.js",
                "corpus/math.js",
            )
        ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.display(description="Title")
    def shown_title(self, topic: Topic) -> SafeString:
        return render_topic(topic, []).title

    @admin.display(description="Body")
    def shown_body(self, topic: Topic) -> SafeString:
        return render_topic(topic, []).body

    @admin.display(description="Narrative", empty_value="none")
    def shown_narrative(self, topic: Topic) -> SafeString | None:
        return render_topic(topic, []).narrative or None

    @admin.display(description="Labels")
    def shown_labels(self, topic: Topic) -> SafeString:
        words = ", ".join(f"{label}: {value}" for label, value in topic.labels.items()) or "none"
        address = reverse("tracks:edit_topic", args=[topic.track.slug, topic.code])
        return format_html('{}. <a href="{}">Change them on the site</a>', words, address)


@admin.register(TopicImport)
class TopicImportAdmin(ReadOnly, admin.ModelAdmin[TopicImport]):
    track_way = "track"
    list_display = ["name", "track", "format", "created_at"]
    list_select_related = ["track"]
