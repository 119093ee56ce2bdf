"""Agreement and pools from files, compared with scripts of pandas, which check nothing."""

import tempfile
from pathlib import Path

import numpy as np

from maintenance.benchmarks.harness import case, figure
from maintenance.benchmarks.many_runs import DOCUMENTS, run_file
from maintenance.benchmarks.ms_marco import used

# Kappa of every two assessors, and alpha with nominal, ordinal and interval differences.
AGREEMENT = """
import itertools, sys
import numpy as np, pandas as pd
table = pd.concat(map(pd.read_csv, sys.argv[1:]))
grid = table.pivot_table(index=["topic", "docno"], columns="assessor", values="grade", aggfunc="last")
for first, second in itertools.combinations(grid.columns, 2):
    both = grid[[first, second]].dropna()
    shares = pd.crosstab(both[first], both[second], normalize=True).reindex(columns=np.unique(both)).to_numpy()
    by_chance = (shares.sum(0) * shares.sum(1)).sum()
    print(first, second, len(both), (np.trace(shares) - by_chance) / (1 - by_chance))
grades = np.unique(table.grade)
counts = np.stack([(grid == grade).sum(axis=1) for grade in grades], axis=1).astype(float)
counts = counts[counts.sum(axis=1) > 1]
weighted = counts / (counts.sum(axis=1) - 1)[:, None]
pairs = weighted.T @ counts - np.diag(weighted.sum(axis=0))
totals = pairs.sum(axis=0)
for place in (None, np.cumsum(totals) - totals / 2, grades):
    distance = 1 - np.eye(len(grades)) if place is None else np.subtract.outer(place, place) ** 2
    expected = (distance * np.outer(totals, totals)).sum() / (totals.sum() - 1)
    print(1 - (distance * pairs).sum() / expected)
"""
REPEATS = 3
# The distinct documents among the first hundred of each topic of each run.
POOL = """
import sys
import pandas as pd
names, parts = ["topic", "q0", "docno", "rank", "score", "tag"], []
for path in sys.argv[1:]:
    run = pd.read_csv(path, sep=" ", names=names).sort_values(["topic", "score"], ascending=[True, False])
    parts.append(run.groupby("topic").head(100)[["topic", "docno"]])
pool = pd.concat(parts).drop_duplicates().sort_values(["topic", "docno"])
print(len(pool))
"""


@case
def files(*, assessors: int = 5, units: int = 100_000, runs: int = 500, topics: int = 50) -> None:
    """Measure `assay agreement` and `assay pool`, compared with scripts of pandas.

    Judgments are one CSV file of all assessors, and then qrels of each. Runs have 1,000 documents of each topic, in the
    format of TREC, and are pooled to depth 100. Figures are the lowest CPU time and peak memory of three whole
    processes; the memory of a pool is that of the largest of its processes.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, qrels = make_judgments(folder, assessors, units)
        script = folder / "agreement.py"
        script.write_text(AGREEMENT)
        words: list[str | Path] = ["assay", "agreement", "--level", "1"]
        label = f"agreement of {assessors} x {units:,}"
        compare(f"{label}, CSV", [*words, table], [script, table])
        compare(f"{label}, qrels", [*words, *qrels], [script, table])
        manifest, paths = make_runs(folder, runs, topics)
        script = folder / "pool.py"
        script.write_text(POOL)
        words = ["assay", "pool", "--quiet", "--protocol", "trec-adhoc", "--seed", "1", "--runs", manifest]
        compare(f"pool of {runs} runs", words, [script, *paths])


def compare(label: str, words: list[str | Path], script: list[Path]) -> None:
    own, peer = zip(*((used("-m", *words), used(*script)) for _ in range(REPEATS)), strict=True)
    for unit, name in (("s", "seconds"), ("MB", "memory")):
        value, of_peer = (min(getattr(usage, name) for usage in usages) for usages in (own, peer))
        figure(label, value, unit, {"pandas": of_peer})


def make_judgments(folder: Path, n_assessors: int, n_units: int) -> tuple[Path, list[Path]]:
    """Write a table of all judgments, and the same as qrels of each assessor."""
    rng = np.random.default_rng(1)
    truth = rng.choice(4, n_units, p=[0.5, 0.3, 0.1, 0.1])
    units = [(f"T{n // 2000:03}", f"doc{n * 7919 % 1_000_003}") for n in range(n_units)]
    table, qrels = folder / "judgments.csv", [folder / f"assessor{n}.txt" for n in range(n_assessors)]
    with table.open("w") as file:
        file.write("topic,docno,assessor,grade\n")
        for path in qrels:
            noise = rng.integers(0, 4, n_units)
            grades = np.where(rng.random(n_units) < 0.7, truth, noise).tolist()
            rows = [(topic, docno, grade) for (topic, docno), grade in zip(units, grades, strict=True)]
            file.writelines(f"{topic},{docno},{path.stem},{grade}\n" for topic, docno, grade in rows)
            path.write_text("".join(f"{topic} 0 {docno} {grade}\n" for topic, docno, grade in rows))
    return table, qrels


def make_runs(folder: Path, n_runs: int, n_topics: int) -> tuple[Path, list[Path]]:
    """Write the runs of `many-runs`, and their manifest."""
    grades = np.random.default_rng(1).choice(3, (n_topics, DOCUMENTS), p=[0.9, 0.07, 0.03])
    paths, manifest = [folder / f"run{n:04}.txt" for n in range(n_runs)], folder / "manifest.csv"
    for n, path in enumerate(paths):
        path.write_text(run_file(grades, n, path.stem))
    rows = [f"{path.name},Team {n // 5:03},{path.stem},primary\n" for n, path in enumerate(paths)]
    manifest.write_text("file,team,tag,kind\n" + "".join(rows))
    return manifest, paths
