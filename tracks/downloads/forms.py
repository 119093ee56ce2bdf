"""The forms of downloads: to attach a file or a link, and to release a part."""

from typing import Any, BinaryIO, cast

from django import forms

from corpus.imports.selectors import is_folder_here, offered_path, offered_paths
from tracks.deadlines.forms import LocalTimeField, ZoneField
from tracks.downloads.services import ATTACHED, Release
from tracks.editor import MarkdownField
from tracks.models import Download
from web import times
from web.forms import StyledForm

HIDDEN, NOW, LATER = "hidden", "now", "later"
RELEASES = [(HIDDEN, "not yet"), (NOW, "now"), (LATER, "at a set time")]


class ReleaseForm(StyledForm):
    """The audience of a part, and its start. A time that is not changed stays the same instant."""

    audience = forms.ChoiceField(choices=Download.Audience.choices, label="For")
    release = forms.ChoiceField(choices=RELEASES, label="Released")
    released_at = LocalTimeField(label="Time", help_text="If it is released at a set time.")
    zone = ZoneField(label="Time zone of this time")

    def __init__(self, *args: Any, download: Download | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.download = download or Download(zone=times.AOE)
        self.before = self.download.released_at
        text = times.local_text(self.before, self.download.zone)
        self.initial = {
            "audience": self.download.audience,
            "release": LATER if self.before else HIDDEN,
            "released_at": text,
            "zone": self.download.zone if self.before else times.AOE,
            **self.initial,
        }

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("release") == LATER and "zone" in data:
            text, zone = data.get("released_at") or "", data["zone"]
            try:
                is_same = text and text == self.initial["released_at"] and zone == self.initial["zone"]
                data["moment"] = self.before if is_same else times.instant_of(text, zone)
            except times.NoSuchTime as error:
                self.add_error("released_at", str(error) if text else "Enter the time of the release.")
        elif data.get("release") == NOW:
            data["moment"] = times.now()
        return data

    @property
    def terms(self) -> Release:
        """The release that the form asks for."""
        data = self.cleaned_data
        return Release(data["audience"], data.get("moment"), data["zone"])

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `services.edit`, except the download."""
        names = {"description", "text", "shows_labels"} & self.cleaned_data.keys()
        return {name: self.cleaned_data[name] for name in names} | {"release": self.terms}


class AttachedForm(ReleaseForm):
    """Also the description of an attached file."""

    description = forms.CharField(max_length=1000, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("description", self.download.description)


class TopicsForm(ReleaseForm):
    """Also whether the labels of topics are public; for tracks whose protocol defines labels."""

    shows_labels = forms.BooleanField(
        required=False,
        label="Labels are public",
        help_text="Everyone who sees the topics sees their labels. Otherwise, only organizers and assessors do.",
    )


class InstructionsForm(ReleaseForm):
    """Also the text of the instructions."""

    text = MarkdownField(rows=16)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("text", self.download.text)


class AttachForm(AttachedForm):
    """An upload, a file of the import folder, or a link."""

    kind = forms.ChoiceField(
        choices=[(kind.value, kind.label) for kind in ATTACHED], label="Section of the page"
    )
    upload = forms.FileField(required=False, label="File")
    path = forms.ChoiceField(
        required=False,
        label="File on the server",
        help_text="A job stores it. Release it when the job is done.",
    )
    url = forms.URLField(required=False, label="Link", max_length=1000, assume_scheme="https")
    name = forms.CharField(
        required=False, max_length=200, label="File name", help_text="Empty: that of the file or of the link."
    )
    sha256 = forms.CharField(
        required=False, max_length=64, label="SHA-256 of the linked file", help_text="As sha256sum prints it."
    )
    field_order = ["kind", "upload", "path", "url", "name", "sha256", "description"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered = [(path, path) for path in offered_paths()]
        cast("forms.ChoiceField", self.fields["path"]).choices = [("", "none"), *offered]
        if not offered or not is_folder_here():
            del self.fields["path"]
        for name in {"upload", "path", "url"} & set(self.fields):
            self.fields[name].is_one_of_several = True  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        given = [name for name in ("upload", "path", "url") if data.get(name)]
        if len(given) != 1 and not self.errors:
            self.add_error("upload", "Choose a file, a file on the server, or a link, and only one of them.")
        path = offered_path(data["path"]) if data.get("path") else None
        if data.get("path") and (path is None or not path.is_file()):
            self.add_error("path", "Choose a file, not a folder.")
        if given == ["url"] and not self._name(data):
            self.add_error("name", "The link does not end in a file name; enter one.")
        return data

    def _name(self, data: dict[str, Any]) -> str:
        upload = data.get("upload")
        own = upload.name if upload else str(data.get("url") or "").partition("?")[0].rpartition("/")[2]
        return str(data.get("name") or own or "")

    @property
    def file_name(self) -> str:
        """The name under which participants get the file."""
        return self._name(self.cleaned_data)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `jobs.attach_part`, except track and user. A large upload is never completely in memory."""
        data = self.cleaned_data
        upload = data["upload"]
        return {
            "kind": data["kind"],
            "description": data["description"],
            "name": self.file_name,
            "release": self.terms,
            "path": data.get("path", ""),
            "url": data["url"],
            "sha256": data["sha256"],
            "file": cast("BinaryIO", upload.file) if upload else None,
        }


def form_of(download: Download) -> type[ReleaseForm]:
    if download.kind == Download.Kind.INSTRUCTIONS:
        return InstructionsForm
    if download.kind == Download.Kind.TOPICS and download.track.protocol.parsed.topics.labels:
        return TopicsForm
    return ReleaseForm if download.kind in {"topics", "sample-run"} else AttachedForm
