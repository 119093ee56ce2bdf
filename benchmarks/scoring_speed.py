"""Speed of scoring 36 runs of 100 topics x 1000 documents, compared with pytrec_eval-terrier in the same session.

    python benchmarks/scoring_speed.py QRELS RUN...            runs with the five columns of ARQMath or the six of TREC
    python benchmarks/scoring_speed.py --shared FOLDER         makes the 36 runs with FOLDER/bench/make_runs.py
    ASSAY_SHARED=FOLDER python benchmarks/scoring_speed.py     the same

Four measures, per topic: nDCG', AP(rel=2)', P(rel=2)@10', bpref(rel=2). Seconds are medians of `--repeats`.

Whole processes, from the start of Python to the last line of output: `assay evaluate` of all runs, with one process per
processor, and of one run. The comparison is a process that reads the files with the fastest loop in plain Python,
without checks, into the dictionaries of pytrec_eval, and evaluates them.
In one warm process, like a worker: from stored columns, and from arrays. The comparison is pytrec_eval with
dictionaries that are already in memory. Finally `--many` stored runs, with the peak memory after 36 runs and after
all.
"""

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytrec_eval
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.formats.qrels.reader import parse_qrels
from assay.formats.runs import columns
from assay.formats.runs.columns import RunColumns
from assay.formats.runs.reader import check_run
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.protocols.loader import load_protocol
from assay.protocols.measures import parse_measures

MEASURE_NAMES = ["nDCG'", "AP(rel=2)'", "P(rel=2)@10'", "bpref(rel=2)"]
MEASURES = parse_measures(MEASURE_NAMES)
THEIRS = {"ndcg", "map", "P.10", "bpref"}
NAMES = ["ndcg", "map", "P_10", "bpref"]
Nested = dict[str, dict[str, float]]

# Without cached bytecode, compiling the modules would take longer than running them.
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
PROTOCOL = "arqmath-2021-task1"
ROOT = Path(__file__).resolve().parents[1]


def read_runs(paths: Sequence[Path]) -> list[RunColumns]:
    """Read runs like an upload: every line is checked."""
    protocol = load_protocol(PROTOCOL)
    runs = []
    for path in paths:
        checked = check_run(path, protocol=protocol, name=path.name)
        if checked.columns is None:
            sys.exit(f"{path}: {checked.report.errors[0]}")
        runs.append(checked.columns)
    return runs


def command(qrels: Path, paths: Sequence[Path]) -> None:
    """The whole process of Assay."""
    line = [sys.executable, "-m", "assay", "evaluate", "--protocol", PROTOCOL, "--qrels", str(qrels)]
    line += ["--per-topic", "--quiet", *map(str, paths)]
    line += [f"--measure={name}" for name in MEASURE_NAMES]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, cwd=ROOT, env=COMPILED)


def theirs_command(qrels: Path, paths: Sequence[Path]) -> None:
    """The whole process of pytrec_eval: this script with `--theirs`."""
    line = [sys.executable, str(Path(__file__).resolve()), "--theirs", str(qrels), *map(str, paths)]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)


def score_stored(judged: JudgedDocuments, stored: Sequence[Path]) -> list[np.ndarray]:
    return [score_run(columns.load_ranking(path), judged, MEASURES).values for path in stored]


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
    relevance = evaluator(grades, 2, THEIRS)
    return [relevance.evaluate(run) for run in runs]


def theirs_files(qrels: Path, paths: Sequence[Path]) -> list[dict[str, dict[str, float]]]:
    relevance = evaluator(read_grades(qrels), 2, THEIRS)
    return [relevance.evaluate(read_nested(path)) for path in paths]


def check_same(
    judged: JudgedDocuments, ours: Sequence[np.ndarray], theirs: Sequence[dict[str, dict[str, float]]]
) -> float:
    """The largest difference over all topics of all runs. trec_eval 9 cuts scores to 32 bits, so some tie."""
    differences = [
        abs(float(values[row, n]) - of_run[topic][name])
        for values, of_run in zip(ours, theirs, strict=True)
        for row, topic in enumerate(judged.topics.tolist())
        if topic in of_run
        for n, name in enumerate(NAMES)
    ]
    return max(differences)


def median_seconds(label: str, work: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in tqdm(range(repeats), desc=label, leave=False, disable=None):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def peak_memory() -> float:
    """Peak memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024)


def made_runs(shared: Path, folder: Path) -> tuple[Path, list[Path]]:
    """The qrels, and the 36 runs that the script of the shared folder makes; they are always the same."""
    script, qrels = (
        shared / "bench" / "make_runs.py",
        shared / "data/arqmath/qrels/qrels.arqmath-2021-task1-official.txt",
    )
    for path in (script, qrels):
        if not path.is_file():
            sys.exit(f"there is no {path}; give qrels and runs, or the shared folder")
    subprocess.run([sys.executable, str(script), str(folder), str(qrels)], check=True)
    return qrels, sorted((folder / "tsv").glob("*.tsv"))


class Session:
    """Measures Assay and pytrec_eval one after the other."""

    def __init__(self, qrels: Path, paths: Sequence[Path], folder: Path, repeats: int) -> None:
        self.qrels, self.paths, self.folder, self.repeats = qrels, paths, folder, repeats
        self.judged = JudgedDocuments(parse_qrels(qrels.read_bytes()))
        print(
            f"{len(paths)} runs, {self.judged.n_topics} topics judged; {os.cpu_count()} cores, "
            f"Python {platform.python_version()}, NumPy {np.__version__}, medians of {repeats}"
        )

    def compare(self, label: str, ours: Callable[[], object], theirs: Callable[[], object]) -> None:
        ours(), theirs()  # warm up: files are in the cache of the system, modules are compiled
        mine, other = median_seconds(label, ours, self.repeats), median_seconds(label, theirs, self.repeats)
        print(f"{label:36} {mine:8.3f} s   pytrec_eval {other:8.3f} s   ratio {other / mine:5.1f}")

    def many(self, n: int) -> None:
        """Score `n` stored runs in this process, and print its memory. Call it first, while memory is unused."""
        stored = self.stored(n)
        score_stored(self.judged, stored[: len(self.paths)])
        before = peak_memory()
        start = time.perf_counter()
        for path in stored:
            score_run(columns.load_ranking(path), self.judged, MEASURES)
        seconds, after = time.perf_counter() - start, peak_memory()
        memory = f"peak {before:.0f} MB after {len(self.paths)} runs, {after:.0f} MB after all"
        print(f"{f'{n} stored runs, warm':36} {seconds:8.3f} s   {memory}")

    def stored(self, n: int) -> list[Path]:
        """`n` files with the stored columns of the runs, repeated as needed."""
        stored: list[Path] = []
        for place in tqdm(range(n), desc="storing", leave=False, disable=None):
            path = self.folder / f"{place}.npz"
            if place < len(self.paths):
                path.write_bytes(columns.save(read_runs([self.paths[place]])[0]))
            else:
                path.write_bytes(stored[place % len(self.paths)].read_bytes())
            stored.append(path)
        return stored

    def all(self) -> None:
        paths, n = self.paths, len(self.paths)
        self.compare(
            f"{n} files, whole process",
            lambda: command(self.qrels, paths),
            lambda: theirs_command(self.qrels, paths),
        )
        first = paths[:1]
        self.compare(
            "1 file, whole process",
            lambda: command(self.qrels, first),
            lambda: theirs_command(self.qrels, first),
        )
        stored, runs, nested = self.stored(n), read_runs(paths), [read_nested(path) for path in paths]
        grades = read_grades(self.qrels)
        theirs = lambda: theirs_nested(grades, nested)  # noqa: E731
        self.compare(f"{n} stored runs, warm", lambda: score_stored(self.judged, stored), theirs)
        self.compare(f"{n} runs as arrays, warm", lambda: score_arrays(self.judged, runs), theirs)
        difference = check_same(self.judged, score_arrays(self.judged, runs), theirs())
        print(f"largest difference from pytrec_eval over all topics of all runs: {difference:.1e}")


def measure(qrels: Path, paths: Sequence[Path], repeats: int, many: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        session = Session(qrels, paths, Path(folder), repeats)
        session.many(many)
        session.all()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("qrels", nargs="?", type=Path)
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--shared", type=Path, default=os.environ.get("ASSAY_SHARED"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--many", type=int, default=500, help="number of stored runs to score for their memory (default: 500)"
    )
    parser.add_argument("--theirs", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.theirs:
        theirs_files(arguments.qrels, arguments.runs)
    elif arguments.runs:
        measure(arguments.qrels, arguments.runs, arguments.repeats, arguments.many)
    elif arguments.shared:
        with tempfile.TemporaryDirectory() as folder:
            measure(*made_runs(Path(arguments.shared), Path(folder)), arguments.repeats, arguments.many)
    else:
        parser.error("give qrels and runs, or --shared, or set ASSAY_SHARED")


if __name__ == "__main__":
    main()
