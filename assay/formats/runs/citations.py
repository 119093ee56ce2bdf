"""Checks the citations of a run against the posts that they cite: the span is inside the post, and its text the same.

The passage is compared for posts in English only: of others, it is a translation. The `original`, if a citation
has one, is compared for all. White space counts as one space, and an entity as its character.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from assay.formats.reports import Tally
from assay.formats.runs.rules import RunRows
from assay.html.forum import Span, passage

POSTS_AT_ONCE = 2_000
ENGLISH = {"en", "eng"}
SHOWN = 80  # characters of a post in a note


class CitedPost(NamedTuple):
    """A post: what its file contains between its tags, and the code of its language; both empty if not known."""

    source: str
    language: str

    @property
    def is_english(self) -> bool:
        return self.language.partition("-")[0].lower() in ENGLISH


class Citation(NamedTuple):
    """A citation of a post: its passage, its original, which may be empty, and its line."""

    span: Span
    passage: bytes
    original: bytes
    number: int


PostLookup = Callable[[list[str]], Mapping[str, CitedPost]]  # docnos `thread:post` -> those that exist


def check_citations(rows: RunRows, lookup: PostLookup, tally: Tally) -> None:
    """Report citations of unknown posts, those outside their post, and passages that differ from it."""
    texts = [b""] * len(rows.docno) if rows.passage is None else rows.passage.tolist()
    originals = [b""] * len(texts) if rows.original is None else rows.original.tolist()
    by_post: dict[str, list[Citation]] = {}
    for docno, *row in zip(rows.docno.tolist(), texts, originals, rows.number.tolist(), strict=True):
        post, offset, length = docno.decode().rsplit(":", 2)
        by_post.setdefault(post, []).append(Citation(Span(int(offset), int(length)), *row))
    names = list(by_post)
    for start in range(0, len(names), POSTS_AT_ONCE):
        some = names[start : start + POSTS_AT_ONCE]
        posts = lookup(some)
        for name in some:
            _check_post(name, posts.get(name), by_post[name], tally)


def _check_post(name: str, post: CitedPost | None, citations: Iterable[Citation], tally: Tally) -> None:
    for span, text, original, number in citations:
        if post is None:
            accepted = "The thread and the post of a citation, as in the collection."
            tally.error("unknown-document", "the post is not in the collection", accepted, number, note=name)
        elif post.source and not span.is_in(post.source):
            note = f"characters {span.offset:,} to {span.end - 1:,} of a post of {len(post.source):,}"
            accepted = "An offset from 0 and a length that end inside the post."
            tally.error("outside-post", "the citation is not inside its post", accepted, number, note=note)
        elif post.source:
            there = passage(post.source, span)
            note = f"the post has “{there[:SHOWN]}”"
            if post.is_english and there != text.decode():
                accepted = "The characters of the post, if it is in English."
                tally.error("other-text", "the passage differs from its post", accepted, number, note=note)
            if original and there != original.decode():
                accepted = "The characters of the post, in its language."
                tally.error(
                    "other-original", "the original differs from its post", accepted, number, note=note
                )
