"""Leaves out documents that repeat an earlier one: exactly, or nearly. A thread is left out with all its posts."""

from collections.abc import Callable, Iterator

import numpy as np

from assay.formats.spreadsheet import tsv_lines
from assay_extensions.building.settings import Settings
from assay_extensions.building.shingles import MinHash, fingerprint, near_texts, same_texts, shingles, words
from assay_extensions.building.store import HEADS, KEPT, Store

STEP = "duplicates"
HEADER = ("docno", "kept", "overlap")


def leave_out(store: Store, settings: Settings, progress: Callable[[int], None]) -> None:
    """Leave out the documents that repeat an earlier one, as the settings say.

    The memory is 16 bytes per document, and 256 more if near-duplicates are looked for.
    """
    if settings.duplicates == "keep" or store.state(STEP)[1]:
        return
    n, is_near = store.n_threads, settings.duplicates == "near"
    hashes, seqs, fingerprints = MinHash(), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    bands = np.zeros((n if is_near else 0, MinHash.N_BANDS), dtype=np.uint64)
    for at, (seq, title, body) in enumerate(
        store.rows(f"SELECT seq, title, body FROM posts WHERE {KEPT} AND {HEADS} ORDER BY seq")
    ):
        text = [*words(title), *words(body)]
        seqs[at] = seq
        if text:
            fingerprints[at] = fingerprint(text)
            if is_near:
                bands[at] = hashes.bands(shingles(text))
        if at % 1000 == 0:
            progress(at)

    def text_of(at: int) -> str:
        row = store.row("SELECT title, body FROM posts WHERE seq = ?", (int(seqs[at]),))
        return f"{row[0]} {row[1]}" if row else ""

    repeats = {later: (earlier, 1.0) for later, earlier in same_texts(fingerprints)}
    if is_near:
        is_compared = fingerprints != 0
        is_compared[list(repeats)] = False
        near = near_texts(bands, is_compared, text_of, settings.overlap)
        repeats |= {later: (earlier, overlap) for later, earlier, overlap in near}
    with store.writing():
        for later, (earlier, overlap) in sorted(repeats.items()):  # in the order of seqs
            store.execute(
                "INSERT OR REPLACE INTO repeated SELECT a.docno, b.docno, ? FROM posts a, posts b "
                "WHERE a.seq = ? AND b.seq = ?",
                (round(overlap, 4), int(seqs[later]), int(seqs[earlier])),
            )
        store.execute(
            f"UPDATE posts SET role = 'repeated' WHERE {KEPT} AND thread IN "
            f"(SELECT thread FROM posts WHERE docno IN (SELECT docno FROM repeated))"
        )
        store.set_state(STEP, {}, is_done=True)


def report(store: Store) -> Iterator[str]:
    """The documents that were left out, each with the one that is kept, as TSV."""
    rows = store.rows(
        "SELECT repeated.docno, kept, overlap FROM repeated JOIN posts ON posts.docno = repeated.docno ORDER BY seq"
    )
    yield from tsv_lines([HEADER])
    yield from tsv_lines(rows)
