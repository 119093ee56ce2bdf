"""Baselines: runs of known systems, which every track can have on its first day.

- `text`: TF-IDF and BM25 over words and LaTeX (`tokens`), from an inverted file on disk (`postings`)
- `linked_posts`: the answers of the questions of which a topic is a duplicate
- `tangent_s`: formulas by their trees (`formula_trees`), from an index on disk (`formula_index`): `symbol_pairs` finds
  candidates, and `subtree_similarity` scores them

A baseline is a function that yields an `assay.ranking.Ranked` for each topic and reports its progress, so that a
command and a job of the site can call it. The same input gives the same run. Decision: ADR 49.
"""

from assay.cli.main import Command
from assay.extensions import Extension

EXTENSION = Extension(
    name="baselines",
    title="Baselines",
    adds=(
        Command(
            "baseline",
            "make the run of a baseline: TF-IDF, BM25, Tangent-S or linked posts",
            "assay_extensions.baselines.commands.baseline",
        ),
        Command("fuse", "fuse runs into one run", "assay_extensions.baselines.commands.fuse"),
    ),
)
