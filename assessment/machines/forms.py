"""The forms that add a machine and let it judge."""

from typing import Any, cast

from django import forms

from accounts.forms import DAYS, TokenForm
from accounts.models import IS_PERSON, User
from pooling.models import Pool
from tracks.models import Machine
from web.forms import StyledForm


class MachineForm(StyledForm, forms.ModelForm[Machine]):
    """A new machine of a track."""

    class Meta:
        model = Machine
        fields = ["name", "version", "description", "owner"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        owner = cast("forms.ModelChoiceField[User]", self.fields["owner"])
        owner.queryset = User.objects.filter(is_active=True, **IS_PERSON).order_by("username")
        owner.empty_label = None


class StartMachineForm(StyledForm):
    """The pool that a machine judges next."""

    pool = forms.ModelChoiceField(queryset=Pool.objects.none(), empty_label=None)

    def __init__(self, *args: Any, pools: list[Pool], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        pool = cast("forms.ModelChoiceField[Pool]", self.fields["pool"])
        pool.queryset = Pool.objects.filter(pk__in=[each.pk for each in pools])


class MachineTokenForm(TokenForm):
    """A token with which a machine judges, and nothing else."""

    scopes = track = None  # type: ignore[assignment]  # takes the fields of the base away
    name = forms.CharField(
        max_length=100, initial="judging", help_text="What will use it, such as “GPU server”."
    )
    days = forms.TypedChoiceField(choices=DAYS, coerce=int, initial=30, label="It expires after")
