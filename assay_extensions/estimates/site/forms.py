"""Forms of samples, of estimates, and of the alternative annotator test."""

from typing import Any, cast

from django import forms

from assay_extensions.estimates.site import selectors
from assay_extensions.estimates.site.models import Sample
from assay_extensions.estimates.site.services import Plan
from assay_extensions.estimates.whole_topics import LEAST
from assay_extensions.metaevaluation.alt_test import EPSILON, SCORES
from pooling.models import Pool
from tracks.models import Machine
from web.forms import StyledForm

USUAL_PERCENT = 5
SIZE_OF = {Sample.Design.WEIGHT: "percent", Sample.Design.UNIFORM: "percent", Sample.Design.STRATA: "n_units"}
SCORE_WORDS = {"accuracy": "the share of equal grades", "neg_rmse": "the distance of grades"}
STRATA_WORDS = {
    "grade": "the machine's grade",
    "rank": "the best rank in any run",
    "run": "the run with the best rank",
}


class SampleForm(StyledForm):
    """The sample of a machine's units for people to judge."""

    pool = forms.ModelChoiceField(queryset=Pool.objects.none(), empty_label=None)
    name = forms.CharField(max_length=100, help_text="Of the batch that people judge.")
    design = forms.ChoiceField(
        choices=[choice for choice in Sample.Design.choices if choice[0] != Sample.Design.NEXT],
        help_text="By weight, units that count much in a run are drawn more often: intervals are narrowest. Uniform "
        "also gives shares of units; it needs 5 % or more. From strata, each kind of unit has a share.",
    )
    percent = forms.FloatField(
        min_value=0.1, max_value=100, required=False, label="Percent of the units of each topic"
    )
    n_units = forms.IntegerField(
        min_value=1, required=False, label="Number of units", help_text="For strata, instead of percent."
    )
    strata = forms.MultipleChoiceField(
        choices=list(STRATA_WORDS.items()),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Strata by",
        help_text="For strata only.",
    )
    measures = forms.CharField(
        required=False,
        max_length=500,
        help_text="Separated by spaces: sums over ranks, such as DCG@10 P@10 RBP(p=0.8,max_rel=4).",
    )
    has_fit = forms.BooleanField(
        required=False,
        label="Keep half of the topics for fitting thresholds and prompts",
        help_text="Estimates then use the other half only.",
    )
    seed = forms.IntegerField(min_value=0, max_value=10**9, required=False, help_text="Empty: a random one.")

    def __init__(self, *args: Any, machine: Machine, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast("forms.ModelChoiceField[Pool]", self.fields["pool"])
        field.queryset = selectors.judged_pools(machine)

    def clean(self) -> dict[str, Any]:
        """Check that the size fits the design.

        Raises ValidationError: it is missing.
        """
        given = super().clean() or {}
        name = SIZE_OF.get(given.get("design", ""))
        if name and not given.get(name) and name not in self.errors:
            self.add_error(name, "This design needs it.")
        return given

    @property
    def plan(self) -> Plan:
        given = self.cleaned_data
        return Plan(
            design=given["design"],
            share=(given["percent"] or 0) / 100,
            n_units=given["n_units"] or 0,
            strata=given["strata"],
            measures=given["measures"].split(),
            has_fit=given["has_fit"],
        )


class NextForm(StyledForm):
    """The units that are added to a sample."""

    name = forms.CharField(max_length=100, help_text="Of the batch that people judge.")
    n_units = forms.IntegerField(min_value=1, label="Number of units")
    measure = forms.CharField(max_length=100, help_text="The measure whose intervals should become narrower.")


class EstimateForm(StyledForm):
    """The source of an estimate, and its measures."""

    source = forms.ChoiceField(
        label="People judged",
        help_text="A sample gives the difference estimator, for measures that are sums over ranks. All units of some "
        f"topics give prediction-powered inference (PPI++), for any measure, from {LEAST} topics on.",
    )
    measures = forms.CharField(
        required=False,
        max_length=500,
        help_text="Separated by spaces. Empty: those of the protocol, or the nearest ones that a sample can estimate.",
    )

    def __init__(self, *args: Any, samples: list[Sample], pools: list[Pool], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        drawn = [(f"sample-{sample.pk}", f"the sample “{sample}”") for sample in samples if sample.batch_id]
        whole = [(f"pool-{pool.pk}", f"all units of some topics of the pool “{pool}”") for pool in pools]
        cast(forms.ChoiceField, self.fields["source"]).choices = drawn + whole


class AltTestForm(StyledForm):
    """The numbers of the alternative annotator test, which an address can have."""

    epsilon = forms.FloatField(
        min_value=0,
        max_value=0.99,
        initial=EPSILON,
        required=False,
        help_text="The advantage of a person that you give up, because people cost more: 0.2 for experts, 0.15 for "
        "skilled people, 0.1 for others.",
    )
    score = forms.ChoiceField(
        choices=[(name, SCORE_WORDS[name]) for name in SCORES], required=False, label="Agreement by"
    )

    @property
    def options(self) -> dict[str, Any]:
        given = {name: value for name, value in self.cleaned_data.items() if value not in {None, ""}}
        return {"epsilon": EPSILON, "score": SCORES[0]} | given
