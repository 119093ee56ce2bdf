"""The organizers' workshop for people, protocols, tracks and topics. It calls the services; nothing here is deleted
that a judgment, a run or a pool may rest on."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.forms import BaseModelFormSet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from corpus import services
from corpus.errors import Refused
from corpus.models import Assessor, Collection, Import, Job, StoredProtocol, Topic, Track, User
from corpus.topic_services import checked_labels
from protocols.loader import ProtocolError, parse_protocol

admin.site.site_header = "Assay: the organizers' workshop"
admin.site.site_title = "Assay"
admin.site.index_title = "People, tracks, runs, batches"
admin.site.unregister(Group)  # what a person may do follows from their part in a track

MAX_DIGITS = 19  # an id of as many fits into no column


class Selecting:
    """Mixed into an admin whose list has actions: what was selected must be ids, not just anything."""

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *where: Any
    ) -> HttpResponse | None:
        selected = request.POST.getlist(ACTION_CHECKBOX_NAME)
        if all(len(pk) < MAX_DIGITS and pk.isascii() and pk.isdigit() for pk in selected):
            answer: HttpResponse | None = super().response_action(request, queryset, *where)  # type: ignore[misc]
            return answer
        messages.error(request, "What was selected is not in this list. Nothing was done.")
        return HttpResponseRedirect(request.get_full_path())


class Kept(Selecting):
    """Mixed into an admin whose rows are never deleted."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnly(Kept):
    """Mixed into an admin whose rows are made and changed elsewhere."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(User)
class PersonAdmin(Kept, UserAdmin[User]):
    """People are switched off, never deleted: their judgments and runs stay theirs."""

    list_display = ["username", "first_name", "last_name", "email", "is_staff", "is_active", "last_login"]
    list_filter = ["is_staff", "is_active"]
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Person", {"fields": ("first_name", "last_name", "email", "uses_shortcuts")}),
        (
            "Part",
            {"fields": ("is_active", "is_staff"), "description": "Staff are organizers of every track."},
        ),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    readonly_fields = ("last_login", "date_joined")

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """An organizer may not change a superuser, nor so become one."""
        is_above = obj is not None and obj.is_superuser and not getattr(request.user, "is_superuser", False)
        return not is_above and super().has_change_permission(request, obj)


class ProtocolForm(forms.ModelForm[StoredProtocol]):
    """Takes a protocol's TOML, checked by the loader that reads the shipped ones."""

    text = forms.CharField(
        label="TOML",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 40, "cols": 110, "spellcheck": "false"}),
        help_text="Paste the TOML of a protocol. Start from one that comes with Assay; its slug must be new.",
    )

    class Meta:
        model = StoredProtocol
        fields = ["text"]

    def clean_text(self) -> str:
        """The text, if the loader takes it and its slug is free."""
        text: str = self.cleaned_data["text"].replace("\r\n", "\n")
        try:
            protocol = parse_protocol(text, name="protocol")
        except ProtocolError as error:
            raise forms.ValidationError(str(error)) from error
        if StoredProtocol.objects.filter(slug=protocol.slug).exists():
            raise forms.ValidationError(f"slug: there is a protocol {protocol.slug}; a change is a new slug.")
        return text


@admin.register(StoredProtocol)
class StoredProtocolAdmin(Kept, admin.ModelAdmin[StoredProtocol]):
    """Paste a protocol, look at those there are. None is ever edited: a change is a new slug."""

    form = ProtocolForm
    list_display = ["slug", "title", "is_shipped", "created_at"]
    search_fields = ["slug", "title"]

    def has_change_permission(self, request: HttpRequest, obj: StoredProtocol | None = None) -> bool:
        return False

    def get_fields(self, request: HttpRequest, obj: StoredProtocol | None = None) -> Any:
        return ["text"] if obj is None else ["slug", "title", "digest", "is_shipped", "created_by", "text"]

    def save_model(self, request: HttpRequest, obj: StoredProtocol, form: Any, change: bool) -> None:
        """Store through the service, and let the admin go on with the row that it made."""
        by = request.user if isinstance(request.user, User) else None
        stored = services.store_protocol(text=form.cleaned_data["text"], by=by)
        obj.pk, obj.slug, obj.title = stored.pk, stored.slug, stored.title


@admin.register(Collection)
class CollectionAdmin(Kept, admin.ModelAdmin[Collection]):
    list_display = ["name", "slug", "status", "created_at"]
    search_fields = ["name", "slug"]
    prepopulated_fields = {"slug": ["name"]}
    readonly_fields = ["status", "counts"]


class AssessorForm(forms.ModelForm[Assessor]):
    """Refuses whom the service would refuse."""

    class Meta:
        model = Assessor
        fields = ["user", "group"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        track, user = self.instance.track if self.instance.track_id else None, data.get("user")
        if track is not None and user is not None:
            try:
                services.check_assessor(track=track, user=user)
                services.check_group(track=track, group=data.get("group", ""))
            except Refused as refusal:
                raise forms.ValidationError(refusal.message) from refusal
        return data


class AssessorInline(Kept, admin.TabularInline[Assessor, Track]):
    """Who judges. Nobody is taken away: give no more topics to whom you no longer want."""

    model = Assessor
    form = AssessorForm
    autocomplete_fields = ["user"]
    extra = 1
    verbose_name = "assessor"

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class TrackForm(forms.ModelForm[Track]):
    """Keeps what must not change once a track has been opened."""

    class Meta:
        model = Track
        fields = ["name", "slug", "description", "protocol", "collection", "topic_collection", "closes_at"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        searched = data.get("collection", self.instance.collection)  # not in the form once the track is open
        own = data.get("topic_collection")
        if searched is not None and searched == own:
            self.add_error(
                "topic_collection",
                "The topics' own threads must be a collection apart: participants see the searched one.",
            )
        return data


@admin.register(Track)
class TrackAdmin(Kept, admin.ModelAdmin[Track]):
    """Make a track, name its assessors, open and close it."""

    form = TrackForm
    list_display = ["name", "slug", "status", "protocol", "collection", "closes_at"]
    list_filter = ["status"]
    search_fields = ["name", "slug"]
    prepopulated_fields = {"slug": ["name"]}
    autocomplete_fields = ["protocol", "collection", "topic_collection"]
    list_select_related = ["protocol", "collection"]
    inlines = [AssessorInline]
    actions = ["open_tracks", "close_tracks"]

    def get_prepopulated_fields(self, request: HttpRequest, obj: Track | None = None) -> Any:
        return {} if obj is not None and obj.status != Track.Status.DRAFT else self.prepopulated_fields

    def get_readonly_fields(self, request: HttpRequest, obj: Track | None = None) -> list[str]:
        """Runs are checked against slug, protocol and collection: they stand once the track has been opened."""
        if obj is None or obj.status == Track.Status.DRAFT:
            return []
        return sorted(services.SETTLED)

    def save_model(self, request: HttpRequest, obj: Track, form: Any, change: bool) -> None:
        """What was changed, through the service; a new track as it is."""
        if change:
            services.edit_track(track=obj, changed=form.changed_data)
        else:
            super().save_model(request, obj, form, change)

    def save_formset(
        self, request: HttpRequest, form: Any, formset: BaseModelFormSet[Any, Any], change: bool
    ) -> None:
        """Each new assessor through the service, which looks under the track's lock whether they are in a team."""
        formset.save(commit=False)
        for assessor in formset.new_objects:
            try:
                services.add_assessor(track=assessor.track, user=assessor.user)
            except Refused as refusal:
                self.message_user(request, refusal.message, messages.ERROR)

    @admin.action(description="Open for runs")
    def open_tracks(self, request: HttpRequest, queryset: QuerySet[Track]) -> None:
        self._each(request, queryset, services.open_track)

    @admin.action(description="Close for runs")
    def close_tracks(self, request: HttpRequest, queryset: QuerySet[Track]) -> None:
        self._each(request, queryset, services.close_track)

    def _each(self, request: HttpRequest, tracks: QuerySet[Track], service: Any) -> None:
        for track in tracks:
            try:
                self.message_user(request, f"{track}: {service(track=track).get_status_display()}.")
            except Refused as refusal:
                self.message_user(request, refusal.message, messages.ERROR)


class TopicForm(forms.ModelForm[Topic]):
    """Takes the labels that the track's protocol has."""

    labels = forms.JSONField(
        required=False, help_text='Such as {"category": "proof"}, as the protocol allows.'
    )

    class Meta:
        model = Topic
        fields = ["labels", "thread"]

    def clean_labels(self) -> dict[str, str]:
        try:
            return checked_labels(topic=self.instance, labels=self.cleaned_data["labels"] or {})
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from refusal


@admin.register(Topic)
class TopicAdmin(Kept, admin.ModelAdmin[Topic]):
    """Labels and threads of topics; the topics themselves come from the track's topic file."""

    form = TopicForm
    list_display = ["code", "track", "thread"]
    list_filter = ["track"]
    search_fields = ["code", "title"]
    list_select_related = ["track"]
    readonly_fields = ["track", "code", "title", "body", "narrative", "tags"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(Import)
class ImportAdmin(ReadOnly, admin.ModelAdmin[Import]):
    list_display = ["name", "collection", "track", "format", "created_at"]
    list_select_related = ["collection", "track"]


@admin.register(Job)
class JobAdmin(ReadOnly, admin.ModelAdmin[Job]):
    list_display = ["title", "state", "attempt", "created_at", "finished_at"]
    list_filter = ["state", "kind"]
