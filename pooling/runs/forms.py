"""The forms of the pooling room: a run, a pool, and those of the admin."""

from collections.abc import Mapping
from typing import Any, BinaryIO, cast
from urllib.parse import urlencode

from django import forms
from django.core.files.uploadedfile import UploadedFile

from corpus.errors import Refused
from corpus.forms import bootstrapped
from corpus.models import Track, User
from pooling import selectors, services
from pooling.errors import RunRefused
from pooling.models import Pool, Run, Team
from pooling.order import MAX_SEED
from pooling.pool_services import new_seed
from pooling.preview import FARTHEST
from pooling.services import Declaration

POOLED_AS = [("", "as the protocol says"), ("primary", "as primary"), ("alternate", "as alternate")]


class RunForm(forms.Form):
    """A run as a team hands it in. `Check only` and `Submit` send the same form."""

    team = forms.ModelChoiceField(queryset=Team.objects.none(), empty_label=None)
    file = forms.FileField(help_text="Plain text, or packed with gz, xz or zip (one file in it).")
    seconds = forms.FileField(
        required=False,
        label="Seconds",
        help_text="Of each topic: a file with a topic and its seconds a line.",
    )
    tag = forms.CharField(
        max_length=100, required=False, help_text="The run's name, one word. Empty: the tag in the file."
    )
    kind = forms.ChoiceField()
    pooled_as = forms.ChoiceField(
        choices=POOLED_AS, required=False, label="Pooled", help_text="Baselines only."
    )
    made = forms.ChoiceField(
        choices=[("automatic", "automatically"), ("manual", "with manual steps")],
        help_text="Manual: a person had a part in queries, results or their order after seeing the topics.",
    )
    uses = forms.ChoiceField(choices=Run.Uses.choices, initial=Run.Uses.BOTH)
    description = forms.CharField(
        max_length=10_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="How the run was made.",
    )

    def __init__(self, *args: Any, track: Track, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        teams = selectors.teams_of(user, track)
        cast(forms.ModelChoiceField[Team], self.fields["team"]).queryset = teams
        labels = dict(Run.Kind.choices)
        kinds = [kind for kind in track.protocol.parsed.runs.kinds if user.is_organizer or kind != "baseline"]
        cast(forms.ChoiceField, self.fields["kind"]).choices = [(kind, labels[kind]) for kind in kinds]
        if not user.is_organizer:
            del self.fields["pooled_as"]
        if track.protocol.parsed.runs.max_seconds_per_topic is None:
            del self.fields["seconds"]
        bootstrapped(self)

    @property
    def declared(self) -> Declaration:
        """What was said of the run."""
        data = self.cleaned_data
        return Declaration(
            kind=data["kind"],
            tag=data["tag"].strip(),
            pooled_as=data.get("pooled_as", ""),
            is_manual=data["made"] == "manual",
            uses=data["uses"],
            description=data["description"],
            seconds=bytes_of(data["seconds"]) if data.get("seconds") else None,
        )


def bytes_of(upload: "UploadedFile[Any]") -> BinaryIO:
    """The file under an upload: a temporary file if it is large, so that it is never held in memory whole."""
    return cast(BinaryIO, upload.file)


class PoolForm(forms.Form):
    """A pool to be built: its name, seed, order of judging, and the depth for each kind of run that is pooled."""

    name = forms.CharField(max_length=100)
    seed = forms.IntegerField(
        min_value=0,
        max_value=MAX_SEED,
        help_text="Decides whatever is drawn by lot. It is recorded; the same seed gives the same pool.",
    )
    order = forms.ChoiceField(
        choices=Pool.Order.choices, label="Order of judging", help_text="Recorded with every judgment."
    )
    tops_up = forms.ModelChoiceField(
        queryset=Pool.objects.none(),
        required=False,
        label="Tops up",
        empty_label="nothing: a pool of its own",
        help_text="The new pool holds only what that one does not; what was judged stays judged.",
    )

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rules = track.protocol.parsed.pool
        self.kinds = list(rules.depth)
        if not self.is_bound:
            fresh = {"seed": new_seed(), "name": f"Pool {track.pools.count() + 1}", "order": rules.order}
            self.initial = {**fresh, **self.initial}
        cast(forms.ModelChoiceField[Pool], self.fields["tops_up"]).queryset = selectors.to_top_up(track)
        for kind, depth in rules.depth.items():
            said = "The protocol leaves it open" if rules.depth_is_default else "The protocol says"
            self.fields[f"depth_{kind}"] = forms.IntegerField(
                label=f"Depth for {kind} runs",
                min_value=0,
                max_value=track.protocol.parsed.runs.max_ranks,
                initial=depth,
                help_text=f"{said}{'; usual is' if rules.depth_is_default else ''} {depth}. 0: not pooled.",
            )
        bootstrapped(self)

    @property
    def depth(self) -> dict[str, int]:
        """Depths by kind of run."""
        return {kind: self.cleaned_data[f"depth_{kind}"] for kind in self.kinds}

    @property
    def asked(self) -> dict[str, Any]:
        """The arguments of the service, track and person apart."""
        data = self.cleaned_data
        return {name: data[name] for name in ("name", "seed", "order", "tops_up")} | {"depth": self.depth}


class PreviewForm(forms.Form):
    """What a pool is to cost: the time of a judgment, the hours that there are, and the depth to look at."""

    rate = forms.FloatField(
        label="Seconds a judgment",
        min_value=0.1,
        max_value=86_400,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    budget = forms.FloatField(
        label="Hours of judging that there are",
        required=False,
        min_value=0,
        max_value=1e7,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    depth = forms.IntegerField(label="Depth to look at", required=False, min_value=1, max_value=FARTHEST)
    tops_up = forms.ModelChoiceField(
        queryset=Pool.objects.none(),
        required=False,
        label="Tops up",
        empty_label="nothing: a pool of its own",
    )

    def __init__(self, data: Mapping[str, Any], *, track: Track, seconds: float) -> None:
        super().__init__({"rate": seconds} | {name: data[name] for name in data})
        cast(forms.ModelChoiceField[Pool], self.fields["tops_up"]).queryset = selectors.to_top_up(track)
        if not selectors.to_top_up(track).exists():
            del self.fields["tops_up"]
        bootstrapped(self)

    @property
    def address(self) -> str:
        """What was asked as part of an address, the depth apart."""
        return urlencode(
            {name: self.data[name] for name in self.fields if name != "depth" and self.data.get(name)}
        )

    @property
    def asked(self) -> dict[str, Any]:
        """The arguments of the preview."""
        data = self.cleaned_data
        return {
            "seconds": data["rate"],
            "hours": data["budget"],
            "depth": data["depth"],
            "tops_up": data.get("tops_up"),
        }


class TeamForm(forms.ModelForm[Team]):
    """A team in the admin: refuses what the service would refuse."""

    class Meta:
        model = Team
        fields = ["track", "name", "members"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        track = self.instance.track if self.instance.pk else data.get("track")
        if track is None or self.errors:
            return data
        try:
            services.check_team_name(
                track=track, name=data["name"], team=self.instance if self.instance.pk else None
            )
            services.check_members(track=track, members=list(data["members"]))
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from refusal
        return data


class AdminRunForm(forms.ModelForm[Run]):
    """A run that an organizer hands in for a team: the same checks, the report as the form's errors."""

    file = forms.FileField(help_text="Plain text, or packed with gz, xz or zip (one file in it).")

    class Meta:
        model = Run
        fields = ["team", "kind", "tag", "pooled_as", "is_manual", "uses", "description"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["tag"].required = False
        self.fields["tag"].help_text = "Empty: the tag in the file."

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
                [f"{one} Accepted: {one.accepted}" for one in report.errors]
            ) from refusal
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from refusal
        return data

    def validate_unique(self) -> None:
        """The service has said so already, in a sentence."""

    def validate_constraints(self) -> None:
        """Likewise: most of the row is made by the service."""
