"""Speed of checking and pooling runs, compared with trectools.

    python benchmarks/pooling_speed.py [--runs 36] [--directory DIR]

The script makes runs of 100 topics x 1000 documents (every third run has many ties), or uses the 5-column files of a
folder. It prints medians of several repeats. If trectools is installed, it pools the same runs in the same process, and
the number of common units is printed. With `--scale 36,100,200`, each number of runs is pooled from stored columns in a
separate process, and its time and peak memory are printed.
"""

import argparse
import io
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.formats.runs import columns
from assay.formats.runs.reader import check_run
from assay.pools.strategies import BuiltPool, PoolInput, build_pool
from assay.protocols.loader import load_protocol

try:
    from trectools import TrecPoolMaker, TrecRun
except ImportError:
    TrecRun = None

PROTOCOL = load_protocol("arqmath-2020-task1")
TOPICS, DEPTH, PRIMARY = 100, 1000, 45


def write_runs(directory: Path, n: int) -> None:
    """Runs whose documents overlap like those of a campaign: a common core, and other documents."""
    for number in range(n):
        rng = np.random.default_rng(number)
        with (directory / f"run{number:02d}.tsv").open("w") as file:
            for topic in range(1, TOPICS + 1):
                core = np.random.default_rng([topic]).choice(2_000_000, 3000, replace=False)
                documents = rng.permutation(core)[:DEPTH]
                scores = np.sort(rng.normal(20, 5, DEPTH))[::-1]
                scores = scores.round(1) if number % 3 == 0 else scores
                for rank, (docno, score) in enumerate(zip(documents, scores, strict=True), 1):
                    file.write(f"A.{topic}\t{docno}\t{rank}\t{float(score)!r}\trun{number:02d}\n")


def make_stored(number: int) -> bytes:
    """The stored columns of such a run."""
    rng = np.random.default_rng(number)
    cores = [np.random.default_rng([topic]).choice(2_000_000, 3000, replace=False) for topic in range(TOPICS)]
    documents = np.concatenate([rng.permutation(core)[:DEPTH] for core in cores])
    run = columns.RunColumns(
        topics=np.array(sorted(f"A.{topic}" for topic in range(TOPICS))),
        topic_index=np.repeat(np.arange(TOPICS, dtype=np.int32), DEPTH),
        docno=documents.astype("S"),
        rank=np.tile(np.arange(1, DEPTH + 1, dtype=np.int32), TOPICS),
        score=np.tile(np.arange(DEPTH, 0, -1, dtype=np.float64), TOPICS),
    )
    return columns.save(run)


def measure_one(n_runs: int) -> None:
    """Print seconds to pool, and the growth of peak memory in MB, of this process."""
    stored = [make_stored(number) for number in range(n_runs)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    pool_stored(stored)
    seconds = time.perf_counter() - start
    print(seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


def measure_scale(numbers: list[int]) -> None:
    print("runs     seconds  per run   peak memory per run")
    for number in numbers:
        command = [sys.executable, __file__, "--one", str(number)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        seconds, memory = map(float, output.split())
        per_run = f"{seconds / number * 1000:5.1f} ms  {memory:8.0f} MB  {memory / number:5.1f} MB"
        print(f"{number:4}  {seconds:8.3f} s  {per_run}")


def timed(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Median seconds, and the last result."""
    seconds, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), result


def pool_stored(stored: list[bytes]) -> BuiltPool:
    """Pool from stored columns, like the worker."""
    inputs = [
        PoolInput(columns.load(io.BytesIO(data)), "team", str(i), "primary") for i, data in enumerate(stored)
    ]
    return build_pool(inputs, protocol=PROTOCOL, seed=1, depth={"primary": PRIMARY})


def pool_files(files: list[Path]) -> BuiltPool:
    """Pool from text files, like the command."""
    runs = [check_run(file, protocol=PROTOCOL, name=file.name).columns for file in files]
    inputs = [PoolInput(run, "team", str(i), "primary") for i, run in enumerate(runs) if run is not None]
    return build_pool(inputs, protocol=PROTOCOL, seed=1, depth={"primary": PRIMARY})


def pool_trectools(files: list[Path]) -> dict[str, set[str]]:
    """The same pool by trectools, from the same runs in the TREC format."""
    runs = [TrecRun(str(file)) for file in files]
    return dict(TrecPoolMaker().make_pool(runs, strategy="topX", topX=PRIMARY).pool)


def units(pool: BuiltPool) -> dict[str, set[str]]:
    """Docnos by topic."""
    codes = pool.units.topics.tolist()
    by_topic: dict[str, set[str]] = {}
    for topic, docno in zip(pool.units.topic_index.tolist(), pool.units.docno.tolist(), strict=True):
        by_topic.setdefault(codes[topic], set()).add(docno.decode())
    return by_topic


def as_trec(files: list[Path], directory: Path) -> list[Path]:
    directory.mkdir()
    for file in files:
        lines = (line.split("\t") for line in file.read_text().splitlines())
        text = "".join(f"{t} Q0 {d} {r} {s} {tag}\n" for t, d, r, s, tag in lines)
        (directory / file.name).write_text(text)
    return [directory / file.name for file in files]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=36)
    parser.add_argument("--directory", type=Path, help="5-column runs to use instead of generated ones")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--scale", metavar="N,N,...", help="numbers of runs to pool, each in a separate process"
    )
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure_one(options.one)
    elif options.scale:
        measure_scale([int(number) for number in options.scale.split(",")])
    else:
        compare(options.directory, options.runs, options.repeats)


def compare(directory: Path | None, n: int, repeats: int) -> None:
    """Measure with the files of a folder, or with generated runs."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = directory or Path(temporary)
        if directory is None:
            write_runs(folder, n)
        measure(sorted(folder.glob("*.tsv"))[:n], repeats, Path(temporary) / "trec")


def measure(files: list[Path], repeats: int, scratch: Path) -> None:
    seconds, checked = timed(lambda: check_run(files[0], protocol=PROTOCOL, name="run"), repeats)
    print(f"check one run of {checked.report.n_lines:,} lines        {seconds:8.3f} s")
    stored = []
    for file in files:
        run = check_run(file, protocol=PROTOCOL, name=file.name).columns
        if run is None:
            raise SystemExit(f"{file} has errors; assay check lists them")
        stored.append(columns.save(run))
    seconds, pool = timed(lambda: pool_stored(stored), repeats)
    print(f"pool {len(files)} runs from stored columns       {seconds:8.3f} s   {len(pool.units):,} units")
    from_text, pool = timed(lambda: pool_files(files), max(1, repeats // 2))
    print(f"pool {len(files)} runs from text, checked       {from_text:8.3f} s")
    if TrecRun is None:
        print("trectools is not installed: no comparison")
        return
    trec = as_trec(files, scratch)
    theirs, their_units = timed(lambda: pool_trectools(trec), 1)
    ours, pool = timed(lambda: pool_files(trec), max(1, repeats // 2))
    shared = sum(len(docnos & their_units[topic]) for topic, docnos in units(pool).items())
    print(
        f"the same in the TREC format: Assay {ours:.3f} s, trectools {theirs:.3f} s: {theirs / ours:.1f} times as long"
    )
    print(f"common units: {shared:,} of {len(pool.units):,} (the others tie at the depth in a run)")


if __name__ == "__main__":
    main()
