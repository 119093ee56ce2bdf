"""Figures of the library: scoring, significance tests, pooling, measures in characters, SLT strings."""

import contextlib
import csv
import gzip
import io
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.formats.qrels.reader import columns_from, parse_qrels
from assay.formats.runs import columns
from assay.formats.runs.columns import RunColumns
from assay.formats.runs.reader import check_run
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import score_run
from assay.pools.strategies import BuiltPool, PoolInput, build_pool
from assay.protocols.loader import load_protocol
from assay.protocols.measures import parse_measures
from maintenance.benchmarks.harness import ROOT, SHARED, case, figure, forked, peak_memory, timed

ARQMATH = SHARED / "data" / "arqmath"
# Without cached bytecode, compiling the modules would take longer than running them.
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def process(*words: object) -> Callable[[], object]:
    line = [sys.executable, "-m", *map(str, words)]
    return partial(subprocess.run, line, cwd=ROOT, env=COMPILED, check=True, stdout=subprocess.DEVNULL)


def existing(*files: Path) -> None:
    for file in files:
        if not file.exists():
            raise SystemExit(
                f"there is no {file}; name the files, or set ASSAY_SHARED to the folder of real files"
            )


# -- scoring, compared with pytrec_eval


@case
def scoring(*, qrels: str = "", runs: tuple[str, ...] = (), repeats: int = 5, many: int = 500) -> None:
    """Score 36 runs of 100 topics x 1000 documents, compared with pytrec_eval-terrier.

    The runs are those that bench/make_runs.py of the folder ASSAY_SHARED makes, or files with the five columns of
    ARQMath or the six of TREC. Four measures, per topic: nDCG', AP(rel=2)', P(rel=2)@10', bpref(rel=2). Seconds are
    medians. Whole processes read files; warm ones have stored columns or arrays, and pytrec_eval dictionaries in
    memory. At last, --many stored runs are scored in this process, with its peak memory.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [Path(run) for run in runs]
        grades = Path(qrels or ARQMATH / "qrels" / "qrels.arqmath-2021-task1-official.txt")
        if not files:
            script = SHARED / "bench" / "make_runs.py"
            existing(script, grades)
            subprocess.run([sys.executable, str(script), str(folder), str(grades)], check=True)
            files = sorted((folder / "tsv").glob("*.tsv"))
        score_stored(grades, files, folder, many)
        _score(grades, files, folder, repeats)


MEASURES = ["nDCG'", "AP(rel=2)'", "P(rel=2)@10'", "bpref(rel=2)"]
THEIR_NAMES = ["ndcg", "map", "P_10", "bpref"]


def read(path: Path, protocol: str = "arqmath-2021-task1") -> RunColumns:
    """Read a run like an upload: every line is checked."""
    checked = check_run(path, protocol=load_protocol(protocol), name=path.name)
    if checked.columns is None:
        raise SystemExit(f"{path}: {checked.report.errors[0]}")
    return checked.columns


def _values(judged: JudgedDocuments, run: Any) -> NDArray[np.float64]:
    return score_run(run, judged, parse_measures(MEASURES)).values


def _stored(path: Path, run: RunColumns) -> Path:
    path.write_bytes(columns.save(run))
    return path


def score_stored(qrels: Path, files: Sequence[Path], folder: Path, many: int) -> None:
    """Score many stored runs, before anything else uses memory."""
    judged = JudgedDocuments(parse_qrels(qrels.read_bytes()))
    stored = [_stored(folder / f"{n}.npz", read(path)) for n, path in enumerate(files[:many])]
    start, first = time.perf_counter(), 0.0
    for n, path in enumerate(itertools.islice(itertools.cycle(stored), many), 1):
        _values(judged, columns.load_ranking(path))
        first = peak_memory() if n == len(stored) else first
    note = f"peak {first:.0f} MB after {len(stored)} runs, {peak_memory():.0f} MB after all"
    figure(f"{many} stored runs, warm", time.perf_counter() - start, note=note)


def _score(qrels: Path, files: Sequence[Path], folder: Path, repeats: int) -> None:
    from maintenance.benchmarks import peers

    judged = JudgedDocuments(parse_qrels(qrels.read_bytes()))
    ours = [
        "assay",
        "evaluate",
        "--protocol",
        "arqmath-2021-task1",
        "--qrels",
        qrels,
        "--per-topic",
        "--quiet",
    ]
    ours += [f"--measure={name}" for name in MEASURES]
    theirs = ["maintenance.benchmarks.peers", "four", qrels]

    def compare(label: str, work: Callable[[], object], peer: Callable[[], object]) -> None:
        work(), peer()  # warm up: files are in the cache of the system, modules are compiled
        seconds = timed(work, repeats).seconds
        figure(label, seconds, "s", {"pytrec_eval": timed(peer, repeats).seconds})

    n = len(files)
    compare(f"{n} files, whole process", process(*ours, *files), process(*theirs, *files))
    compare("1 file, whole process", process(*ours, files[0]), process(*theirs, files[0]))
    runs = [read(path) for path in files]
    stored = [_stored(folder / f"{n}.npz", run) for n, run in enumerate(runs)]
    grades, nested = peers.read_grades(qrels), [peers.read_run(path) for path in files]
    evaluate = partial(peers.four, grades, nested)
    load = columns.load_ranking
    compare(f"{n} stored runs, warm", lambda: [_values(judged, load(path)) for path in stored], evaluate)
    compare(f"{n} runs as arrays, warm", lambda: [_values(judged, run) for run in runs], evaluate)
    difference = max(
        abs(float(values[row, n]) - of_run[topic][name])
        for values, of_run in zip([_values(judged, run) for run in runs], evaluate(), strict=True)
        for row, topic in enumerate(judged.topics.tolist())
        if topic in of_run
        for n, name in enumerate(THEIR_NAMES)
    )  # trec_eval 9 cuts scores to 32 bits, so some tie
    print(f"largest difference from pytrec_eval over all topics of all runs: {difference:.1e}")


@case
def trec_eval(*, qrels: str = "", run: str = "", repeats: int = 7) -> None:
    """Run `assay trec_eval -m all_trec -q` on a real run, compared with pytrec_eval-terrier with all its measures.

    The run has the six columns of TREC, plain or gzip. Each number is the minimum of the repeats, which other work of
    the machine changes least. The last line is for the four measures of ARQMath.
    """
    from maintenance.benchmarks import peers

    grades = Path(qrels or ARQMATH / "qrels" / "qrels.arqmath-2020-task1.txt")
    file = Path(run or ARQMATH / "runs" / "psu-task1-auto-both-A.tsv.gz")
    existing(grades, file)
    with tempfile.TemporaryDirectory() as folder:
        if file.suffix == ".gz":
            plain = Path(folder) / file.stem
            plain.write_bytes(gzip.decompress(file.read_bytes()))
            file = plain
        every = ["-q", "-m", "all_trec"]
        four = ["-q", "-J", "-l2", "-m", "ndcg", "-m", "map", "-m", "P.10", "-m", "bpref"]

        def peer() -> peers.Scores:
            return peers.every(peers.read_grades(grades), peers.read_run(file))

        ours = partial(_printed, [*every, str(grades), str(file)])
        compare_values(ours(), peer())
        seconds: dict[str, Callable[[], object]] = {
            "process": process("assay", "trec_eval", *every, grades, file),
            "peer": process("maintenance.benchmarks.peers", "all", grades, file),
            "loaded": ours,
            "loaded peer": peer,
            "four": process("assay", "trec_eval", *four, grades, file),
        }
        least = {name: timed(work, repeats, min).seconds for name, work in seconds.items()}
    figure("all measures, whole process", least["process"], "s", {"pytrec_eval": least["peer"]})
    figure("all measures, loaded", least["loaded"], "s", {"pytrec_eval": least["loaded peer"]})
    figure("four measures, whole process", least["four"])


def _printed(arguments: list[str]) -> dict[tuple[str, str], float]:
    """The values that a command prints, by measure and topic."""
    from assay.trec_eval.command import main

    printed = io.TextIOWrapper(io.BytesIO())
    with contextlib.redirect_stdout(printed):
        assert main(arguments) == 0
    lines = printed.buffer.getvalue().decode().splitlines()
    cells = [line.split("\t") for line in lines if not line.startswith(("relstring", "runid"))]
    return {(name.strip(), topic): float(value) for name, topic, value in cells}


def compare_values(ours: dict[tuple[str, str], float], theirs: dict[str, dict[str, float]]) -> None:
    """Print the largest difference of values with the same definition."""
    other = (
        "iprec_at_recall",
        "11pt_avg",
        "utility",
        "gm_",
        "rbp",
        "unj",
    )  # different in trec_eval 9, or missing
    differences = [
        abs(ours[name, topic] - value)
        for topic, values in theirs.items()
        for name, value in values.items()
        if (name, topic) in ours and not name.startswith(other)
    ]
    print(f"largest difference in {len(differences):,} values with four decimals: {max(differences):.1e}")


# -- significance tests, compared with SciPy


@case
def significance(*, runs: int = 36, topics: int = 100, repeats: int = 5, permutations: int = 10_000) -> None:
    """Test all pairs of 36 runs on 100 topics for significance, compared with SciPy.

    Scores are random: topics differ much, runs differ little. SciPy's `permutation_test` tests one pair at a time; some
    pairs are measured, and the time for all pairs is calculated. Its `tukey_hsd`, which ranx uses too, is another test:
    it is one-way and treats the differences between topics as noise; the output shows how many pairs it misses.
    Figures are medians of CPU time, which other work of the machine changes less.
    """
    from scipy import stats

    from assay.statistics.intervals import bootstrap
    from assay.statistics.significance import paired_t, randomization
    from assay.statistics.topic_stability import topic_stability
    from assay.statistics.tukey import tukey_hsd

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
    figure(
        f"bootstrap intervals, {runs} runs",
        timed(lambda: bootstrap(scores, n_resamples=permutations, seed=1)).cpu,
    )
    figure("stability by topics, 1,000 samples", timed(lambda: topic_stability(scores, seed=1)).cpu)
    upper = np.triu_indices(runs, 1)
    print(
        f"significant at 0.05: {tukey.result.is_significant()[upper].sum():,} of {n_pairs:,} pairs by the randomized "
        f"test, {(stats.tukey_hsd(*scores).pvalue <= 0.05)[upper].sum():,} by SciPy's tukey_hsd"
    )


# -- pooling, compared with trectools

TOPICS, DEPTH, CORE = 100, 1000, 3000


def made_run(number: int) -> RunColumns:
    """A run that overlaps others like those of a campaign: a common core of each topic, in random order."""
    rng = np.random.default_rng(number)
    cores = [
        np.random.default_rng([7, topic]).choice(2_000_000, CORE, replace=False) for topic in range(TOPICS)
    ]
    rows = np.concatenate([rng.permutation(core)[:DEPTH] for core in cores])
    return RunColumns(
        topics=np.array(sorted(f"A.{topic + 1}" for topic in range(TOPICS))),
        topic_index=np.repeat(np.arange(TOPICS, dtype=np.int32), DEPTH),
        docno=rows.astype("S"),
        rank=np.tile(np.arange(1, DEPTH + 1, dtype=np.int32), TOPICS),
        score=np.tile(np.arange(DEPTH, 0, -1, dtype=np.float64), TOPICS),
    )


def _pool(runs: Sequence[bytes | RunColumns]) -> BuiltPool:
    """Pool from stored columns, like the worker, or from runs."""
    loaded = [columns.load(io.BytesIO(run)) if isinstance(run, bytes) else run for run in runs]
    inputs = [PoolInput(run, f"team{n // 3}", f"run{n}", "primary") for n, run in enumerate(loaded)]
    return build_pool(inputs, protocol=load_protocol("arqmath-2020-task1"), seed=1, depth={"primary": 45})


def pool_made(n: int) -> tuple[float, float]:
    """Seconds to pool n stored runs, and the megabytes by which memory grows."""
    stored = [columns.save(made_run(number)) for number in range(n)]
    before = peak_memory()
    return timed(lambda: _pool(stored)).seconds, peak_memory() - before


@case
def pooling(*, runs: int = 36, repeats: int = 5, scale: tuple[int, ...] = ()) -> None:
    """Check and pool runs of 100 topics x 1000 documents; compared with trectools, if it is installed.

    With --scale, each number of runs is pooled from stored columns in a process of its own, with its peak memory.
    """
    for n in scale:
        seconds, memory = forked(pool_made, n).result
        figure(
            f"{n} stored runs, process of its own",
            seconds,
            note=f"{memory:.0f} MB, {memory / n:.1f} MB per run",
        )
    if scale:
        return
    with tempfile.TemporaryDirectory() as name:
        files = [written(Path(name) / f"run{number:02}.txt", number) for number in range(runs)]
        check = partial(read, protocol="arqmath-2020-task1")
        figure(f"check one run of {TOPICS * DEPTH:,} lines", timed(lambda: check(files[0]), repeats).seconds)
        stored = [columns.save(check(path)) for path in files]
        pooled = timed(lambda: _pool(stored), repeats)
        figure(f"pool {runs} stored runs", pooled.seconds, note=f"{len(pooled.result.units):,} units")
        text = timed(lambda: _pool([check(path) for path in files]))
        figure(f"pool {runs} runs from text, checked", text.seconds, "s", _trectools(files))


def written(path: Path, number: int) -> Path:
    """A run in the TREC format; every third run has many ties."""
    run = made_run(number)
    scores = np.sort(np.random.default_rng(number).normal(20, 5, len(run)).reshape(TOPICS, DEPTH))[
        :, ::-1
    ].ravel()
    scores = scores.round(1) if number % 3 == 0 else scores
    cells = zip(
        run.topics[run.topic_index], run.docno.tolist(), run.rank.tolist(), scores.tolist(), strict=True
    )
    path.write_text("".join(f"{t} Q0 {d.decode()} {r} {s!r} {path.stem}\n" for t, d, r, s in cells))
    return path


def _trectools(files: Sequence[Path]) -> dict[str, float]:
    try:
        from trectools import TrecPoolMaker, TrecRun  # type: ignore[import-not-found]
    except ImportError:
        print("trectools is not installed: no comparison")
        return {}
    pool = lambda: TrecPoolMaker().make_pool([TrecRun(str(f)) for f in files], strategy="topX", topX=45)  # noqa: E731
    return {"trectools": timed(pool).seconds}


# -- measures in characters, compared with sets of characters

Cite = tuple[int, int, int]  # post, offset, length


@case
def characters(*, topics: int = 100, depth: int = 1000, repeats: int = 5) -> None:
    """Compute the measures of `bolt-ir-p3` in characters, compared with sets of characters in plain Python.

    The run has citations that overlap, and qrels with the first 100 of each topic, of which every third is relevant.
    Both implementations start from the parsed run and qrels. The plain one computes charP@100 and charAP@1000, which
    must be equal.
    """
    cites = [_cites(topic, depth) for topic in range(topics)]
    grades = [{cite: 2 * (n % 3 == 0) for n, cite in enumerate(of_topic[:100])} for of_topic in cites]
    run = RunColumns.ordered(
        topics=[f"BIR_{topic:03d}" for topic in range(topics)],
        topic_index=np.repeat(np.arange(topics, dtype=np.int32), depth),
        docno=np.array([_docno(cite) for of_topic in cites for cite in of_topic], dtype=np.bytes_),
        rank=np.tile(np.arange(1, depth + 1, dtype=np.int32), topics),
        score=np.tile(np.linspace(1, 0, depth), topics),
    )[0]
    qrels = columns_from(
        (b"BIR_%03d" % topic, _docno(cite), grade)
        for topic, of_topic in enumerate(grades)
        for cite, grade in of_topic.items()
    )
    every = load_protocol("bolt-ir-p3").scoring.measures

    def scored(
        names: Sequence[str],
    ) -> NDArray[np.float64]:  # new qrels each time: they remember their relevant text
        return score_run(run, JudgedDocuments(qrels), parse_measures(names)).values

    plain = timed(lambda: [scored_plainly(*pair) for pair in zip(cites, grades, strict=True)])
    alone = timed(lambda: scored(["charP@100"]), repeats).seconds
    figure("charP@100 alone", alone)
    ours = timed(lambda: scored(every), repeats).seconds
    figure(f"{len(every)} measures of bolt-ir-p3", ours, "s", {"two measures in plain Python": plain.seconds})
    same = np.allclose(scored(["charP@100", "charAP@1000"]), plain.result, rtol=0, atol=1e-12)
    print("the same values" if same else "OTHER VALUES")


def _cites(topic: int, depth: int) -> list[Cite]:
    """Distinct citations of a topic, the best first. At a depth of 1000, most overlap others."""
    rng = np.random.default_rng([1, topic])
    parts = [rng.integers(*limits, 2 * depth) for limits in ((0, 400), (0, 2_000), (20, 250))]
    return list(dict.fromkeys(map(tuple, np.column_stack(parts).tolist())))[:depth]


def _docno(cite: Cite) -> bytes:
    post, offset, length = cite
    return b"bolt-eng-DF-%d-%d:p1:%d:%d" % (post % 7, post, offset, length)


def scored_plainly(cites: list[Cite], grades: dict[Cite, int]) -> tuple[float, float]:
    """Compute charP@100 and charAP@1000."""
    left: dict[int, set[int]] = {}
    for (post, offset, length), grade in grades.items():
        if grade > 0:
            left.setdefault(post, set()).update(range(offset, offset + length))
    n_relevant, n_new, n_cited, total, at_100 = sum(map(len, left.values())), 0, 0, 0.0, 0.0
    for rank, (post, offset, length) in enumerate(cites[:1000], 1):
        new = left.get(post, set()).intersection(range(offset, offset + length))
        left.get(post, set()).difference_update(new)
        n_new, n_cited = n_new + len(new), n_cited + length
        total += len(new) * n_new / n_cited
        if rank <= 100:
            at_100 = n_new / n_cited
    return at_100, total / n_relevant


# -- SLT strings


@case
def slt(*, seconds: float = 5, formulas: int = 1_000_000) -> None:
    """Make SLT strings from Presentation MathML, with one process and with two, and cluster formulas.

    The formulas are the 4,639 real ones of the reference, of 520 characters on average. No other tool is on a package
    index, so the peer is parsing alone, with lxml. Clustering uses synthetic keys, half of them distinct, as in the
    real collection.
    """
    from lxml import etree

    from assay.formulas.slt import slt as slt_string
    from assay.formulas.visual_ids import Keys, visual_ids

    path = SHARED / "data" / "slt" / "slt_reference.tsv.gz"
    existing(path)
    csv.field_size_limit(2**31 - 1)
    with gzip.open(path, "rt", newline="") as file:
        rows = [
            (row["presentation_mathml"], row["tangent_slt_string"])
            for row in csv.DictReader(file, delimiter="\t")
        ]
    texts = [mathml for mathml, _ in rows]

    def rate(work: Callable[[str], object]) -> float:
        """Formulas per second of CPU time, over whole rounds; other work of the machine does not count."""
        n, start = 0, time.process_time()
        while time.process_time() - start < seconds:
            for text in texts:
                work(text)
            n += len(texts)
        return n / (time.process_time() - start)

    wrong = sum(slt_string(mathml) != string for mathml, string in rows)
    print(f"{len(rows):,} formulas of the reference, {wrong} strings differ from Tangent's")
    parsing = rate(lambda text: etree.fromstring(text.encode()))
    figure("one process, CPU time", rate(slt_string), "formulas/s", {"parsing alone": parsing})
    for n in (1, 2):
        figure(f"{n} processes, elapsed time", elapsed_rate(texts, n, seconds), "formulas/s")
    rng = np.random.default_rng(7)
    slt_keys, latex_keys = (
        rng.integers(0, formulas // 2, formulas).astype("S").astype("S16") for _ in range(2)
    )
    slt_keys[rng.random(formulas) < 0.01] = b""
    keys = Keys(np.arange(1, formulas + 1).astype("S"), slt_keys, latex_keys, np.zeros(formulas, dtype="S1"))
    clustered = timed(lambda: visual_ids(keys))
    note = f"{len(np.unique(clustered.result)):,} distinct"
    figure(f"clustering of {formulas:,} formulas", clustered.seconds, note=note)


def elapsed_rate(texts: Sequence[str], n_processes: int, seconds: float) -> float:
    """Formulas per second of elapsed time, with several processes, as `assay slt` runs them."""
    from assay.formats.formulas import Row, strings_of
    from assay.processes import map_fresh

    pieces = [
        [Row(str(n), mathml=text) for n, text in enumerate(texts[i::n_processes])] for i in range(n_processes)
    ]
    results: Any = map_fresh(strings_of, itertools.cycle(pieces), processes=n_processes)
    with contextlib.closing(results):
        for _ in pieces:  # every process has started, and imported its modules
            next(results)
        n, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            n += len(next(results)[1])
        return n / (time.perf_counter() - start)
