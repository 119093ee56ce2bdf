"""The forms that submit a run: of teams, and of the admin."""

import re
from typing import Any, BinaryIO, cast

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest

from accounts.models import User
from assay.errors import Refused
from assay.protocols.schema import RunRules
from pooling.models import Run, Team
from pooling.runs import services
from pooling.runs.errors import RunRefused
from pooling.runs.services import Declaration
from pooling.teams import selectors as team_selectors
from tracks.models import Track
from web.forms import style_fields

MAX_RUNS = 20  # in one submission
TEMPLATE_ROW = "ROW"  # the number of the row that a script copies
ROW = re.compile(r"[1-9]\d?")


class RunForm(forms.Form):
    """A run to submit. Several are rows of one submission; only the first row has the team."""

    team = forms.ModelChoiceField(queryset=Team.objects.none(), empty_label=None)
    file = forms.FileField(help_text="Plain text, or compressed with gz, xz or zip (of one file).")
    seconds = forms.FileField(
        required=False,
        label="Seconds",
        help_text="A file with one line for each topic: the topic and its seconds.",
    )
    tag = forms.CharField(
        max_length=100, required=False, help_text="The run's name, one word. Empty: the tag in the file."
    )
    kind = forms.ChoiceField()
    pooled_as = forms.ChoiceField(required=False, label="Pooled")
    made = forms.ChoiceField(
        choices=[("automatic", "automatically"), ("manual", "with manual steps")],
        help_text="Manual: a person changed queries, results or their order after seeing the topics.",
    )
    uses = forms.ChoiceField()
    description = forms.CharField(
        max_length=10_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="How the run was made.",
    )

    def __init__(self, *args: Any, track: Track, user: User, row: str = "1", **kwargs: Any) -> None:
        kwargs["prefix"] = None if row == "1" else row
        super().__init__(*args, **kwargs)
        self.row = row
        if row == "1":
            teams = team_selectors.teams_of(user, track)
            cast(forms.ModelChoiceField[Team], self.fields["team"]).queryset = teams
        else:
            del self.fields["team"]
        self._of_protocol(track.protocol.parsed.runs, is_organizer=user.is_organizer)
        style_fields(self)

    def _of_protocol(self, rules: RunRules, *, is_organizer: bool) -> None:
        """Offer the kinds of run of the protocol, and leave out the fields that do not apply."""
        kinds = [kind for kind in rules.kinds if is_organizer or kind.submitted_by == "teams"]
        cast(forms.ChoiceField, self.fields["kind"]).choices = [(kind.key, kind.name) for kind in kinds]
        dependent = [kind.name for kind in kinds if kind.pooled_as]
        if is_organizer and dependent:
            usual = ("", "as the protocol states")
            others = [(key, f"as {rules.name_of(key)}") for key in rules.depths]
            cast(forms.ChoiceField, self.fields["pooled_as"]).choices = [usual, *others]
            self.fields["pooled_as"].help_text = f"For {', '.join(dependent)} runs only."
        else:
            del self.fields["pooled_as"]
        if not rules.names_runs:
            self.fields["tag"].help_text = "The run's name, one word. Empty: its team and kind."
        if rules.uses:
            cast(forms.ChoiceField, self.fields["uses"]).choices = list(rules.uses.items())
            self.fields["uses"].initial = rules.usual_use
        else:
            del self.fields["uses"]
        if rules.max_seconds_per_topic is None:
            del self.fields["seconds"]

    @property
    def has_file(self) -> bool:
        return self.add_prefix("file") in self.files

    @property
    def declared(self) -> Declaration:
        """What the team declares about the run."""
        data = self.cleaned_data
        return Declaration(
            kind=data["kind"],
            tag=data["tag"].strip(),
            pooled_as=data.get("pooled_as", ""),
            is_manual=data["made"] == "manual",
            uses=data.get("uses", ""),
            description=data["description"],
            seconds=bytes_of(data["seconds"]) if data.get("seconds") else None,
        )


def run_forms(request: HttpRequest, track: Track, user: User) -> list[RunForm]:
    """The rows of a submission. A page that is opened has one, or as many as its address says in `rows`."""
    options: dict[str, Any] = {"track": track, "user": user}
    if request.method == "POST":
        sent = [row for row in request.POST.getlist("row") if ROW.fullmatch(row) and row != "1"]
        rows = ["1", *list(dict.fromkeys(sent))[: MAX_RUNS - 1]]
        return [RunForm(request.POST, request.FILES, row=row, **options) for row in rows]
    wanted = request.GET.get("rows", "")
    n_rows = min(int(wanted), MAX_RUNS) if ROW.fullmatch(wanted) else 1
    initial = {"team": request.GET.get("team")}
    return [RunForm(row=str(n), initial=initial, **options) for n in range(1, n_rows + 1)]


def bytes_of(upload: "UploadedFile[Any]") -> BinaryIO:
    """The file of an upload. A large one is a temporary file, so that it is never completely in memory."""
    return cast(BinaryIO, upload.file)


class AdminRunForm(forms.ModelForm[Run]):
    """Submits a run for a team in the admin. The errors of its report become errors of the form."""

    file = forms.FileField(help_text="Plain text, or compressed with gz, xz or zip (of one file).")

    class Meta:
        model = Run
        fields = ["team", "kind", "tag", "pooled_as", "is_manual", "uses", "description"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["tag"].required = False
        self.fields["tag"].help_text = "Empty: the tag in the file."
        self.fields["pooled_as"].required = False

    submitter: User

    @property
    def submission(self) -> dict[str, Any]:
        """The arguments of the services that check and submit."""
        data = self.cleaned_data
        declared = Declaration(
            kind=data["kind"],
            tag=(data["tag"] or "").strip(),
            pooled_as=data["pooled_as"] or "",
            is_manual=data["is_manual"],
            uses=data["uses"],
            description=data["description"],
        )
        return {
            "track": data["team"].track,
            "team": data["team"],
            "by": self.submitter,
            "file": bytes_of(data["file"]),
            "file_name": data["file"].name or "run",
            "declared": declared,
        }

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if self.errors:
            return data
        try:
            services.check_submission(**self.submission)
        except RunRefused as refusal:
            report = refusal.checked.report
            raise forms.ValidationError(
                [f"{error} Accepted: {error.accepted}" for error in report.errors]
            ) from refusal
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from refusal
        return data

    def validate_unique(self) -> None:
        """Skipped: `clean` has asked the service."""

    def validate_constraints(self) -> None:
        """Skipped: the service fills most of the row."""
