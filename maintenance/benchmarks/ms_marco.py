"""Runs of millions of lines and qrels of a million, compared with trec_eval."""

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from maintenance.benchmarks.harness import ROOT, case, figure
from maintenance.benchmarks.library import COMPILED

DOCUMENTS = 8_841_823  # of MS MARCO
JUDGED = 90  # of the documents of a topic, in the large qrels
ROUNDED = (
    b"iprec_at_recall"  # trec_eval 9 rounds its shares up, 10 and Assay to the nearest number of documents
)


class Usage(NamedTuple):
    """CPU seconds of user and system together, peak memory in MB, and the output."""

    seconds: float
    memory: float
    output: bytes


@case
def ms_marco(*, topics: int = 6980, depth: int = 1000, judged: int = 1_000_000, runs: int = 36) -> None:
    """Score a run of 6,980 topics x 1000 documents, as on MS MARCO's development topics, compared with trec_eval.

    trec_eval is its own C code, from the wheel of pytrec_eval-terrier. All figures are of whole processes. The peak
    memory is that of the largest, and at least that of this process. --judged is the number of lines of larger qrels,
    which are also read with a run of one topic. Last, --runs such runs are scored by one command: their memory is that
    of one.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder, topics, depth, judged)
        qrels, large, run, short = (folder / f"{name}.txt" for name in ("qrels", "large", "run", "short"))
        compare(f"run of {topics * depth:,} lines", qrels, run)
        compare(f"same, qrels of {judged:,} lines", large, run)
        compare(f"run of one topic, qrels of {judged:,} lines", large, short)
        links = [folder / f"link{n}.txt" for n in range(runs)]
        for link in links:
            link.symlink_to(run)
        alone, together = (used("-m", *EVALUATE, qrels, *files) for files in ([run], links))
        note = f"{together.seconds / runs:.2f} s per run; one run alone: {alone.memory:,.0f} MB"
        figure(f"{runs} runs, assay evaluate", together.memory, "MB", note=note)


EVALUATE = ("assay", "evaluate", "--quiet", "--measure", "AP", "--measure", "RR@10", "--qrels")


def compare(label: str, qrels: Path, run: Path) -> None:
    peer = used("-m", "maintenance.benchmarks.trec_eval_c", qrels, run)
    for name, words in (("assay trec_eval", ("assay", "trec_eval")), ("assay evaluate", EVALUATE)):
        own = used("-m", *words, qrels, run)
        figure(f"{label}, {name}", own.seconds, "s", {"trec_eval": peer.seconds})
        figure(f"{label}, {name}", own.memory, "MB", {"trec_eval": peer.memory})
        if words[-1] == "trec_eval":
            pairs = zip(own.output.splitlines(), peer.output.splitlines(), strict=True)
            n_others = sum(line != other for line, other in pairs if not line.startswith(ROUNDED))
            print(f"lines that differ from trec_eval 9, without {ROUNDED.decode()}: {n_others}")


def used(*words: str | Path) -> Usage:
    """Run Python as a process, and take what it used."""
    line = [sys.executable, *map(str, words)]
    with tempfile.TemporaryFile() as file:
        process = subprocess.Popen(line, cwd=ROOT, env=COMPILED, stdout=file, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(line)} ended with status {process.returncode}")
        file.seek(0)
        return Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, file.read())


def make_files(folder: Path, topics: int, depth: int, n_judged: int) -> None:
    """Write qrels of one relevant document per topic, qrels of many documents, a run, and its first topic alone."""
    rng = random.Random(1)
    codes = rng.sample(range(1_102_400), topics)
    with (
        (folder / "run.txt").open("w") as run,
        (folder / "qrels.txt").open("w") as qrels,
        (folder / "large.txt").open("w") as large,
    ):
        for n, code in enumerate(codes):
            documents = rng.sample(range(DOCUMENTS), depth + n_judged // topics)
            retrieved, relevant = documents[:depth], documents[min(depth - 1, int(rng.expovariate(0.05)))]
            qrels.write(f"{code} 0 {relevant} 1\n")
            judged = documents[max(0, depth - JUDGED) :][: n_judged // topics]
            large.writelines(f"{code} 0 {docno} {rng.choice((0, 0, 0, 1, 2))}\n" for docno in judged)
            score, lines = 20.0 + 20.0 * rng.random(), []
            for rank, docno in enumerate(retrieved, 1):
                score -= 0.02 * rng.random()
                lines.append(f"{code} Q0 {docno} {rank} {score:.6f} bm25\n")
            run.writelines(lines)
            if not n:
                (folder / "short.txt").write_text("".join(lines))
