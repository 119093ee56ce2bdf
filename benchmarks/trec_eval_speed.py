"""Speed of `assay trec_eval -m all_trec -q`, compared with pytrec_eval-terrier with all its measures.

    python benchmarks/trec_eval_speed.py QRELS RUN             a run with the six columns of TREC, plain or gzip
    ASSAY_SHARED=FOLDER python benchmarks/trec_eval_speed.py   a real run of the shared folder

Both run as whole processes, from the files to the values of every topic, and in a process that has imported everything.
pytrec_eval gets the fastest reader in plain Python, without checks. The last line is for the four measures of ARQMath
(nDCG', AP(rel=2)', P(rel=2)@10', bpref(rel=2)) as a whole process. Each number is the minimum of `--repeats`, which
other work of the machine changes least.
"""

import argparse
import contextlib
import gzip
import io
import os
import platform
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

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
ALL = ["-q", "-m", "all_trec"]
FOUR = ["-q", "-J", "-l2", "-m", "ndcg", "-m", "map", "-m", "P.10", "-m", "bpref"]
NOT_COMPARED = (
    "iprec_at_recall",
    "11pt_avg",
    "utility",
    "gm_",
    "rbp",
    "unj",
)  # different in trec_eval 9, or missing

Values = dict[tuple[str, str], float]


def theirs(qrels: Path, run: Path) -> Values:
    """All measures of pytrec_eval, by topic."""
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in qrels.read_text().splitlines():
        topic, _, docno, grade = line.split()
        grades[topic][docno] = int(grade)
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    for line in run.read_text().splitlines():
        topic, _, docno, _, score, _ = line.split()
        scores[topic][docno] = float(score)
    evaluator = pytrec_eval.RelevanceEvaluator(grades, pytrec_eval.supported_measures)
    evaluated = evaluator.evaluate(scores)
    return {(name, topic): value for topic, values in evaluated.items() for name, value in values.items()}


def ours(qrels: Path, run: Path) -> Values:
    """The values that `-q -m all_trec` prints."""
    from assay.trec_eval.command import main  # here, because the process of pytrec_eval does not need it

    printed = io.TextIOWrapper(io.BytesIO())
    with contextlib.redirect_stdout(printed):
        assert main([*ALL, str(qrels), str(run)]) == 0
    lines = printed.buffer.getvalue().decode().splitlines()  # type: ignore[attr-defined]
    cells = [line.split("\t") for line in lines if not line.startswith(("relstring", "runid"))]
    return {(name.strip(), topic): float(value) for name, topic, value in cells}


def largest_difference(mine: Values, other: Values) -> tuple[float, int]:
    """Over all values with the same definition. trec_eval 9 cuts scores to 32 bits, so some tie."""
    shared = [key for key in mine if key in other and not key[0].startswith(NOT_COMPARED)]
    return max(abs(mine[key] - other[key]) for key in shared), len(shared)


def least_seconds(label: str, work: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in tqdm(range(repeats), desc=label, leave=False, disable=None):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def process(words: Sequence[str]) -> Callable[[], object]:
    command = [sys.executable, *words]
    return lambda: subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


def plain(run: Path, folder: Path) -> Path:
    if run.suffix != ".gz":
        return run
    unpacked = folder / run.stem
    unpacked.write_bytes(gzip.decompress(run.read_bytes()))
    return unpacked


def measure(qrels: Path, run: Path, repeats: int) -> None:
    n_lines = run.read_bytes().count(b"\n")
    print(
        f"{run.name}: {n_lines:,} lines; {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, minimum of {repeats}"
    )
    difference, n_values = largest_difference(ours(qrels, run), theirs(qrels, run))
    print(
        f"largest difference in {n_values:,} values, which are printed with four decimals: {difference:.1e}"
    )
    files = [str(qrels), str(run)]
    ways = {
        "Assay, all measures, process": process(["-m", "assay", "trec_eval", *ALL, *files]),
        "pytrec_eval, all measures, process": process([__file__, "--theirs", *files]),
        "Assay, all measures, loaded": lambda: ours(qrels, run),
        "pytrec_eval, all measures, loaded": lambda: theirs(qrels, run),
        "Assay, four measures, process": process(["-m", "assay", "trec_eval", *FOUR, *files]),
    }
    seconds = {label: least_seconds(label, work, repeats) for label, work in ways.items()}
    for label, least in seconds.items():
        print(f"{label:36} {least:7.3f} s")
    for how in ("process", "loaded"):
        ratio = seconds[f"pytrec_eval, all measures, {how}"] / seconds[f"Assay, all measures, {how}"]
        print(f"all measures, {how}: Assay is {ratio:.1f} times as fast as pytrec_eval")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("qrels", nargs="?", type=Path)
    parser.add_argument("run", nargs="?", type=Path)
    parser.add_argument("--shared", type=Path, default=os.environ.get("ASSAY_SHARED"))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--theirs", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.theirs:
        theirs(arguments.qrels, arguments.run)
    elif arguments.run:
        with tempfile.TemporaryDirectory() as folder:
            measure(arguments.qrels, plain(arguments.run, Path(folder)), arguments.repeats)
    elif arguments.shared:
        data = Path(arguments.shared) / "data" / "arqmath"
        with tempfile.TemporaryDirectory() as folder:
            run = plain(data / "runs" / "psu-task1-auto-both-A.tsv.gz", Path(folder))
            measure(data / "qrels" / "qrels.arqmath-2020-task1.txt", run, arguments.repeats)
    else:
        parser.error("give qrels and a run, or --shared, or set ASSAY_SHARED")


if __name__ == "__main__":
    main()
