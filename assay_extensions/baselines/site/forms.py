"""The forms that make a baseline, and that fuse runs."""

import math
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q

from accounts.models import User
from assay import fusion
from assay.errors import InputError
from assay.formats.runs.rows import MAX_NAME
from assay.formats.text import decoded
from assay_extensions.baselines.linked_posts import KINDS as LINK_KINDS
from assay_extensions.baselines.linked_posts import parse_links
from assay_extensions.baselines.site.selectors import (
    TEAM,
    links_of_candidates,
    methods_for,
    runs_to_fuse,
    topics_with_answers,
    with_a_word,
)
from pooling.models import Pool, Run
from pooling.pools.selectors import question_pools
from tracks.models import Track
from web.forms import StyledForm, bytes_of
from web.pages import ROWS_ON_PAGE, counted, numbers_in

# Those with a constant, and those that learn from qrels, are for the command.
METHODS = {
    name: facts.title for name, facts in fusion.METHODS.items() if not (facts.needs or facts.is_trained)
}
MAX_LINKS = 200_000_000  # bytes of a file


class MadeRunForm(StyledForm):
    """Fields of every run that Assay makes: a tag, a team, and the number of documents per topic."""

    tag = forms.CharField(max_length=MAX_NAME, help_text="The run's name, one word.")
    team = forms.CharField(
        max_length=100,
        initial=TEAM,
        help_text="The team that submits it. It is created if it does not exist.",
    )
    depth = forms.IntegerField(required=False)

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.track = track
        most = track.protocol.parsed.runs.max_ranks
        self.fields["depth"] = forms.IntegerField(
            required=False,
            min_value=1,
            max_value=most,
            label="Documents per topic",
            help_text=f"Empty: {most:,}, as many as the protocol accepts.",
        )

    def clean_tag(self) -> str:
        tag: str = self.cleaned_data["tag"]
        if len(tag.split()) > 1 or not tag.isprintable():
            raise ValidationError("A tag is one word, without spaces.")
        return tag

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the service, except track and user."""
        return {name: self.cleaned_data[name] for name in self.fields}


class BaselineForm(MadeRunForm):
    method = forms.ChoiceField(label="Baseline")
    links = forms.FileField(
        required=False,
        label="File of links",
        help_text="For linked posts: <code>private/links.tsv</code> of a build, with question, linked question and "
        "kind of link. Without it, the links of the candidates that became topics.",
    )
    related = forms.BooleanField(
        required=False,
        label="Follow links to related questions too",
        help_text="For linked posts: not only to duplicates.",
    )
    pool = forms.ModelChoiceField(
        Pool.objects.none(),
        required=False,
        label="Only formulas in the posts of a pool",
        empty_label="all formulas of the collection",
        help_text="For Tangent-S: each topic gets the formulas of the posts that this pool has for the question with "
        "its number. The run brings them into the pool of this track.",
    )
    field_order = ("method", "links", "related", "pool", "tag", "team", "depth")

    def __init__(self, *args: Any, track: Track, user: User, **kwargs: Any) -> None:
        super().__init__(*args, track=track, **kwargs)
        methods = methods_for(track.protocol.parsed)
        cast(forms.ChoiceField, self.fields["method"]).choices = list(methods.items())
        self.fields["tag"].required = False
        self.fields["tag"].help_text = "The run's name, one word. Empty: that of the baseline."
        if "linked-posts" in methods:
            self.fields["links"].help_text += f" {self._known_links()}"
        else:
            del self.fields["links"], self.fields["related"]
        if pools := question_pools(track, user):
            cast("forms.ModelChoiceField[Pool]", self.fields["pool"]).queryset = pools
            cast(Any, self.fields["pool"]).label_from_instance = lambda pool: f"{pool} of {pool.track}"
        else:
            del self.fields["pool"]

    def _known_links(self) -> str:
        counts = [
            topics_with_answers(self.track, links_of_candidates(self.track, [kind])) for kind in LINK_KINDS
        ]
        known = [
            f"{kind} questions for {counted(n, 'topic')}"
            for kind, n in zip(LINK_KINDS, counts, strict=True)
            if n
        ]
        return (
            f"They lead to answers in the collection: {', '.join(known)}."
            if known
            else "They lead to no answer."
        )

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        data["tag"] = data.get("tag") or data.get("method", "")
        file = data.get("links")
        if data.get("method") != "linked-posts":
            data["links"] = None
        elif file and file.size > MAX_LINKS:
            self.add_error("links", f"The file has more than {MAX_LINKS // 1_000_000} MB.")
        elif file:
            threads = set(self.track.topics.exclude(thread="").values_list("thread", flat=True))
            try:
                name = file.name or "links"
                links = parse_links(decoded(bytes_of(file).read(), name).text, name, self._kinds)
            except InputError as error:
                self.add_error("links", f"{error}.")
            else:
                self.cleaned_data["links"] = {key: linked for key, linked in links.items() if key in threads}
        elif "links" not in self.errors:
            data["links"] = links_of_candidates(self.track, self._kinds)
        if data.get("links") is not None and not topics_with_answers(self.track, data["links"]):
            knows = "The file knows" if file else "The candidates that became topics know"
            self.add_error(
                "links",
                f"{knows} no {' or '.join(self._kinds)} question of a topic that has answers in the collection, so the "
                "run would be empty. Choose another file of links.",
            )
        if data.get("related") and data.get("method") != "linked-posts":
            self.add_error("related", "Only linked posts follow links.")
        return data

    @property
    def _kinds(self) -> tuple[str, ...]:
        return LINK_KINDS if self.cleaned_data.get("related") else LINK_KINDS[:1]

    @property
    def arguments(self) -> dict[str, Any]:
        data = {"links": None, "pool": None} | super().arguments
        data.pop("related", None)
        return data


class FusionForm(MadeRunForm):
    """Submitted runs of the track, and how they are fused."""

    runs = forms.ModelMultipleChoiceField(
        Run.objects.none(), label="Runs to fuse", widget=forms.CheckboxSelectMultiple
    )
    method = forms.ChoiceField(label="Method", choices=list(METHODS.items()))
    norm = forms.ChoiceField(
        label="Scores of each run",
        choices=list(fusion.NORMS.items()),
        help_text="How they are made comparable, topic by topic. Methods of ranks do not use them.",
    )
    weights = forms.CharField(
        required=False,
        max_length=1000,
        help_text="One number for each run in the order of the list, such as 2,1. Empty: 1 for each.",
    )
    field_order = ("runs", "method", "norm", "weights", "tag", "team", "depth")

    def __init__(self, *args: Any, search: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        runs = cast("forms.ModelMultipleChoiceField[Run]", self.fields["runs"])
        runs.queryset = runs_to_fuse(self.track).order_by("pk")
        self.search, self.n_runs = search, runs.queryset.count()
        if self.n_runs > ROWS_ON_PAGE:
            name = self.add_prefix("runs")
            chosen = numbers_in(runs.widget.value_from_datadict(self.data, self.files, name) or ())
            first = with_a_word(runs.queryset, search)[:ROWS_ON_PAGE].values("pk")
            listed = list(runs.queryset.filter(Q(pk__in=first) | Q(pk__in=chosen)))
            runs.widget.choices = [(run.pk, str(run)) for run in listed]
            runs.help_text = (
                f"{len(listed)} of {self.n_runs:,}. Search for others: one word of a tag or team is enough."
            )

    def clean_weights(self) -> list[float]:
        words = self.cleaned_data["weights"].replace(",", " ").split()
        try:
            weights = [float(word) for word in words]
        except ValueError:
            weights = [math.nan]
        if not all(math.isfinite(weight) and weight > 0 for weight in weights):
            raise ValidationError("Weights are numbers above 0, such as 2,1.")
        return weights

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        n_runs, n_weights = len(data.get("runs") or ()), len(data.get("weights") or ())
        if n_runs == 1:
            self.add_error("runs", "Choose at least two runs.")
        elif n_weights and n_weights != n_runs:
            self.add_error("weights", f"Got {counted(n_weights, 'weight')} for {n_runs} runs.")
        facts = fusion.METHODS.get(data.get("method", ""))
        if facts and facts.has_times and data.get("norm") == "z-score":
            name = fusion.called(data["method"])
            self.add_error(
                "norm", f"{name} cannot use z-scores: they are negative for half of the documents."
            )
        return data

    @property
    def arguments(self) -> dict[str, Any]:
        data = super().arguments
        settings = fusion.Fusion(data.pop("method"), data.pop("norm"), data.pop("weights"))
        return data | {"runs": list(data["runs"]), "fusion": settings}
