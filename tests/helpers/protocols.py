"""Protocols with other rules."""

from collections.abc import Mapping
from dataclasses import replace

from assay.protocols.schema import Protocol


def with_depths(protocol: Protocol, depths: Mapping[str, int]) -> Protocol:
    """The protocol in which only the kinds of `depths` are pooled, and no kind as another one."""
    kinds = tuple(
        replace(kind, depth=depths.get(kind.key), pooled_as="", pooled_as_by_tag={})
        for kind in protocol.runs.kinds
    )
    return replace(protocol, runs=replace(protocol.runs, kinds=kinds))
