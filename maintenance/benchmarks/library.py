"""Scoring compared with pytrec_eval, and significance tests compared with SciPy."""

import itertools
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.formats.qrels.reader import parse_qrels
from assay.formats.runs import columns
from assay.formats.runs.columns import Ranking, RunColumns
from assay.formats.runs.reader import check_run
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.protocols.loader import load_protocol
from assay.protocols.measures import parse_measures
from maintenance.benchmarks.harness import ROOT, SHARED, case, figure, peak_memory, timed

QRELS = SHARED / "data" / "arqmath" / "qrels" / "qrels.arqmath-2021-task1-official.txt"
PROTOCOL = "arqmath-2021-task1"
MEASURES = ["nDCG'", "AP(rel=2)'", "P(rel=2)@10'", "bpref(rel=2)"]
THEIR_NAMES = ["ndcg", "map", "P_10", "bpref"]
# Without cached bytecode, compiling the modules would take longer than running them.
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@case
def scoring(*, qrels: Path = QRELS, runs: tuple[Path, ...] = (), repeats: int = 5, many: int = 500) -> None:
    """Score 36 runs of 100 topics x 1000 documents, compared with pytrec_eval-terrier.

    The runs are those that bench/make_runs.py of the folder ASSAY_SHARED makes, or files with the five columns of
    ARQMath or the six of TREC. Four measures, per topic: nDCG', AP(rel=2)', P(rel=2)@10', bpref(rel=2). Seconds are
    medians. Whole processes read files; warm ones have stored columns or arrays, and pytrec_eval dictionaries in
    memory. First, --many stored runs are scored in this process, with its peak memory.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, files = Path(name), runs or made_runs(Path(name), qrels)
        score_stored(qrels, files[:many], folder, many)  # before anything else uses memory
        compare_with_pytrec_eval(qrels, files, folder, repeats)


def made_runs(folder: Path, qrels: Path) -> tuple[Path, ...]:
    """The 36 runs that bench/make_runs.py makes."""
    script = SHARED / "bench" / "make_runs.py"
    if missing := [str(file) for file in (script, qrels) if not file.exists()]:
        raise SystemExit(f"there is no {missing[0]}; name the files, or set ASSAY_SHARED")
    subprocess.run([sys.executable, script, folder, qrels], check=True)
    return tuple(sorted((folder / "tsv").glob("*.tsv")))


def read(path: Path) -> RunColumns:
    """Read a run like an upload: every line is checked."""
    checked = check_run(path, protocol=load_protocol(PROTOCOL), name=path.name)
    if checked.columns is None:
        raise SystemExit(f"{path}: {checked.report.errors[0]}")
    return checked.columns


def score(run: RunColumns | Ranking, judged: JudgedDocuments) -> NDArray[np.float64]:
    return score_run(run, judged, parse_measures(MEASURES)).values


def store(runs: Iterable[RunColumns], folder: Path) -> list[Path]:
    paths = []
    for n, run in enumerate(runs):
        paths.append(folder / f"{n}.npz")
        paths[n].write_bytes(columns.save(run))
    return paths


def score_stored(qrels: Path, files: Sequence[Path], folder: Path, many: int) -> None:
    judged = JudgedDocuments(parse_qrels(qrels.read_bytes()))
    stored = store(map(read, files), folder)
    start, first = time.perf_counter(), 0.0
    for n, path in enumerate(itertools.islice(itertools.cycle(stored), many), 1):
        score(columns.load_ranking(path), judged)
        first = peak_memory() if n == len(stored) else first
    note = f"peak {first:.0f} MB after {len(stored)} runs, {peak_memory():.0f} MB after all"
    figure(f"{many} stored runs, warm", time.perf_counter() - start, note=note)


def compare_with_pytrec_eval(qrels: Path, files: Sequence[Path], folder: Path, repeats: int) -> None:
    from maintenance.benchmarks import peers

    def process(*words: object) -> Callable[[], object]:
        line = [sys.executable, "-m", *map(str, words)]
        return partial(subprocess.run, line, cwd=ROOT, env=COMPILED, check=True, stdout=subprocess.DEVNULL)

    def compare(label: str, work: Callable[[], object], peer: Callable[[], object]) -> None:
        work(), peer()  # warm up: files are in the cache of the system, modules are compiled
        seconds = timed(work, repeats).seconds
        figure(label, seconds, "s", {"pytrec_eval": timed(peer, repeats).seconds})

    options = [
        f"--protocol={PROTOCOL}",
        "--per-topic",
        "--quiet",
        *(f"--measure={name}" for name in MEASURES),
    ]
    for label, some in ((f"{len(files)} files", files), ("1 file", files[:1])):
        ours = process("assay", "evaluate", *options, "--qrels", qrels, *some)
        compare(f"{label}, whole process", ours, process("maintenance.benchmarks.peers", qrels, *some))
    judged, runs = JudgedDocuments(parse_qrels(qrels.read_bytes())), [read(path) for path in files]
    grades, nested = peers.read_grades(qrels), [peers.read_run(path) for path in files]
    stored, load, evaluate = (
        store(runs, folder),
        columns.load_ranking,
        partial(peers.evaluate, grades, nested),
    )
    compare(
        f"{len(files)} stored runs, warm", lambda: [score(load(path), judged) for path in stored], evaluate
    )
    compare(f"{len(files)} runs as arrays, warm", lambda: [score(run, judged) for run in runs], evaluate)
    # Not 0, because trec_eval 9 cuts scores to 32 bits, so some tie
    difference = max(
        abs(float(values[row, n]) - of_run[topic][name])
        for values, of_run in zip([score(run, judged) for run in runs], evaluate(), strict=True)
        for row, topic in enumerate(judged.topics.tolist())
        if topic in of_run
        for n, name in enumerate(THEIR_NAMES)
    )
    print(f"largest difference from pytrec_eval over all topics of all runs: {difference:.1e}")


@case
def in_python(*, qrels: Path = QRELS, runs: tuple[Path, ...] = (), repeats: int = 5) -> None:
    """Score 36 runs in Python, compared with the command, pytrec_eval, ir_measures and ranx.

    The runs and measures are those of the case `scoring`. `import assay` and a script that scores files are whole
    processes; the script is compared with the command. Figures are medians of CPU time, which other work of the machine
    changes less. Dictionaries are in memory: `assay.evaluate` checks and sorts them, and the peers score them.
    ir_measures and ranx are measured if they are installed. ranx is compiled before, and computes three measures of all
    documents, because it cannot leave out unjudged ones.
    """
    with tempfile.TemporaryDirectory() as name:
        files = runs or made_runs(Path(name), qrels)
        compare_files(qrels, files, repeats)
        compare_dictionaries(qrels, files, repeats)


def compare_files(qrels: Path, files: Sequence[Path], repeats: int) -> None:
    """A script that scores files, and the command."""

    def process(*words: object) -> Callable[[], object]:
        line = [sys.executable, *map(str, words)]
        return partial(subprocess.run, line, cwd=ROOT, env=COMPILED, check=True, stdout=subprocess.DEVNULL)

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def seconds(work: Callable[[], object]) -> float:
        times = []
        for _ in range(repeats + 1):  # the first one reads the files into the memory of the machine
            before = used()
            work()
            times.append(used() - before)
        return statistics.median(times[1:])

    figure("import assay, whole process", seconds(process("-c", "import assay")))
    arguments = f"{str(qrels)!r}, {list(map(str, files))!r}, {MEASURES!r}, protocol={PROTOCOL!r}"
    script = process("-c", f"import assay; print(assay.evaluate({arguments}).table())")
    options = [f"--protocol={PROTOCOL}", "--quiet", *(f"--measure={name}" for name in MEASURES)]
    command = process("-m", "assay", "evaluate", *options, "--qrels", qrels, *files)
    figure(f"{len(files)} files, a script", seconds(script), "s", {"the command": seconds(command)})


def compare_dictionaries(qrels: Path, files: Sequence[Path], repeats: int) -> None:
    """Dictionaries in memory, with every peer that is installed."""
    import assay
    from maintenance.benchmarks import peers

    grades = {topic: dict(own) for topic, own in peers.read_grades(qrels).items()}
    nested = {path.stem: {t: dict(own) for t, own in peers.read_run(path).items()} for path in files}
    others: dict[str, Callable[[], object]] = {
        "pytrec_eval": partial(peers.evaluate, grades, list(nested.values()))
    }
    others |= peers.evaluators(grades, nested)
    ours = timed(lambda: assay.evaluate(grades, nested, MEASURES), repeats).cpu
    figure(
        f"{len(files)} dictionaries",
        ours,
        "s",
        {name: timed(work, repeats).cpu for name, work in others.items()},
    )


@case
def significance(*, runs: int = 36, topics: int = 100, repeats: int = 5, permutations: int = 10_000) -> None:
    """Test all pairs of 36 runs on 100 topics for significance, compared with SciPy.

    Scores are random: topics differ much, runs differ little. SciPy's `permutation_test` tests one pair at a time; some
    pairs are measured, and the time for all pairs is calculated. Its `tukey_hsd`, which ranx uses too, is another test:
    it is one-way and treats the differences between topics as noise; the output shows how many pairs it misses.
    Figures are medians of CPU time, which other work of the machine changes less.
    """
    from scipy import stats

    from assay.statistics.intervals import intervals_of_means
    from assay.statistics.significance import paired_t, randomization
    from assay.statistics.tukey import tukey_hsd
    from assay_extensions.analyses.topic_stability import topic_stability

    rng = np.random.default_rng(1)
    hardness, noise = rng.beta(1.0, 2.5, topics), rng.normal(0.0, 0.1, (runs, topics))
    scores = np.clip(hardness + noise + np.linspace(0.0, 0.12, runs)[:, None], 0.0, 1.0)
    n_pairs, n_measured = runs * (runs - 1) // 2, min(5, runs - 1)

    def pairs_of_scipy() -> None:
        for other in range(1, n_measured + 1):
            stats.permutation_test(
                (scores[0] - scores[other],),
                lambda values, axis: values.mean(axis=axis),
                permutation_type="samples",
                vectorized=True,
                n_resamples=permutations - 1,
                rng=np.random.default_rng(1),
            )

    theirs = timed(pairs_of_scipy, repeats).cpu / n_measured * n_pairs
    ours = timed(lambda: randomization(scores, n_permutations=permutations, seed=1), repeats).cpu
    figure(f"paired randomization, {n_pairs} pairs", ours, "s", {"SciPy": theirs})
    tukey = timed(lambda: tukey_hsd(scores, n_permutations=permutations, seed=1), repeats)
    figure(f"randomized Tukey HSD, {n_pairs} pairs", tukey.cpu)
    figure(f"paired t, {n_pairs} pairs", timed(lambda: paired_t(scores), repeats).cpu)
    figure(f"intervals of means, {runs} runs", timed(lambda: intervals_of_means(scores), repeats).cpu)
    figure("stability by topics, 1,000 samples", timed(lambda: topic_stability(scores, seed=1)).cpu)
    upper = np.triu_indices(runs, 1)
    print(
        f"significant at 0.05: {tukey.result.is_significant()[upper].sum():,} of {n_pairs:,} pairs by the randomized "
        f"test, {(stats.tukey_hsd(*scores).pvalue <= 0.05)[upper].sum():,} by SciPy's tukey_hsd"
    )
