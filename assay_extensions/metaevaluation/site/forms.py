"""The forms of judges: what a track accepts, a submission, a new board, and a release."""

from typing import Any, cast

from django import forms

from accounts.models import User
from assay.formats.text import lines_of
from assay.measures.boards import WORDS
from assay_extensions.metaevaluation.judgments import SCORED
from assay_extensions.metaevaluation.site import selectors
from assay_extensions.metaevaluation.site.models import JudgeCall
from participation.models import Team
from participation.teams.selectors import teams_of
from scoring.models import Leaderboard
from tracks.deadlines.forms import LocalTimeField, ZoneField
from tracks.models import Track
from web import times
from web.forms import StyledForm

MISSING = {
    "refuse": "Leave the judge out",
    "common": "Compare only the runs that it has",
    "zero": "Give these runs 0",
}


class TopicsField(forms.CharField):
    """Codes of topics, separated by spaces or lines."""

    widget = forms.Textarea(attrs={"rows": 3})

    def clean(self, value: object) -> Any:
        text = super().clean(value)
        return list(dict.fromkeys(word for line in lines_of(text) for word in line.split()))


class CallForm(StyledForm):
    """The deadline for judges, and how many are accepted."""

    closes = LocalTimeField(label="Accept judges until")
    zone = ZoneField(label="Time zone", initial=times.AOE)
    max_per_team = forms.IntegerField(
        label="Judges per team",
        min_value=1,
        max_value=1000,
        initial=5,
        help_text="Withdrawn ones do not count.",
    )
    topics = TopicsField(
        required=False,
        max_length=100_000,
        help_text="Codes of the topics that judges judge, separated by spaces or lines: all of them and no others. "
        "Empty: all topics of the track.",
    )

    def __init__(self, *args: Any, call: JudgeCall | None, **kwargs: Any) -> None:
        self.call = call
        if call is not None:
            kwargs["initial"] = {
                "closes": times.local_text(call.closes_at, call.zone),
                "zone": call.zone,
                "max_per_team": call.max_per_team,
                "topics": "\n".join(call.topics),
            }
        super().__init__(*args, **kwargs)
        self.fields["closes"].required = True

    def clean(self) -> dict[str, Any]:
        """Read the time; the stored instant stays while neither its text nor the zone is changed."""
        data = super().clean() or {}
        if self.call is not None and not {"closes", "zone"} & {*self.changed_data}:
            return data | {"closes_at": self.call.closes_at}
        if {"closes", "zone"} <= {*data}:
            try:
                data["closes_at"] = times.instant_of(data["closes"], data["zone"])
            except times.NoSuchTime as error:
                self.add_error("closes", str(error))
        return data


class JudgeForm(StyledForm):
    """The judgments of a program."""

    team = forms.ModelChoiceField(queryset=Team.objects.none(), empty_label=None)
    tag = forms.CharField(
        label="Name of the judge",
        max_length=100,
        help_text="One word. A judge of your team with this name is replaced.",
    )
    file = forms.FileField(
        help_text="Qrels, lists of nuggets, a table of scores, or a ZIP file of the folder that a program of AutoJudge "
        "writes. At most 64 MB."
    )
    kind = forms.ChoiceField(
        required=False,
        label="The file contains",
        choices=[("", "what its name says"), *((kind, words) for kind, words in SCORED.items())],
        help_text="By their names, *.qrels and *.qrels.txt are qrels, *.nuggets.jsonl lists of nuggets, and *.eval.txt "
        "tables of scores.",
    )
    form = forms.ChoiceField(
        required=False,
        label="Form of a table of scores",
        choices=[("", "detected"), *((name, f"{name}: {words}") for name, words in WORDS.items())],
        help_text="Choose it if the order of the columns is not clear.",
    )
    description = forms.CharField(
        required=False,
        max_length=10_000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Models, prompts, and whatever else a reader needs.",
    )

    def __init__(self, *args: Any, track: Track, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        teams = teams_of(user, track)
        team = cast("forms.ModelChoiceField[Team]", self.fields["team"])
        team.queryset = teams
        if len(teams) == 1:
            team.widget = forms.HiddenInput()
            self.initial["team"] = teams[0]


class BoardForm(StyledForm):
    """The leaderboard of people that judges are compared with."""

    leaderboard = forms.ModelChoiceField(
        queryset=Leaderboard.objects.none(),
        empty_label=None,
        label="Leaderboard of people",
        help_text="Its runs are ordered by each judge, and its qrels are compared with those of judges.",
    )
    measure = forms.ChoiceField(help_text="Of the leaderboard.")
    topics = TopicsField(
        required=False,
        max_length=100_000,
        help_text="Codes of the topics that count, such as held-out topics, separated by spaces or lines. Empty: all.",
    )
    missing = forms.ChoiceField(label="If a judge lacks runs", choices=[*MISSING.items()])

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        boards = selectors.truths(track)
        cast("forms.ModelChoiceField[Leaderboard]", self.fields["leaderboard"]).queryset = boards
        measures = dict.fromkeys(measure for board in boards for measure in board.measures)
        cast("forms.ChoiceField", self.fields["measure"]).choices = [(name, name) for name in measures]


class ReleaseForm(StyledForm):
    """The people who may see a board, and the reason to release it although checks fail."""

    level = forms.ChoiceField(choices=Leaderboard.Release, widget=forms.HiddenInput)
    reason = forms.CharField(
        required=False,
        max_length=500,
        label="Reason to release it anyway",
        help_text="The audit log keeps it.",
    )
    reason.is_one_of_several = True  # type: ignore[attr-defined]  # not marked as optional
