"""The form that clones a track."""

from django import forms

from tracks.models import Track
from web.forms import StyledForm


class CloneForm(StyledForm):
    """The names of the new track, and who comes along."""

    name = forms.CharField(max_length=200)
    slug = forms.SlugField(
        max_length=100, label="Short name", help_text="For the address of the track, such as arqmath-2021."
    )
    assessors = forms.BooleanField(required=False, label="With its assessors and their groups")
    teams = forms.BooleanField(required=False, label="With its teams and their members")

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if slug == "new" or Track.objects.filter(slug=slug).exists():
            raise forms.ValidationError(f"The short name {slug} is in use; choose another one.")
        return slug
