"""Speed of pooling runs of formulas, compared with a plain implementation in Python.

    python benchmarks/formula_pooling_speed.py [--runs 17]

The script makes runs of 100 topics x 1000 formula instances that overlap like those of a campaign; few visual ids are
frequent, most are rare. It pools them from stored columns by `arqmath-2021-task2`: to the 20th distinct formula, with
up to five instances of each. The plain implementation pools the same runs, and must give the same pool. With `--scale
17,50,100,200`, each number of runs is pooled in a separate process, and its time and peak memory are printed.
"""

import argparse
import io
import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.formats.runs import columns
from assay.formats.runs.columns import RunColumns
from assay.formulas.columns import Formulas
from assay.passages import leaders
from assay.pools.strategies import BuiltPool, PoolInput, build_pool
from assay.protocols.loader import load_protocol

PROTOCOL = load_protocol("arqmath-2021-task2")
TOPICS, DEPTH = 100, 1000
INSTANCES, VISUAL_IDS, CORE = 200_000, 60_000, 3000


def make_formulas() -> Formulas:
    rng = np.random.default_rng(1)
    ids = np.array(sorted(b"%d" % number for number in rng.choice(28_000_000, INSTANCES, replace=False)))
    visual = rng.zipf(1.3, INSTANCES) % VISUAL_IDS
    return Formulas(
        formula=ids,
        post=np.array([b"%d" % (i // 10) for i in range(INSTANCES)]),
        thread=np.array([b"%d" % (i // 30) for i in range(INSTANCES)]),
        place=np.full(INSTANCES, 2, dtype=np.uint8),
        visual=np.array([b"%d" % number for number in visual]),
    )


def make_run(number: int, formulas: Formulas) -> bytes:
    """Stored columns of a run: some of the core instances of each topic, in random order."""
    rng = np.random.default_rng(number)
    cores = [
        np.random.default_rng([7, topic]).choice(INSTANCES, CORE, replace=False) for topic in range(TOPICS)
    ]
    rows = np.concatenate([rng.permutation(core)[:DEPTH] for core in cores])
    run = RunColumns(
        topics=np.array([f"B.{topic + 201}" for topic in range(TOPICS)]),
        topic_index=np.repeat(np.arange(TOPICS, dtype=np.int32), DEPTH),
        docno=formulas.formula[rows],
        rank=np.tile(np.arange(1, DEPTH + 1, dtype=np.int32), TOPICS),
        score=np.tile(np.arange(DEPTH, 0, -1, dtype=np.float64), TOPICS),
    )
    return columns.save(run)


def pool_stored(stored: list[bytes], formulas: Formulas) -> BuiltPool:
    """Pool from stored columns, like the worker."""
    runs = [columns.load(io.BytesIO(data)) for data in stored]
    inputs = [PoolInput(run, f"team{i // 3}", f"run{i}", "primary") for i, run in enumerate(runs)]
    return build_pool(inputs, protocol=PROTOCOL, seed=1, formulas=formulas)


def pool_plainly(stored: list[bytes], formulas: Formulas) -> set[tuple[str, bytes]]:
    """A plain implementation: the first distinct formulas of each run, then the votes of their instances."""
    visual = dict(zip(formulas.formula.tolist(), formulas.visual.tolist(), strict=True))
    ranked = [ranking for data in stored for ranking in rankings(columns.load(io.BytesIO(data)))]
    pool: set[tuple[str, bytes]] = set()
    for topic, formulas_of_topic in ranked:
        pool |= {(topic, distinct) for distinct in first_distinct(formulas_of_topic, visual)}
    votes: dict[tuple[str, bytes], dict[bytes, float]] = defaultdict(lambda: defaultdict(float))
    for topic, formulas_of_topic in ranked:
        for rank, formula in enumerate(formulas_of_topic, 1):
            unit = topic, visual[formula]
            if unit in pool:
                votes[unit][formula] += 1 / rank
    for instances in votes.values():
        sorted(instances, key=instances.__getitem__, reverse=True)[: PROTOCOL.instances.limit]
    return pool


def first_distinct(ranked: list[bytes], visual: dict[bytes, bytes]) -> set[bytes]:
    distinct: set[bytes] = set()
    for formula in ranked:
        distinct.add(visual[formula])
        if len(distinct) == PROTOCOL.runs.depths["primary"]:
            break
    return distinct


def rankings(run: RunColumns) -> list[tuple[str, list[bytes]]]:
    docnos, borders = run.docno.tolist(), run.offsets.tolist()
    return [(topic, docnos[borders[i] : borders[i + 1]]) for i, topic in enumerate(run.topics.tolist())]


def measure(n_runs: int, repeats: int) -> None:
    formulas = make_formulas()
    stored = [make_run(number, formulas) for number in range(n_runs)]
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        pool = pool_stored(stored, formulas)
        seconds.append(time.perf_counter() - start)
    ours = statistics.median(seconds)
    assert pool.members is not None
    print(f"distinct-units, {n_runs} runs x {TOPICS} x {DEPTH}, from stored columns  {ours:8.3f} s")
    n_shown = int((pool.members.position > 0).sum())
    print(f"    {len(pool.units):,} formulas, {len(pool.members):,} instances, {n_shown:,} of them chosen")
    start = time.perf_counter()
    plain = pool_plainly(stored, formulas)
    theirs = time.perf_counter() - start
    codes = pool.units.topics.tolist()
    units = {(codes[t], d) for t, d in zip(pool.units.topic_index, pool.units.docno.tolist(), strict=True)}
    print(f"plain implementation in Python  {theirs:8.3f} s: {theirs / ours:.1f} times as long")
    print(f"    {'the same pool' if units == plain else 'ANOTHER POOL'}")


def measure_near_duplicates(n: int) -> None:
    """Passages of 40 words; a tenth of them repeat another passage with the last word changed."""
    rng = np.random.default_rng(3)
    words = rng.zipf(1.2, (n, 40)) % 30_000
    repeated = rng.integers(1, n, n // 10)
    words[repeated] = words[repeated - 1]
    words[repeated, -1] = rng.integers(0, 30_000, len(repeated))
    passages = [" ".join(map(str, row)) for row in words.tolist()]
    start = time.perf_counter()
    leader = leaders(passages, 0.95)
    seconds = time.perf_counter() - start
    print(f"near-duplicates among {n:,} passages of a topic {seconds:8.3f} s, {len(set(leader)):,} groups")


def measure_scale(numbers: list[int]) -> None:
    print("runs     seconds  per run   peak memory per run")
    for number in numbers:
        command = [sys.executable, __file__, "--one", str(number)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        seconds, memory = map(float, output.split())
        per_run = f"{seconds / number * 1000:5.1f} ms  {memory:8.0f} MB  {memory / number:5.1f} MB"
        print(f"{number:4}  {seconds:8.3f} s  {per_run}")


def measure_one(n_runs: int) -> None:
    """Print seconds to pool, and the growth of peak memory in MB, of this process."""
    formulas = make_formulas()
    stored = [make_run(number, formulas) for number in range(n_runs)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    pool_stored(stored, formulas)
    seconds = time.perf_counter() - start
    print(seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=17)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--passages", type=int, default=100_000)
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
        measure(options.runs, options.repeats)
        measure_near_duplicates(options.passages)


if __name__ == "__main__":
    main()
