"""Text baselines compared with bm25s, and formula retrieval, on generated collections of any size."""

import itertools
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.ranking import best
from assay_extensions.baselines.formula_index import TreeBatch, write
from assay_extensions.baselines.postings import Builder, TokenBatch
from maintenance.benchmarks.harness import ROOT, case, figure, peak_memory, timed

DISTINCT = 100_000  # posts with texts of their own
WORDS = 400_000  # distinct ones
LENGTH, TOPIC = 320, 225  # tokens of an answer and of a topic of ARQMath, measured with its LaTeX
COMMANDS = ("alpha", "sum", "int", "frac", "sqrt", "lim", "infty", "cdot", "leq", "sin")
PROTOCOLS = {"bm25": "arqmath-2021-task1", "tangent-s": "arqmath-2021-task2"}


def draws(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    """Numbers of words, as frequent as those of a language: by Zipf's law, with many rare ones."""
    return np.minimum(rng.zipf(1.25, n), WORDS)


def texts(posts: int, seed: int) -> Iterator[list[str]]:
    """Documents as lists of tokens."""
    rng = np.random.default_rng(seed)
    while posts > 0:
        lengths = rng.integers(LENGTH // 3, LENGTH * 5 // 3, min(posts, 1000))
        words = iter(draws(rng, int(lengths.sum())).tolist())
        for length in lengths.tolist():
            yield [f"w{word:x}" for word in itertools.islice(words, length)]
        posts -= len(lengths)


@case
def text_baselines(*, documents: int = 40_000, topics: int = 100, posts: int = 0) -> None:
    """Index and search tokens, compared with bm25s; with --posts, the command on a collection of as many posts.

    40,000 documents of 320 tokens and 100 topics of 225 tokens: the numbers of answers and tokens for which libraries
    were compared. Each topic gets 1,000 documents. bm25s searches with its `retrieve`, whose order of ties is open.
    """
    import bm25s

    if posts:  # first: a command that a large process starts would have its peak memory
        with tempfile.TemporaryDirectory() as name:
            write_posts(Path(name), posts)
            run_command("bm25", Path(name), f"{posts:,} posts", "--collection", f"{name}/posts.jsonl")
    rows = list(texts(documents, 1))
    queries = [words[:TOPIC] for words in texts(topics, 2)]
    model = bm25s.BM25(k1=1.2, b=0.75)
    k = min(1000, documents)
    theirs = timed(lambda: model.index(rows, show_progress=False))
    with tempfile.TemporaryDirectory() as name:

        def index() -> Builder:
            builder = Builder(Path(name))
            numbered = ((b"%d" % n, [word.encode() for word in words]) for n, words in enumerate(rows))
            while batch := list(itertools.islice(numbered, 1000)):
                builder.add(TokenBatch.of(batch))
            return builder

        ours = timed(lambda: index().finish())
        figure(f"index {documents:,} documents", ours.cpu, peers={"bm25s": theirs.cpu})
        scorer = timed(lambda: ours.result.scorer("bm25", k1=1.2, b=0.75))
        figure("weights of a model, once", scorer.cpu)

        def search() -> None:
            for words in queries:
                scores = scorer.result.scores([word.encode() for word in words])
                rows = np.flatnonzero(scores > 0)
                best("", ours.result.docno[rows], scores[rows], k=k)

        retrieve = timed(lambda: model.retrieve(queries, k=k, show_progress=False), 3)
        figure(f"search {topics} topics", timed(search, 3).cpu, peers={"bm25s": retrieve.cpu})


@case
def formula_baselines(*, formulas: int = 20_000, topics: int = 10, trees: int = 0) -> None:
    """Index generated formulas with their Symbol Layout Trees, and search them as Tangent-S does, by the command.

    With --trees, instead: write the index of as many different trees of ten symbol pairs, without reading MathML.
    """
    if trees:
        with tempfile.TemporaryDirectory() as name:
            cost = timed(lambda: write(Path(name), {"slt": tree_batches(trees)}))
            note = f"of CPU; peak {peak_memory():,.0f} MB"
            figure(f"index of {trees:,} different trees", cost.cpu, note=note)
        return
    with tempfile.TemporaryDirectory() as name:
        write_formulas(Path(name), formulas, topics)
        options = ("--formulas", f"{name}/slt.tsv", "--topic-formulas", f"{name}/topics-slt.tsv")
        run_command("tangent-s", Path(name), f"{formulas:,} formulas", *options)


def tree_batches(trees: int) -> Iterator[TreeBatch]:
    """Different trees, one formula each, nine formulas to a post."""
    rng, size, n_pairs = np.random.default_rng(5), 10_000, 10
    for first in range(0, trees, size):
        ids = range(first, min(first + size, trees))
        strings = [b"[V!x%d,n[+[N!1,n[=[V!y]]]]]" % number for number in ids]
        digests = [blake2b(string, digest_size=8).hexdigest().encode() for string in strings]
        pairs, tokens = np.unique(draws(rng, len(ids) * n_pairs), return_inverse=True)
        length = np.full(len(ids), n_pairs, dtype=np.int32)
        words = [b"w%x" % pair for pair in pairs.tolist()]
        yield TreeBatch(
            np.array([b"%d" % number for number in ids]),
            np.array([b"%d" % (number // 9) for number in ids]),
            np.ones(len(ids), dtype=np.bool_),
            np.arange(len(ids), dtype=np.int32),
            strings,
            TokenBatch(digests, length, words, tokens.astype(np.int32)),
            0,
            {},
        )


def run_command(baseline: str, folder: Path, label: str, *options: str) -> None:
    """Measure a command that builds an index, and one that uses it."""
    command = [
        sys.executable,
        "-m",
        "assay",
        "baseline",
        baseline,
        "--protocol",
        PROTOCOLS[baseline],
        "--quiet",
    ]
    command += [
        "--topics",
        f"{folder}/topics.jsonl",
        "--index",
        f"{folder}/index",
        "--output",
        f"{folder}/run",
    ]
    for step in ("index and search", "search"):
        before = cpu_of_children()
        subprocess.run([*command, *options], cwd=ROOT, check=True)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        note = f"of CPU; peak {peak:,.0f} MB of the largest process"
        figure(f"{label}: {step}", cpu_of_children() - before, note=note)
    size = sum(path.stat().st_size for path in (folder / "index").rglob("*") if path.is_file())
    figure(f"{label}: index on disk", size / 2**20, "MB")


def cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def write_posts(folder: Path, posts: int) -> None:
    """Posts as JSON lines. Those beyond the first `DISTINCT` repeat their texts, which takes less time to generate."""
    with (folder / "posts.jsonl").open("w") as file:
        bodies = []
        for words in texts(min(posts, DISTINCT), 3):
            half = len(words) // 2
            latex = " + ".join(f"\\{COMMANDS[len(word) % 10]}_{word[-1]}" for word in words[half::6])
            body = f'<p>{" ".join(words[:half])} <span class="math-container">{latex}</span></p>'
            bodies.append(json.dumps(body))
        for number in range(posts):
            start = f'{{"docno": "{number}", "kind": "answer", "thread": "t", "body": '
            file.write(f"{start}{bodies[number % DISTINCT]}}}\n")
    rows = [{"code": f"A.{n}", "text": " ".join(words[:TOPIC])} for n, words in enumerate(texts(100, 2))]
    (folder / "topics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_formulas(folder: Path, formulas: int, topics: int) -> None:
    """Sums and fractions of scripted letters; most formulas are different."""
    rng = np.random.default_rng(4)
    header = "id\t{}\tthread_id\ttype\tformula\n"
    with (folder / "slt.tsv").open("w") as file:
        file.write(header.format("post_id"))
        file.writelines(f"{n}\t{n // 9}\t{n // 40}\tanswer\t{formula(rng)}\n" for n in range(formulas))
    with (folder / "topics-slt.tsv").open("w") as file:
        file.write(header.format("topic_id"))
        file.writelines(f"q_{n}\tB.{n}\t1\ttitle\t{formula(rng)}\n" for n in range(topics))
    rows = [{"code": f"B.{n}", "formula_id": f"q_{n}", "latex": "x"} for n in range(topics)]
    (folder / "topics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def formula(rng: np.random.Generator) -> str:
    """A formula of about 5 to 60 symbols in Presentation MathML, as a quoted field."""
    parts = []
    for letter, script, shape in rng.integers(0, 26, (int(rng.integers(1, 12)), 3)).tolist():
        name = f"<mi>{chr(97 + letter)}</mi>"
        scripted = f"<msup>{name}<mn>{script % 5}</mn></msup>" if shape % 2 else name
        parts.append(f"<mfrac>{scripted}<mi>{chr(97 + shape)}</mi></mfrac>" if shape % 3 == 0 else scripted)
    math = "http://www.w3.org/1998/Math/MathML"
    return f'"<math xmlns=""{math}""><mrow>{"<mo>+</mo>".join(parts)}</mrow></math>"'
