"""TF-IDF and BM25 over the words and formulas of documents, for the title and text of each topic."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import InputError
from assay.formats.documents.reading import Document, document_files, map_documents
from assay.formats.topics.facts import TopicFacts
from assay.protocols.schema import Protocol, Tokenizer
from assay.ranking import Progress, Ranked, best, check_topics, no_progress
from assay_extensions.baselines.postings import Builder, Model, Postings, TokenBatch, index_folder, states_of
from assay_extensions.baselines.tokens import stemmer, tokenize

K1, B = 1.2, 0.75  # of Terrier's TF_IDF, and the usual ones of BM25
KINDS: dict[str, tuple[str, ...]] = {"answer": ("answer",), "document": (), "passage": ()}  # empty: all
VERSION = 1  # of the files of an index


@dataclass
class TextIndex:
    """The index of a collection for text baselines, and how it is made.

    Args:
        collection: files of documents, as in `assay.formats.documents.reading`.
        folder: where the index is kept for the next run; None: nowhere.
        tokenizer: instead of the protocol's.
        skipped: gets the number of rows that cannot be used, by reason.
    """

    collection: Path
    protocol: Protocol
    folder: Path | None = None
    tokenizer: Tokenizer | None = None
    processes: int | None = None
    progress: Progress = no_progress
    skipped: Counter[str] = field(default_factory=Counter)

    @property
    def settings(self) -> dict[str, Any]:
        """The values on which the content of the index depends."""
        return {
            "version": VERSION,
            "tokenizer": self.tokenizer or self.protocol.baselines.tokenizer,
            "kinds": sorted(self._kinds),
            "files": states_of(document_files(self.collection)),
        }

    @property
    def _kinds(self) -> tuple[str, ...]:
        unit = self.protocol.unit
        if unit not in KINDS or self.protocol.cites_posts:
            raise InputError(
                f"text baselines rank documents, but {self.protocol.slug} retrieves {unit} units"
            )
        return KINDS[unit]

    @contextmanager
    def opened(self) -> Iterator[Postings]:
        """The index, built if it does not exist yet."""
        with index_folder(self.folder, self.settings, self._build) as folder:
            yield Postings(folder)

    def _build(self, folder: Path) -> None:
        tokenizer: Tokenizer = self.settings["tokenizer"]
        if tokenizer == "english-latex":
            stemmer()  # refuses here, not in another process
        builder = Builder(folder)
        for batch in map_documents(
            partial(tokenized, tokenizer=tokenizer, kinds=self._kinds),
            document_files(self.collection),
            processes=self.processes,
            progress=partial(self.progress, "indexing"),
            skipped=self.skipped,
        ):
            builder.add(batch)
        builder.finish()


def tokenized(documents: Sequence[Document], *, tokenizer: Tokenizer, kinds: Sequence[str]) -> TokenBatch:
    return TokenBatch.of(
        (document.docno.encode(), tokenize(f"{document.title} {document.body}", tokenizer))
        for document in documents
        if not kinds or document.kind in kinds
    )


def text(
    topics: Sequence[TopicFacts],
    index: TextIndex,
    *,
    model: Model,
    depth: int,
    k1: float = K1,
    b: float = B,
) -> Iterator[Ranked]:
    """The documents of each topic by TF-IDF or BM25; those without a token of the topic are left out.

    Raises:
        InputError: The protocol does not retrieve documents, the collection or the index cannot be used, or a package
            of the extra `baselines` is missing.
    """
    check_topics(topics)
    tokenizer: Tokenizer = index.settings["tokenizer"]
    with index.opened() as postings:
        scorer = postings.scorer(model, k1=k1, b=b)
        for n, topic in enumerate(topics, 1):
            scores = scorer.scores(tokenize(f"{topic.title} {topic.body}", tokenizer))
            rows = np.flatnonzero(scores > 0)
            yield best(topic.code, postings.docno[rows], scores[rows], k=depth)
            index.progress("ranking", n, len(topics))
