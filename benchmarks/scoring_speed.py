"""How fast runs are scored: 36 runs of 100 topics x 1000 documents, beside pytrec_eval-terrier in the same session.

    python benchmarks/scoring_speed.py QRELS RUN...            runs in ARQMath's five columns or TREC's six
    python benchmarks/scoring_speed.py --shared FOLDER         makes the 36 runs with FOLDER/bench/make_runs.py
    ASSAY_SHARED=FOLDER python benchmarks/scoring_speed.py     the same

Four measures, per topic: nDCG', AP(rel=2)', P(rel=2)@10', bpref(rel=2). Medians of `--repeats` on the clock.

Whole processes, from the start of Python to the last line printed: `assay evaluate` of all runs, by as many
processes as there are processors, and of one run; beside it a process that reads the files by the quickest loop that
there is, without any check, into the dictionaries that pytrec_eval wants, and evaluates them.
In one warm process, as a worker is: from stored columns, and from arrays; beside it pytrec_eval from dictionaries that
are there already. And `--many` stored runs, with the memory that the process had at its most, after 36 and after all.
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

MEASURES = parse_measures(["nDCG'", "AP(rel=2)'", "P(rel=2)@10'", "bpref(rel=2)"])
THEIRS = {"ndcg", "map", "P.10", "bpref"}
NAMES = ["ndcg", "map", "P_10", "bpref"]
Nested = dict[str, dict[str, float]]


# A module that is compiled again at each start takes longer to compile than to run.
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
NAMED = ["nDCG'", "AP(rel=2)'", "P(rel=2)@10'", "bpref(rel=2)"]
PROTOCOL = "arqmath-2021-task1"
ROOT = Path(__file__).resolve().parents[1]


def read_runs(paths: Sequence[Path]) -> list[RunColumns]:
    """Runs as an upload reads them: every line checked."""
    protocol = load_protocol(PROTOCOL)
    runs = []
    for path in paths:
        checked = check_run(path, protocol=protocol, name=path.name)
        if checked.columns is None:
            sys.exit(f"{path}: {checked.report.errors[0]}")
        runs.append(checked.columns)
    return runs


def command(qrels: Path, paths: Sequence[Path]) -> None:
    """Our whole process."""
    line = [sys.executable, "-m", "assay", "evaluate", "--protocol", PROTOCOL, "--qrels", str(qrels)]
    line += ["--per-topic", "--quiet", *map(str, paths), "--measure", *NAMED]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, cwd=ROOT, env=COMPILED)


def theirs_command(qrels: Path, paths: Sequence[Path]) -> None:
    """Theirs: this script, told to do nothing else."""
    line = [sys.executable, str(Path(__file__).resolve()), "--theirs", str(qrels), *map(str, paths)]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)


def score_stored(judged: JudgedDocuments, stored: Sequence[Path]) -> list[np.ndarray]:
    return [score_run(columns.load_ranking(one), judged, MEASURES).values for one in stored]


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


def median_seconds(what: str, work: Callable[[], object], repeats: int) -> float:
    taken = []
    for _ in tqdm(range(repeats), desc=what, leave=False, disable=None):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def most_memory() -> float:
    """MB that this process had at its most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024)


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


class Session:
    """Everything is timed beside its peer, one after the other."""

    def __init__(self, qrels: Path, paths: Sequence[Path], folder: Path, repeats: int) -> None:
        self.qrels, self.paths, self.folder, self.repeats = qrels, paths, folder, repeats
        self.judged = JudgedDocuments(parse_qrels(qrels.read_bytes()))
        print(
            f"{len(paths)} runs, {self.judged.n_topics} topics judged; {os.cpu_count()} cores, "
            f"Python {platform.python_version()}, NumPy {np.__version__}, medians of {repeats}"
        )

    def beside(self, what: str, ours: Callable[[], object], theirs: Callable[[], object]) -> None:
        ours(), theirs()  # warm: files are in the system's cache, modules compiled
        mine, other = median_seconds(what, ours, self.repeats), median_seconds(what, theirs, self.repeats)
        print(f"{what:36} {mine:8.3f} s   pytrec_eval {other:8.3f} s   ratio {other / mine:5.1f}")

    def many(self, n: int) -> None:
        """`n` stored runs in one warm process, and its memory; before anything else fills it."""
        stored = self.stored(n)
        score_stored(self.judged, stored[: len(self.paths)])
        before = most_memory()
        start = time.perf_counter()
        for one in stored:
            score_run(columns.load_ranking(one), self.judged, MEASURES)
        taken, after = time.perf_counter() - start, most_memory()
        memory = f"at most {before:.0f} MB after {len(self.paths)}, {after:.0f} MB after all"
        print(f"{f'{n} stored runs, warm':36} {taken:8.3f} s   {memory}")

    def stored(self, n: int) -> list[Path]:
        """Columns files of the runs, as often as it takes; each a file of its own."""
        found = []
        for place in tqdm(range(n), desc="storing", leave=False, disable=None):
            path = self.folder / f"{place}.npz"
            if place < len(self.paths):
                path.write_bytes(columns.save(read_runs([self.paths[place]])[0]))
            else:
                path.write_bytes(found[place % len(self.paths)].read_bytes())
            found.append(path)
        return found

    def all(self) -> None:
        paths, n = self.paths, len(self.paths)
        self.beside(
            f"{n} files, whole process",
            lambda: command(self.qrels, paths),
            lambda: theirs_command(self.qrels, paths),
        )
        one = paths[:1]
        self.beside(
            "1 file, whole process", lambda: command(self.qrels, one), lambda: theirs_command(self.qrels, one)
        )
        stored, runs, nested = self.stored(n), read_runs(paths), [read_nested(path) for path in paths]
        grades = read_grades(self.qrels)
        theirs = lambda: theirs_nested(grades, nested)  # noqa: E731
        self.beside(f"{n} stored runs, warm", lambda: score_stored(self.judged, stored), theirs)
        self.beside(f"{n} runs as arrays, warm", lambda: score_arrays(self.judged, runs), theirs)
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
    parser.add_argument("--many", type=int, default=500, help="stored runs that are scored for their memory")
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
