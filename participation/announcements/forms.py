"""The form of an announcement."""

from django import forms

from participation.models import Announcement
from tracks.guidelines.forms import MarkdownForm


class AnnouncementForm(MarkdownForm):
    """A text for chosen groups."""

    title = forms.CharField(max_length=200)
    audiences = forms.MultipleChoiceField(
        choices=Announcement.Audience.choices,
        widget=forms.CheckboxSelectMultiple,
        label="For",
        help_text="They see it on the page of the track. Organizers and chairs see all of them.",
    )
    is_mailed = forms.BooleanField(
        required=False,
        label="Send it by e-mail",
        help_text="Once to each of these people, unless they switched it off or have no address.",
    )
