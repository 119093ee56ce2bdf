"""Forms that build and preview pools."""

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlencode
from zlib import crc32

from django import forms

from assay.pools.order import MAX_SEED
from assay.pools.preview import MAX_DEPTH, depth_by_kind
from pooling.models import Pool
from pooling.pools import selectors
from tracks.models import Track
from web.forms import StyledForm


class RunsPerTeamField(forms.IntegerField):
    def __init__(self, **kwargs: Any) -> None:
        label = "At most this many runs per team"
        super().__init__(required=False, label=label, min_value=1, max_value=1000, **kwargs)


PAIR_ORDERS = (Pool.Order.RANDOM, Pool.Order.BY_RUN_VOTES)


class PoolForm(StyledForm):
    """The request for a pool: its name, seed, order of judging, and the depth for each kind of run."""

    name = forms.CharField(max_length=100)
    seed = forms.IntegerField(
        min_value=0,
        max_value=MAX_SEED,
        help_text="All random choices depend on it. The same seed gives the same pool.",
    )
    order = forms.ChoiceField(
        choices=Pool.Order.choices, label="Order of judging", help_text="It is recorded with every judgment."
    )
    max_runs_per_team = RunsPerTeamField(
        help_text="The first runs in the order that the team chose. Empty: all. Baselines do not count."
    )
    tops_up = forms.ModelChoiceField(
        queryset=Pool.objects.none(),
        required=False,
        label="Leave out the units of",
        empty_label="no other pool",
        help_text="The new pool then has only the units that the other one lacks.",
    )

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rules, of_runs = track.protocol.parsed.pool, track.protocol.parsed.runs
        self.kinds = list(of_runs.depths)
        if not self.is_bound:
            tops_up = self.initial.get("tops_up")
            earlier = Pool.objects.filter(track=track, pk=tops_up).first() if tops_up else None
            rounds_on = earlier is not None and rules.pairs is not None
            name = f"Pool {selectors.n_pools(track)[0] + 1}"
            seed = crc32(f"{track.pk} {name}".encode()) % MAX_SEED  # the same when the page is loaded again
            fresh = {
                "seed": earlier.seed if earlier and rounds_on else seed,
                "name": name,
                "order": rules.order,
            }
            self.initial = {**fresh, **self.initial}
        cast(forms.ModelChoiceField[Pool], self.fields["tops_up"]).queryset = selectors.to_top_up(track)
        if rules.pairs is not None:
            order = cast(forms.ChoiceField, self.fields["order"])
            order.choices = [choice for choice in Pool.Order.choices if choice[0] in PAIR_ORDERS]
            self.fields["tops_up"].label = "Continue the pool"
            self.fields["tops_up"].help_text = "The new pool has the next pairs, after the judgments so far."
            self.fields[
                "seed"
            ].help_text = "All random choices depend on it. All rounds of pairs have one seed."
        elif rules.strategy == "rows":  # which no run names
            del self.fields["max_runs_per_team"], self.fields["order"]
        elif not track.protocol.parsed.judged.has_nuggets:
            orders = [choice for choice in Pool.Order.choices if choice[0] != Pool.Order.BY_ANSWER]
            cast(forms.ChoiceField, self.fields["order"]).choices = orders
        source = "The usual depth is" if rules.depth_is_default else "The protocol states"
        for kind, depth in of_runs.depths.items():
            self.fields[f"depth_{kind}"] = forms.IntegerField(
                label=f"Depth for {of_runs.name_of(kind)} runs",
                min_value=0,
                max_value=of_runs.max_ranks,
                initial=depth,
                help_text=f"{source} {depth}. 0: not pooled.",
            )
        self.order_fields(["name", *(f"depth_{kind}" for kind in self.kinds), "max_runs_per_team", "order"])

    @property
    def depth(self) -> dict[str, int]:
        """The depths by kind of run."""
        return {kind: self.cleaned_data[f"depth_{kind}"] for kind in self.kinds}

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `services.request`, except track and user."""
        names = ("name", "seed", "order", "tops_up", "max_runs_per_team")
        return {name: self.cleaned_data[name] for name in names if name in self.fields} | {
            "depth": self.depth
        }


class PreviewForm(StyledForm):
    """The time per judgment, the available hours, the depth to show, and which runs count.

    The depth for each kind of run comes from the form of a pool.
    """

    rate = forms.FloatField(
        label="Seconds per judgment",
        min_value=0.1,
        max_value=86_400,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    budget = forms.FloatField(
        label="Hours of judging",
        required=False,
        min_value=0,
        max_value=1e7,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    depth = forms.IntegerField(label="Depth to show", required=False, min_value=1, max_value=MAX_DEPTH)
    max_runs_per_team = RunsPerTeamField()
    tops_up = forms.ModelChoiceField(
        queryset=Pool.objects.none(),
        required=False,
        label="Leave out the units of",
        empty_label="no other pool",
    )

    def __init__(self, data: Mapping[str, object], *, track: Track, seconds: float) -> None:
        super().__init__({"rate": seconds} | {name: data[name] for name in data})
        cast(forms.ModelChoiceField[Pool], self.fields["tops_up"]).queryset = selectors.to_top_up(track)
        if not selectors.n_pools(track)[1]:
            del self.fields["tops_up"]
        self.usual = track.protocol.parsed.runs.depths
        for kind in self.usual:
            hidden = forms.HiddenInput()
            self.fields[f"depth_{kind}"] = forms.IntegerField(required=False, min_value=0, widget=hidden)

    @property
    def query(self) -> str:
        """The form as a query string, without the depth."""
        return urlencode(
            {name: self.data[name] for name in self.fields if name != "depth" and self.data.get(name)}
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `previews.preview_tables`, except the track."""
        data = self.cleaned_data
        given = {kind: k for kind in self.usual if (k := data[f"depth_{kind}"]) is not None}
        depths, deepest = {**self.usual, **given}, max(given.values(), default=0)
        is_usual = 0 < deepest <= max(self.usual.values(), default=0)
        is_in_proportion = not given or (is_usual and depths == depth_by_kind(self.usual, deepest))
        return {
            "seconds": data["rate"],
            "hours": data["budget"],
            "depth": data["depth"] or (max(depths.values()) if given else None),
            "tops_up": data.get("tops_up"),
            "most": data["max_runs_per_team"],
            "depths": None if is_in_proportion else depths,
        }
