"""The forms of a track: to edit it, on the site and in the admin, and to clone it."""

from typing import Any, ClassVar, cast

from django import forms
from django.urls import reverse
from django.utils.html import format_html

from accounts.models import User
from corpus.collections.selectors import collections_for
from corpus.models import Collection
from tracks.models import Track
from tracks.tracks.services import fixed_fields
from web.forms import ShortNameField, StyledForm


class TrackForm(StyledForm, forms.ModelForm[Track]):
    """The fields that organizers set. A field that is fixed once the track was opened is not part of the form then."""

    class Meta:
        model = Track
        fields = ["name", "slug", "description", "protocol", "collection", "topic_collection"]
        field_classes: ClassVar = {"slug": ShortNameField}
        labels = {"slug": "Short name", "topic_collection": "Source of the topics"}
        help_texts = {"slug": "For the address of the track, such as arqmath-2020. Empty: from the name."}
        widgets = {"description": forms.Textarea(attrs={"rows": 4})}

    def __init__(self, *args: Any, user: User | None = None, **kwargs: Any) -> None:
        """The fields offer the collections that a user may read; without a user all, as in the admin and commands."""
        super().__init__(*args, **kwargs)
        if user is not None:
            for name in ("collection", "topic_collection"):
                cast("forms.ModelChoiceField[Collection]", self.fields[name]).queryset = collections_for(user)
            if user.may_create and "collection" in self.fields:
                self.fields["collection"].help_text += format_html(
                    ' Is it missing? <a href="{}">Import it</a> first.', reverse("corpus:start_import")
                )
        if self.instance.pk:
            for name in fixed_fields(self.instance) & set(self.fields):
                del self.fields[name]

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if slug == "new":
            raise forms.ValidationError("The short name “new” is the address of a page; choose another one.")
        return slug

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        searched = data.get("collection", self.instance.collection)  # no field once the track was opened
        if searched is not None and searched == data.get("topic_collection"):
            self.add_error(
                "topic_collection",
                "Choose another collection than the one that runs search: participants can read that one.",
            )
        return data


class CloneForm(StyledForm):
    """The names of the new track, and who comes along."""

    name = forms.CharField(max_length=200)
    slug = ShortNameField(
        max_length=100,
        label="Short name",
        help_text="For the address of the track, such as arqmath-2021. Empty: from the name.",
    )
    assessors = forms.BooleanField(required=False, label="With its assessors and their groups")
    teams = forms.BooleanField(required=False, label="With its teams and their members")

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if slug == "new" or Track.objects.filter(slug=slug).exists():
            raise forms.ValidationError(f"The short name {slug} is in use; choose another one.")
        return slug
