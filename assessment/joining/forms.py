"""The forms of a link to a batch: to make one, to start with one, and to exclude somebody's work."""

from django import forms
from django.utils.translation import gettext_lazy

from participation.invitations.services import MAX_DAYS, MAX_NAME, MAX_USES, Terms
from web.forms import StyledForm

READABLE = "Everyone who has the link can read the units of this batch. I may show them to these people."
READABLE_HELP = "Look at the terms of the collection or the table first."


class LinkForm(StyledForm):
    """A new link. Without a number or a day, it is for as many people and as long as a link can be."""

    max_uses = forms.IntegerField(
        min_value=1,
        max_value=MAX_USES,
        required=False,
        label="Number of people",
        help_text=f"At most {MAX_USES}; empty: {MAX_USES}.",
    )
    days = forms.IntegerField(
        min_value=1,
        max_value=MAX_DAYS,
        required=False,
        label="Valid for days",
        help_text=f"After that, nobody can start or go on. At most {MAX_DAYS}; empty: {MAX_DAYS}.",
    )
    asks_name = forms.BooleanField(
        required=False,
        label="Ask for a name or a code",
        help_text="Organizers see it; exports do not have it.",
    )
    is_readable = forms.BooleanField(label=READABLE, help_text=READABLE_HELP)

    @property
    def terms(self) -> Terms:
        data = self.cleaned_data
        return Terms(max_uses=data["max_uses"] or MAX_USES, days=data["days"] or MAX_DAYS)


class StartForm(StyledForm):
    """The entries of somebody who starts with a link: a name, if the link asks for one."""

    name = forms.CharField(
        max_length=MAX_NAME,
        label=gettext_lazy("Name or code"),
        help_text=gettext_lazy("The organizer sees it. Do not give an e-mail address."),
    )


class ExcludeForm(StyledForm):
    """The reason why nothing counts that somebody judged."""

    reason = forms.CharField(max_length=500, label="Reason")
