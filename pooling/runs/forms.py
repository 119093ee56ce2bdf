"""The forms of runs: submission, and changes of a submitted run."""

import json
import re
from collections.abc import Mapping
from itertools import product
from typing import Any, cast

from django import forms
from django.http import HttpRequest

from accounts.models import User
from assay.formats.declaration import STATEMENTS, Declaration, Statement
from assay.protocols.questions import MAX_CHARACTERS
from assay.protocols.schema import RunQuestion, RunRules
from participation.models import Team
from participation.teams import selectors as team_selectors
from pooling.models import Run
from pooling.runs.selectors import submitted_runs
from tracks.models import Track
from web.forms import StyledForm, bytes_of

MAX_RUNS = 20  # in one submission
TEMPLATE_ROW = "ROW"  # the number of the row that a script copies
ROW = re.compile(r"[1-9]\d?")
SAME_ANSWERS = "same_answers"  # the rows after the first one have its answers
ANSWER = "answer-"  # begins the name of a field for a question about runs
LONG = 1000  # characters; a longer text gets an area of several lines


class MetadataField(forms.FileField):
    """A file of ir_metadata, of which `counts` says what the site reads."""

    def __init__(self, counts: str) -> None:
        about = f"A YAML file that says how the run was made. {counts} The rest is kept with the run."
        super().__init__(required=False, label="ir_metadata", help_text=about)


class RunForm(StyledForm):
    """A run to submit. Several are rows of one submission; who has one team names it in the first row only.

    What the submitter states about a run is asked in the words of the track's protocol.
    """

    team = forms.ModelChoiceField(queryset=Team.objects.none(), empty_label=None)
    file = forms.FileField(help_text="As it is, or compressed with gz, xz, bz2 or zip (of one file).")
    seconds = forms.FileField(
        required=False,
        label="Seconds",
        help_text="A file with one line for each topic: the topic and its seconds.",
    )

    metadata = MetadataField("Its models and answers count where the fields are empty.")

    replaces = forms.ChoiceField(
        required=False, help_text="An earlier run of the team, which is withdrawn when this one is stored."
    )

    def __init__(self, *args: Any, track: Track, user: User, row: str = "1", **kwargs: Any) -> None:
        kwargs["prefix"] = None if row == "1" else row
        super().__init__(*args, **kwargs)
        self.row, rules = row, track.protocol.parsed.runs
        teams = team_selectors.teams_of(user, track)
        team = cast(forms.ModelChoiceField[Team], self.fields["team"])
        first, second = [*teams[:2], None, None][:2]
        if second is not None:
            team.empty_label = "Choose the team"
        elif row != "1":
            del self.fields["team"]
        else:
            team.widget = forms.HiddenInput()
            self.initial["team"] = self.only_team = first
        team.queryset = teams
        earlier = [(run.tag, f"{run.tag} ({run.team})") for run in submitted_runs(teams)]
        if earlier:
            replaces = cast(forms.ChoiceField, self.fields["replaces"])
            replaces.choices = [("", "no run"), *earlier]
        else:
            del self.fields["replaces"]
        if rules.max_seconds_per_topic is None:
            del self.fields["seconds"]
        for name, statement in STATEMENTS.items():
            field = _field(statement, rules, is_organizer=user.organizes(track.pk))
            if field is not None:
                self.fields[statement.column or name] = field
        self.fields |= answer_fields(rules)
        # Another row may have the answers of the first one, and must not keep a browser from sending them.
        if row != "1":
            for question in self.questions:
                question.field.widget.use_required_attribute = lambda _: False

    @property
    def same_answers(self) -> bool:
        """Return whether the answers of this row are those of the other rows, too."""
        return SAME_ANSWERS in self.data

    @property
    def describes(self) -> bool:
        """Return whether the description, the models or the ir_metadata have a text or an error."""
        fields = (self["description"], self["models"], self["metadata"])
        return any(field.value() or field.errors for field in fields)

    @property
    def questions(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith(ANSWER)]

    @property
    def has_file(self) -> bool:
        return self.add_prefix("file") in self.files

    @property
    def submission(self) -> dict[str, Any]:
        """The arguments of the services that check and submit, without team and user."""
        data, file = self.cleaned_data, self.cleaned_data["file"]
        stated = {name: data.get(statement.column or name, "") for name, statement in STATEMENTS.items()}
        seconds, metadata = data.get("seconds"), data.get("metadata")
        return {
            "file": bytes_of(file),
            "file_name": file.name or "run",
            "declared": Declaration(
                **stated | {"is_manual": stated["is_manual"] == "manual", "answers": answers_in(data)}
            ),
            "seconds": bytes_of(seconds) if seconds else None,
            "metadata": bytes_of(metadata) if metadata else None,
            "replaces": data.get("replaces", ""),
        }


def _field(statement: Statement, rules: RunRules, *, is_organizer: bool) -> forms.Field | None:
    """The field that asks for a statement; None if the protocol has no words for it."""
    if statement.words is None:
        is_long = statement.limit is not None and statement.limit > LONG
        return forms.CharField(
            max_length=statement.limit,
            required=False,
            label=statement.label,
            help_text=statement.hint(rules),
            widget=forms.Textarea(attrs={"rows": 4}) if is_long else None,
        )
    words = statement.words(rules, is_organizer)
    if not words:
        return None
    return forms.ChoiceField(
        choices=list(words.items()),
        required="" not in words,
        label=statement.label,
        help_text=statement.hint(rules),
        initial=statement.usual(rules) or None,
    )


def answer_fields(rules: RunRules, answers: Mapping[str, object] | None = None) -> dict[str, forms.Field]:
    """A field for each question of a protocol about runs, with the answers of a run."""
    return {
        ANSWER + asked.key: _answer_field(asked, (answers or {}).get(asked.key)) for asked in rules.questions
    }


def _answer_field(asked: RunQuestion, answer: object) -> forms.Field:
    about = f"Empty: {asked.header} of the file's header." if asked.header else ""
    options: dict[str, Any] = {
        "label": asked.label,
        "help_text": " ".join(filter(None, (asked.help, about))),
        "required": asked.required and not asked.header,
    }
    choices = [(choice.key, choice.label) for choice in asked.choices]
    if asked.kind == "any-of":
        widget = forms.CheckboxSelectMultiple
        several = forms.MultipleChoiceField(choices=choices, widget=widget, initial=answer, **options)
        several.states_optional = not asked.required  # type: ignore[attr-defined]  # for components/field.html
        return several
    if choices:
        return forms.ChoiceField(choices=[("", "Choose"), *choices], initial=answer, **options)
    return forms.CharField(max_length=MAX_CHARACTERS, initial=answer, **options)


def answers_in(data: Mapping[str, object]) -> str:
    """The answers of a form, as a declaration has them; empty if the protocol asks nothing."""
    given = {name.removeprefix(ANSWER): data[name] for name in data if name.startswith(ANSWER)}
    return json.dumps(given) if given else ""


def run_forms(request: HttpRequest, track: Track, user: User) -> list[RunForm]:
    """The rows of a submission. A page that is opened has one, or as many as its address says in `rows`."""
    options: dict[str, Any] = {"track": track, "user": user}
    if request.method == "POST":
        sent = [row for row in request.POST.getlist("row") if ROW.fullmatch(row) and row != "1"]
        rows = ["1", *list(dict.fromkeys(sent))[: MAX_RUNS - 1]]
        data = request.POST.copy()
        if SAME_ANSWERS in data:
            for row, asked in product(rows[1:], track.protocol.parsed.runs.questions):
                data.setlist(f"{row}-{ANSWER}{asked.key}", data.getlist(f"{ANSWER}{asked.key}"))
        return [RunForm(data, request.FILES, row=row, **options) for row in rows]
    wanted = request.GET.get("rows", "")
    n_rows = min(int(wanted), MAX_RUNS) if ROW.fullmatch(wanted) else 1
    initial = {"team": request.GET.get("team") or None, "replaces": request.GET.get("replaces")}
    return [RunForm(row=str(n), initial=initial, **options) for n in range(1, n_rows + 1)]


class DescriptionForm(StyledForm):
    """The description and the models of a submitted run, and the answers to questions about it."""

    description = forms.CharField(
        max_length=STATEMENTS["description"].limit,
        required=False,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text="How the run was made. Earlier descriptions stay in the history of the run.",
    )

    models = forms.CharField(
        max_length=STATEMENTS["models_used"].limit,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    metadata = MetadataField("Its models replace those of the run, unless you change them here.")

    def __init__(self, *args: Any, run: Run, **kwargs: Any) -> None:
        kwargs["initial"] = {"description": run.description, "models": run.models_used}
        super().__init__(*args, **kwargs)
        rules = run.track.protocol.parsed.runs
        self.fields["models"].help_text = STATEMENTS["models_used"].hint(rules).partition(" Empty:")[0]
        self.fields |= answer_fields(rules, run.answers)

    @property
    def change(self) -> dict[str, Any]:
        """The arguments of the service that changes the run."""
        data, metadata = self.cleaned_data, self.cleaned_data["metadata"]
        return {
            "description": data["description"],
            "models_used": data["models"],
            "metadata": bytes_of(metadata) if metadata else None,
            "answers": answers_in(data) or None,
        }


class ReasonForm(StyledForm):
    reason = forms.CharField(
        max_length=2_000, widget=forms.Textarea(attrs={"rows": 3}), help_text="The team sees it."
    )
