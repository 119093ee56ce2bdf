"""How fast runs are scored: 36 runs of 100 topics x 1000 documents, beside pytrec_eval-terrier in the same process.

    python benchmarks/scoring_speed.py QRELS RUN...            runs in ARQMath's five columns or TREC's six
    python benchmarks/scoring_speed.py --shared FOLDER         makes the 36 runs with FOLDER/bench/make_runs.py
    ASSAY_SHARED=FOLDER python benchmarks/scoring_speed.py     the same

Four measures, per topic: nDCG', AP(rel=2)', P(rel=2)@10', bpref(rel=2). Ours twice: from the TSV files, checked line by
line as an upload is, and from the stored columns, as a leaderboard is scored. pytrec_eval gets the dictionaries that it
wants, read by the quickest loop that there is, without any check; and, apart, the time without the reading. Each figure
is the median of `--repeats`, on the clock and of the processor's time, for all of it runs in one thread; the ratios are
of the latter, which a busy machine disturbs less.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
import pytrec_eval
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pooling import columns
from pooling.columns import RunColumns
from pooling.run_format import check_run
from protocols.loader import load_protocol
from protocols.measure_names import parse_measures
from scoring.matching import JudgedDocuments
from scoring.measures import score_run
from scoring.qrels_format import parse_qrels

MEASURES = parse_measures(["nDCG'", "AP(rel=2)'", "P(rel=2)@10'", "bpref(rel=2)"])
THEIRS = {"ndcg", "map", "P.10", "bpref"}
NAMES = ["ndcg", "map", "P_10", "bpref"]
Nested = dict[str, dict[str, float]]


def read_runs(paths: Sequence[Path]) -> list[RunColumns]:
    """Runs as an upload reads them: every line checked."""
    protocol = load_protocol("arqmath-2021-task1")
    runs = []
    for path in paths:
        checked = check_run(path, protocol=protocol, name=path.name)
        if checked.columns is None:
            sys.exit(f"{path}: {checked.report.errors[0]}")
        runs.append(checked.columns)
    return runs


def score_files(qrels: Path, paths: Sequence[Path]) -> list[np.ndarray]:
    judged = JudgedDocuments(parse_qrels(qrels.read_bytes()))
    return [score_run(run, judged, MEASURES).values for run in read_runs(paths)]


def score_stored(judged: JudgedDocuments, stored: Sequence[bytes]) -> list[np.ndarray]:
    return [score_run(columns.load(BytesIO(one)), judged, MEASURES).values for one in stored]


def score_arrays(judged: JudgedDocuments, runs: Sequence[RunColumns]) -> list[np.ndarray]:
    return [score_run(run, judged, MEASURES).values for run in runs]


def read_nested(path: Path) -> Nested:
    run: Nested = defaultdict(dict)
    with path.open(encoding="utf-8") as file:
        for line in file:
            words = line.split()
            run[words[0]][words[-4]] = float(words[-2])
    return run


def read_grades(path: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in path.read_text(encoding="utf-8").splitlines():
        topic, _, docno, grade = line.split()
        grades[topic][docno] = int(grade)
    return grades


def evaluator(
    grades: dict[str, dict[str, int]], level: int, names: set[str]
) -> "pytrec_eval.RelevanceEvaluator":
    return pytrec_eval.RelevanceEvaluator(grades, names, relevance_level=level, judged_docs_only_flag=True)


def theirs_nested(
    grades: dict[str, dict[str, int]], runs: Sequence[Nested]
) -> list[dict[str, dict[str, float]]]:
    one = evaluator(grades, 2, THEIRS)
    return [one.evaluate(run) for run in runs]


def theirs_files(qrels: Path, paths: Sequence[Path]) -> list[dict[str, dict[str, float]]]:
    one = evaluator(read_grades(qrels), 2, THEIRS)
    return [one.evaluate(read_nested(path)) for path in paths]


def check_same(
    judged: JudgedDocuments, ours: Sequence[np.ndarray], theirs: Sequence[dict[str, dict[str, float]]]
) -> float:
    """The largest difference over all topics of all runs; trec_eval 9 cuts scores to 32 bits, which ties some."""
    differences = [
        abs(float(values[row, n]) - found[topic][name])
        for values, found in zip(ours, theirs, strict=True)
        for row, topic in enumerate(judged.topics.tolist())
        if topic in found
        for n, name in enumerate(NAMES)
    ]
    return max(differences)


def median_seconds(what: str, work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Seconds on the clock, and seconds of the processor."""
    clock, processor = [], []
    for _ in tqdm(range(repeats), desc=what, leave=False, disable=None):
        start, start_processor = time.perf_counter(), time.process_time()
        work()
        clock.append(time.perf_counter() - start)
        processor.append(time.process_time() - start_processor)
    return statistics.median(clock), statistics.median(processor)


def made_runs(shared: Path, folder: Path) -> tuple[Path, list[Path]]:
    """The 36 runs that the shared folder's script makes, always the same."""
    script, qrels = (
        shared / "bench" / "make_runs.py",
        shared / "data/arqmath/qrels/qrels.arqmath-2021-task1-official.txt",
    )
    for path in (script, qrels):
        if not path.is_file():
            sys.exit(f"there is no {path}; give qrels and runs, or the shared folder")
    subprocess.run([sys.executable, str(script), str(folder), str(qrels)], check=True)
    return qrels, sorted((folder / "tsv").glob("*.tsv"))


def measure(qrels: Path, paths: Sequence[Path], repeats: int) -> None:
    judged, grades = JudgedDocuments(parse_qrels(qrels.read_bytes())), read_grades(qrels)
    runs, nested = read_runs(paths), [read_nested(path) for path in paths]
    stored = [columns.save(run) for run in runs]
    n_lines = sum(len(run) for run in runs)
    print(
        f"{len(runs)} runs, {n_lines:,} lines, {judged.n_topics} topics judged; {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, NumPy {np.__version__}, medians of {repeats}"
    )
    difference = check_same(judged, score_arrays(judged, runs), theirs_nested(grades, nested))
    print(f"largest difference from pytrec_eval over all topics of all runs: {difference:.1e}")
    ways: dict[str, Callable[[], object]] = {
        "Assay, from TSV": lambda: score_files(qrels, paths),
        "Assay, from stored columns": lambda: score_stored(judged, stored),
        "Assay, from arrays": lambda: score_arrays(judged, runs),
        "pytrec_eval, from TSV": lambda: theirs_files(qrels, paths),
        "pytrec_eval, from dictionaries": lambda: theirs_nested(grades, nested),
    }
    seconds = {what: median_seconds(what, work, repeats) for what, work in ways.items()}
    print(f"{'':32} {'clock':>8}   {'processor':>9}")
    for what, (clock, processor) in seconds.items():
        print(f"{what:32} {clock:8.3f} s {processor:9.3f} s {processor / len(runs) * 1000:8.2f} ms a run")
    for mine, other in (
        ("from TSV", "from TSV"),
        ("from stored columns", "from dictionaries"),
        ("from arrays", "from dictionaries"),
    ):
        ratio = seconds[f"pytrec_eval, {other}"][1] / seconds[f"Assay, {mine}"][1]
        print(f"Assay {mine} is {ratio:.1f} times as fast as pytrec_eval {other}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("qrels", nargs="?", type=Path)
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--shared", type=Path, default=os.environ.get("ASSAY_SHARED"))
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.runs:
        measure(arguments.qrels, arguments.runs, arguments.repeats)
    elif arguments.shared:
        with tempfile.TemporaryDirectory() as folder:
            measure(*made_runs(Path(arguments.shared), Path(folder)), arguments.repeats)
    else:
        parser.error("give qrels and runs, or --shared, or set ASSAY_SHARED")


if __name__ == "__main__":
    main()
