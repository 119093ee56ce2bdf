"""Forms that build and preview pools."""

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlencode

from django import forms

from assay.pools.order import MAX_SEED
from assay.pools.preview import FARTHEST
from pooling.models import Pool
from pooling.pools import selectors
from pooling.pools.services import new_seed
from tracks.models import Track
from web.forms import style_fields


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
        style_fields(self)

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
        style_fields(self)

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
