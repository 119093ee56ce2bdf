"""Pools of citations: the text that is judged, and the post that each citation is in."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import RunColumns
from assay.measures.characters import CITATION
from assay.pools.near_duplicates import passages_of
from assay.pools.strategies import BuiltPool
from assay.protocols.schema import Protocol
from pooling.runs.units import document_ids


def are_units(protocol: Protocol) -> bool:
    """Whether runs retrieve passages of posts."""
    return protocol.cites_posts


def passages(protocol: Protocol, built: BuiltPool, runs: Sequence[RunColumns]) -> list[str]:
    """The text of each unit of a pool; nothing if the units are no citations."""
    return passages_of(built.units, built.members, runs) if are_units(protocol) else []


def posts_of(collection_id: int, docnos: NDArray[np.bytes_]) -> dict[str, int]:
    """Primary keys of the posts of some citations, by citation, for those that the collection has."""
    parts = [CITATION.fullmatch(docno) for docno in docnos.tolist()]
    posts = {part[0].decode(): part[1] for part in parts if part}
    if not posts:
        return {}
    known = document_ids(collection_id, np.unique(np.array(list(posts.values()))))
    return {docno: known[post.decode()] for docno, post in posts.items() if post.decode() in known}
