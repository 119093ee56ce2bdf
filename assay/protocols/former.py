"""Keys of protocol files that Assay 0.1 had. Tracks, pools and archives refer to such files by their digest, so stored
ones are still read: `upgraded` gives them the keys of today. A new file must not have these keys.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

_KIND = "describe each kind of run in a table [[runs.kind]]"
# Key -> what is written today.
FORMER: Mapping[str, str] = MappingProxyType(
    {
        "runs.kinds": _KIND,
        "runs.scored_kinds": f"{_KIND}, with scored = false where runs are not scored",
        "runs.max_of_kind": f"{_KIND}, with max_per_team",
        "pool.depth": f"{_KIND}, with its depth",
        "pool.baseline_as": f"{_KIND}, with pooled_as",
        "pool.baselines": f"{_KIND}, with pooled_as_by_tag",
    }
)
_MATHEMATICAL = (
    "arqmath",
    "ntcir",
)  # formats of labs whose teams state whether a run uses text, math or both
_KINDS = ("primary", "alternate", "baseline")  # without runs.kinds


def former_keys(data: Mapping[str, Any]) -> list[str]:
    """The keys of Assay 0.1 in the data of a file."""
    keys = (key.split(".") for key in FORMER)
    return [".".join(key) for key in keys if key[1] in _table(data, key[0])]


def upgraded(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a file with the keys of today. A file of Assay 0.1 has no `runs.kind`; others are returned as is."""
    if "kind" in _table(data, "runs"):
        return dict(data)
    runs, pool = dict(_table(data, "runs")), dict(_table(data, "pool"))
    kinds, scored = runs.pop("kinds", _KINDS), runs.pop("scored_kinds", ())
    most, depth = runs.pop("max_of_kind", {}), pool.pop("depth", {})
    as_kind, by_tag = pool.pop("baseline_as", "primary"), pool.pop("baselines", {})
    if any(each.startswith(_MATHEMATICAL) for each in runs.get("formats", ()) if isinstance(each, str)):
        runs["uses"] = {"text": "text", "math": "math", "both": "text and math"}
    runs["kind"] = [
        {"key": key, "scored": not scored or key in scored}
        | ({"max_per_team": most[key]} if key in most else {})
        | ({"depth": depth[key]} if key in depth else {})
        | (_baseline(depth, as_kind, by_tag) if key == "baseline" else {})
        for key in kinds
    ]
    return {**data, "runs": runs, "pool": pool}


def _baseline(depth: Mapping[str, Any], as_kind: str, by_tag: Mapping[str, str]) -> dict[str, Any]:
    """What 0.1 implied for baselines: organizers submitted them, and without a depth they had that of another kind."""
    implied: dict[str, Any] = {"baseline": True, "submitted_by": "organizers"}
    if depth and "baseline" not in depth:
        implied |= {"pooled_as": as_kind, "pooled_as_by_tag": by_tag}
    return implied


def _table(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = data.get(name, {})
    return table if isinstance(table, dict) else {}
