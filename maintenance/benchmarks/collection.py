"""A collection of ARQMath's size, or a part of it, with topics, runs and qrels.

At scale 1: 1 million questions, 1.5 million answers, 10 million comments, 9 million votes, 150,000 links and 28 million
formulas, of which a third are visually distinct. The files have the formats of the real collection:

    dump/Posts.xml, Comments.xml, Votes.xml, PostLinks.xml, Users.xml, Tags.xml
    latex/1.tsv ... and slt/1.tsv ...     the formula indexes (version 1) in LaTeX and in Presentation MathML
    task1/ and task2/                     topics.xml, qrels.tsv, runs/*.tsv: 100 topics, 1,000 results per topic

Each formula of the index is in the post, title or comment that the index names. Blocks of 1,000 threads are made in
parallel, each from its own seed, so the same scale gives the same files.
"""

import csv
import gzip
import multiprocessing
import operator
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import BinaryIO, NamedTuple

import latex2mathml.converter
import numpy as np
from lxml import etree
from numpy.typing import NDArray

from assay.formulas.grouping import presentation_of
from assay.formulas.slt import slt
from assay_extensions.building.build import build
from assay_extensions.building.settings import Settings, periods
from maintenance.benchmarks.harness import SHARED, case, figure, peak_memory, timed

BLOCKS = 1_000  # at scale 1
QUESTIONS, ANSWERS, COMMENTS, FORMULAS, VOTES, LINKS, USERS = 1_000, 1_500, 10_000, 28_000, 9_000, 150, 300
POSTS = QUESTIONS + ANSWERS
BLOCKS_PER_INDEX = 10  # ARQMath's index comes as 101 files
NEW = 0.33  # of the formulas are distinct from all before: 9.3 million distinct formulas at scale 1
TOPICS, RANKS, CORE = 100, 1_000, 4_000
TEXT = """
let be the function such that continuous then we have for every integer prove sequence converges bounded compact linear
operator group ring field ideal show integral sum limit derivative matrix of is in on and a with by hence because there
exists point open set measure theorem follows which gives since suppose define
"""
WORDS = TEXT.split()
TAGS = [f"{a}-{b}" for a in WORDS[:40] for b in WORDS[10:40]]


# --- Formulas: the text of a formula is computed from its number. Two numbers hardly ever have the same text.

LETTERS = "xnfabcdeghijklmopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
GREEK = [("alpha", "α"), ("beta", "β"), ("gamma", "γ"), ("delta", "δ"), ("epsilon", "ϵ"), ("lambda", "λ"),
         ("mu", "μ"), ("pi", "π"), ("sigma", "σ"), ("phi", "ϕ"), ("omega", "ω"), ("infty", "∞")]  # fmt: skip
ATOMS = [
    *((letter, f"<mi>{letter}</mi>") for letter in LETTERS),
    *((str(n), f"<mn>{n}</mn>") for n in range(10)),
    *((f"\\{name}", f"<mi>{sign}</mi>") for name, sign in GREEK),
    *((f"\\mathbb{{{letter}}}", f'<mi mathvariant=""double-struck"">{letter}</mi>') for letter in "RQZNC"),
]
INFIX = [
    ("=", "="),
    ("+", "+"),
    ("-", "-"),
    (r"\le ", "≤"),
    (r"\in ", "∈"),
    (r"\to ", "→"),
    ("<", "&lt;"),
    (r"\cdot ", "⋅"),
]
FORMS = [
    *((f"%s{tex}%s", f"<mrow>%s<mo>{sign}</mo>%s</mrow>") for tex, sign in INFIX),
    ("{%s}_{%s}", "<msub>%s%s</msub>"),
    ("{%s}^{%s}", "<msup>%s%s</msup>"),
    (r"\frac{%s}{%s}", "<mfrac>%s%s</mfrac>"),
    (
        "%s(%s)",
        '<mrow>%s<mo>⁡</mo><mrow><mo stretchy=""false"">(</mo>%s<mo stretchy=""false"">)</mo></mrow></mrow>',
    ),
    (r"\sqrt{%s}\,%s", "<mrow><msqrt>%s</msqrt><mo>⁢</mo>%s</mrow>"),
    (
        r"\sum_{i=1}^{n}%s\left(i^2+%s\right)",
        (
            "<mrow><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover>%s<mo>⁢</mo>"
            "<mrow><mo>(</mo><msup><mi>i</mi><mn>2</mn></msup><mo>+</mo>%s<mo>)</mo></mrow></mrow>"
        ),
    ),
    (
        r"\lim_{x\to\infty}\frac{%s}{1+x^{%s}}=0",
        (
            "<mrow><munder><mo>lim</mo><mrow><mi>x</mi><mo>→</mo><mi>∞</mi></mrow></munder><mfrac>%s<mrow><mn>1</mn>"
            "<mo>+</mo><msup><mi>x</mi>%s</msup></mrow></mfrac><mo>=</mo><mn>0</mn></mrow>"
        ),
    ),
    (
        r"f\colon %s\mapsto\left(%s\right)^2+1",
        (
            "<mrow><mi>f</mi><mo>:</mo>%s<mo>↦</mo><msup><mrow><mo>(</mo>%s<mo>)</mo></mrow><mn>2</mn></msup><mo>+</mo>"
            "<mn>1</mn></mrow>"
        ),
    ),
]
LEFT = 1_999  # numbers of the left part of a formula
MATHML = (
    '"<math xmlns=""http://www.w3.org/1998/Math/MathML"" alttext=""%s"" class=""ltx_Math"" display=""inline"">'
    '<semantics>%s</semantics></math>"'
)


class Text(NamedTuple):
    """A formula in LaTeX, and the presentation of its MathML with quotation marks doubled as in a TSV field."""

    latex: str
    mathml: str


@cache
def part(number: int) -> Text:
    return formula(number)


def formula(number: int) -> Text:
    """The formula with a number: small numbers are short formulas."""
    if number < len(ATOMS):
        return Text(*ATOMS[number])
    rest, form = divmod(number - len(ATOMS), len(FORMS))
    right, left = divmod(rest, LEFT)
    a, b = part(left), part(right)
    latex, mathml = FORMS[form]
    return Text(latex % (a.latex, b.latex), mathml % (a.mathml, b.mathml))


def as_mathml(text: Text) -> str:
    """The field of an index in Presentation MathML."""
    return MATHML % (text.latex.replace("<", "&lt;"), text.mathml)


# --- A block of 1,000 threads


class Post(NamedTuple):
    """`parent` is the id of the question of an answer, or 0; `accepted` that of the accepted answer, or 0."""

    id: int
    parent: int
    accepted: int


class Piece(NamedTuple):
    """The bytes of one block for one file."""

    file: str
    data: bytes


class Block:
    """The rows of a block. All ids of earlier blocks are smaller."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.rng = random.Random(number)
        self.numbers = np.random.default_rng(number)
        self.first_formula = number * FORMULAS + 1
        self.posts = self._posts()
        self.latex: list[str] = []
        self.slt: list[str] = []

    def _posts(self) -> list[Post]:
        """Posts in the order of time: an answer follows its question after other posts."""
        asked = np.sort(self.numbers.uniform(0, 1000, QUESTIONS))
        of = np.sort(self.numbers.integers(0, QUESTIONS, ANSWERS))
        times = np.concatenate([asked, asked[of] + self.numbers.exponential(100, ANSWERS)])
        ids = np.empty(POSTS, dtype=np.int64)
        ids[np.argsort(times, kind="stable")] = np.arange(POSTS) + self.number * POSTS + 1
        questions, answers = ids[:QUESTIONS], ids[QUESTIONS:]
        accepted = np.zeros(QUESTIONS, dtype=np.int64)
        chosen = self.numbers.random(ANSWERS) < 0.4
        accepted[of[chosen]] = answers[chosen]
        posts = [Post(int(q), 0, int(a)) for q, a in zip(questions, accepted, strict=True)]
        posts += [Post(int(a), int(questions[q]), 0) for a, q in zip(answers, of, strict=True)]
        return sorted(posts)

    def pieces(self) -> Iterator[Piece]:
        """The rows of the block, by file."""
        formulas = self._formulas()
        yield Piece("dump/Posts.xml", "".join(self.post_rows(formulas)).encode())
        yield Piece("dump/Comments.xml", "".join(self.comment_rows(formulas)).encode())
        yield Piece("dump/Votes.xml", "".join(self.vote_rows()).encode())
        yield Piece("dump/PostLinks.xml", "".join(self.link_rows()).encode())
        yield Piece("dump/Users.xml", "".join(self.user_rows()).encode())
        index = self.number // BLOCKS_PER_INDEX + 1
        yield Piece(f"latex/{index}.tsv", "".join(self.latex).encode())
        yield Piece(f"slt/{index}.tsv", "".join(self.slt).encode())

    def _formulas(self) -> Iterator[list[tuple[int, int]]]:
        """The id and the number of each formula of one text after another: title and body of posts, then comments."""
        weight = np.concatenate(
            [*([0.8, 6.0] if not post.parent else [0.0, 8.0] for post in self.posts), [0.92] * COMMENTS]
        )
        weight *= self.numbers.gamma(1.0, 1.0, len(weight))
        sizes = self.numbers.multinomial(FORMULAS, weight / weight.sum())
        position = self.first_formula + np.arange(FORMULAS)
        repeated = (position ** self.numbers.random(FORMULAS)).astype(np.int64)
        number = np.where(self.numbers.random(FORMULAS) < NEW, position, repeated)
        pairs, start = list(zip(position.tolist(), number.tolist(), strict=True)), 0
        for size in sizes.tolist():
            yield pairs[start : start + size]
            start += size

    def words(self) -> str:
        return " ".join(self.rng.choices(WORDS, k=self.rng.randint(4, 12)))

    def _text(self, formulas: list[tuple[int, int]], place: str, post: int, thread: int) -> str:
        """Words and formulas as escaped HTML; the formulas are added to the indexes."""
        parts = [self.words()]
        for code, number in formulas:
            text = formula(number)
            head = f"{code}\t{post}\t{thread}\t{place}\t"
            self.latex.append(f"{head}{text.latex}\n")
            self.slt.append(f"{head}{as_mathml(text)}\n")
            latex = text.latex.replace("<", "&amp;lt;")
            parts.append(
                f"&lt;span class=&quot;math-container&quot; id=&quot;{code}&quot;&gt;{latex}&lt;/span&gt;"
            )
            parts.append(self.words())
        return " ".join(parts)

    def _date(self, number: int) -> str:
        day = number * 3_000 // (BLOCKS * POSTS)
        return f"{2010 + day // 336}-{day // 28 % 12 + 1:02}-{day % 28 + 1:02}T{number % 24:02}:19:50.957"

    def post_rows(self, formulas: Iterator[list[tuple[int, int]]]) -> Iterator[str]:
        for post in self.posts:
            thread = post.parent or post.id
            title = self._text(next(formulas), "title", post.id, thread)
            kind = "answer" if post.parent else "question"
            body = self._text(next(formulas), kind, post.id, thread)
            if post.parent:
                head = f'PostTypeId="2" ParentId="{post.parent}"'
            else:
                tags = "".join(f"&lt;{tag}&gt;" for tag in self.rng.sample(TAGS, self.rng.randint(1, 5)))
                accepted = f' AcceptedAnswerId="{post.accepted}"' if post.accepted else ""
                head = f'PostTypeId="1"{accepted} Title="{title}" Tags="{tags}" ViewCount="172"'
            score = int(self.rng.expovariate(0.4)) - 1
            yield (
                f'  <row Id="{post.id}" {head} CreationDate="{self._date(post.id)}" Score="{score}" '
                f'Body="&lt;p&gt;{body}&lt;/p&gt;&#xA;" OwnerUserId="{self.user()}" '
                f'ContentLicense="CC BY-SA 3.0" />\n'
            )

    def user(self) -> int:
        return 1 + int((self.number + 1) * USERS * self.rng.random() ** 2)

    def comment_rows(self, formulas: Iterator[list[tuple[int, int]]]) -> Iterator[str]:
        start = self.number * COMMENTS + 1
        for number, which in enumerate(np.sort(self.numbers.integers(0, POSTS, COMMENTS)).tolist(), start):
            post = self.posts[which]
            text = self._text(next(formulas), "comment", post.id, post.parent or post.id)
            yield (
                f'  <row Id="{number}" PostId="{post.id}" Score="{number % 4}" Text="{text}" '
                f'CreationDate="{self._date(post.id)}" UserId="{self.user()}" ContentLicense="CC BY-SA 3.0" />\n'
            )

    def vote_rows(self) -> Iterator[str]:
        start = self.number * VOTES + 1
        for number in range(start, start + VOTES):
            post = self.posts[int(POSTS * self.rng.random())]
            kind = self.rng.choices((2, 3, 5, 1), (80, 6, 12, 2))[0]
            date = self._date(post.id)[:10]
            yield f'  <row Id="{number}" PostId="{post.id}" VoteTypeId="{kind}" CreationDate="{date}T00:00:00.000" />\n'

    def link_rows(self) -> Iterator[str]:
        start = self.number * LINKS + 1
        for number in range(start, start + LINKS):
            post = self.rng.choice(self.posts)
            other = 1 + int(post.id * self.rng.random())
            kind = 3 if number % 5 == 0 else 1
            yield (
                f'  <row Id="{number}" CreationDate="{self._date(post.id)}" PostId="{post.id}" '
                f'RelatedPostId="{other}" LinkTypeId="{kind}" />\n'
            )

    def user_rows(self) -> Iterator[str]:
        start = self.number * USERS + 1
        for number in range(start, start + USERS):
            yield f'  <row Id="{number}" Reputation="{number % 997}" DisplayName="User {number}" />\n'


# --- Files

ROOTS = {
    "Posts": "posts",
    "Comments": "comments",
    "Votes": "votes",
    "PostLinks": "postlinks",
    "Users": "users",
}
XML = '\ufeff<?xml version="1.0" encoding="utf-8"?>\n'
INDEX = "id\tpost_id\tthread_id\ttype\tformula\n"


def _block(number: int, *, is_packed: bool) -> list[Piece]:
    """The pieces of a block, compressed if the files are: a file is then a sequence of gz members."""
    pieces = Block(number).pieces()
    return [Piece(piece.file, packed(piece.data)) for piece in pieces] if is_packed else list(pieces)


def packed(data: bytes) -> bytes:
    return gzip.compress(data, 3, mtime=0)


def write_collection(folder: Path, n_blocks: int, *, is_packed: bool) -> None:
    """Write the dump and the formula indexes, block by block."""
    files: dict[str, BinaryIO] = {}

    def write(file: str, text: str) -> None:
        files[file].write(packed(text.encode()) if is_packed else text.encode())

    with multiprocessing.Pool() as pool:
        for pieces in pool.imap(partial(_block, is_packed=is_packed), range(n_blocks)):
            for piece in pieces:
                root = ROOTS.get(Path(piece.file).stem)
                if piece.file not in files:
                    path = folder / f"{piece.file}{'.gz' if is_packed else ''}"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    files[piece.file] = path.open("wb")
                    write(piece.file, f"{XML}<{root}>\n" if root else INDEX)
                files[piece.file].write(piece.data)
    for name, file in files.items():
        if root := ROOTS.get(Path(name).stem):
            write(name, f"</{root}>\n")
        file.close()
    rows = "".join(f'  <row Id="{i}" TagName="{tag}" Count="{i}" />\n' for i, tag in enumerate(TAGS, 1))
    (folder / "dump" / "Tags.xml").write_text(f"{XML}<tags>\n{rows}</tags>\n")


# --- Topics, runs and qrels


class Task(NamedTuple):
    """A task of ARQMath.

    `core` are the documents, by topic, from which all runs draw, the best first. `posts` has the post of each formula.
    """

    name: str
    code: str
    core: list[NDArray[np.int64]]
    posts: dict[int, str]


def tasks(n_blocks: int) -> Iterable[Task]:
    """The two tasks. Their cores come from a few blocks of all parts of the collection."""
    rng = np.random.default_rng(1)
    numbers = np.unique(np.linspace(0, n_blocks - 1, min(n_blocks, 20)).astype(int)).tolist()
    blocks = [Block(number) for number in numbers]
    answers = np.array([post.id for block in blocks for post in block.posts if post.parent])
    size = min(CORE, len(answers))
    yield Task("task1", "A", [rng.choice(answers, size, replace=False) for _ in range(TOPICS)], {})
    posts: dict[int, str] = {}
    for block in blocks:
        list(block.pieces())
        posts |= {int(code): post for code, post, *_ in (line.split("\t", 2) for line in block.latex)}
    codes = np.array(list(posts))
    yield Task("task2", "B", [rng.choice(codes, CORE, replace=False) for _ in range(TOPICS)], posts)


def write_task(folder: Path, task: Task, n_runs: int) -> None:
    """Topics, runs and qrels. A good run prefers the best documents of the core of a topic."""
    target = folder / task.name
    (target / "runs").mkdir(parents=True, exist_ok=True)
    write_topics(target / "topics.xml", task)
    for number in range(n_runs):
        write_run(target / "runs" / f"run{number:03}.tsv", task, number)
    rng = np.random.default_rng(2)
    with (target / "qrels.tsv").open("w") as file:
        for topic, core in enumerate(task.core, 1):
            grades = np.clip(3 - np.arange(len(core)) // 40 + rng.integers(-1, 2, len(core)), 0, 3)
            file.writelines(
                f"{task.code}.{topic} 0 {docno} {grade}\n"
                for docno, grade in zip(core[:600].tolist(), grades[:600].tolist(), strict=True)
            )


def write_topics(path: Path, task: Task) -> None:
    with path.open("w") as file:
        file.write('<?xml version="1.0" encoding="utf-8"?>\n<Topics>\n')
        for number in range(1, TOPICS + 1):
            code = f"{task.code}.{number}"
            latex = f"<Formula_Id>q_{number}</Formula_Id><Latex>{escape(formula(number).latex)}</Latex>"
            file.write(
                f'<Topic number="{code}">{latex if task.code == "B" else ""}<Title>Topic {number}</Title>'
                f'<Question>&lt;p&gt;Show &lt;span class="math-container" id="q_{number}"&gt;'
                f"{escape(escape(formula(number).latex))}&lt;/span&gt;&lt;/p&gt;</Question>"
                f"<Tags>algebra</Tags></Topic>\n"
            )
        file.write("</Topics>\n")


def write_run(path: Path, task: Task, number: int) -> None:
    rng = np.random.default_rng([3, number])
    skill = rng.uniform(0.2, 1.5)
    with path.open("w") as file:
        for topic, core in enumerate(task.core, 1):
            strength = -skill * np.log1p(np.arange(len(core))) + rng.gumbel(0, 1, len(core))
            best = np.argsort(-strength, kind="stable")[:RANKS]
            cells = zip(core[best].tolist(), strength[best].tolist(), strict=True)
            for rank, (docno, score) in enumerate(cells, 1):
                ids = f"{docno}\t{task.posts[docno]}" if task.posts else str(docno)
                file.write(f"{task.code}.{topic}\t{ids}\t{rank}\t{score!r}\trun{number:03}\n")


@case
def make_collection(folder: Path, *, scale: float = 0.02, gz: bool = False, runs: int = 200) -> None:
    """Make a collection of ARQMath's size, or a part of it, for `real-size`, with topics, runs and qrels."""
    n_blocks, start = max(1, round(scale * BLOCKS)), time.perf_counter()
    write_collection(folder, n_blocks, is_packed=gz)
    note = f"{n_blocks * POSTS:,} posts and {n_blocks * FORMULAS:,} formulas"
    figure("dump and formula indexes", time.perf_counter() - start, note=note)
    for task in tasks(n_blocks):
        write_task(folder, task, runs)
    figure(f"topics, qrels and {runs} runs of each task", time.perf_counter() - start)


@case
def build_collection(
    *, scale: float = 0.008, processes: int = 2, pages: bool = False, dump: str = ""
) -> None:
    """Build a collection from a generated dump (0.4: a million posts), next to a program that only parses its files."""
    with tempfile.TemporaryDirectory(prefix="assay-benchmark-") as temporary:
        folder = Path(dump) if dump else Path(temporary) / "made" / "dump"
        if not dump:
            write_collection(folder.parent, max(1, round(scale * BLOCKS)), is_packed=False)
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        parsed, memory = in_process(parse_only, folder)
        seconds, peak = in_process(partial(build_from, Path(temporary) / "built", pages, processes), folder)
        note = f"{size:,.0f} MB, {processes} processes"
        figure("build, CPU time", seconds, peers={"lxml iterparse": parsed}, note=note)
        figure(
            "build, peak memory", peak, "MB", peers={"lxml iterparse": memory}, note="without those that mark"
        )


def in_process(work: Callable[[Path], object], folder: Path) -> tuple[float, float]:
    """CPU seconds of a forked process with its children, and its own peak memory in MB."""
    queue: multiprocessing.SimpleQueue[tuple[float, float]] = multiprocessing.SimpleQueue()

    def run() -> None:
        work(folder)
        times = os.times()
        queue.put((times.user + times.system + times.children_user + times.children_system, peak_memory()))

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit("the measured work failed")
    return queue.get()


def parse_only(folder: Path) -> None:
    """Read every row and its attributes, and forget them: the least that any program does with these files."""
    for path in folder.iterdir():
        for _, row in etree.iterparse(path, tag="row", huge_tree=True):
            dict(row.attrib)
            row.clear()
            while row.getprevious() is not None:
                del row.getparent()[0]


def build_from(built: Path, has_pages: bool, processes: int, folder: Path) -> None:
    """The posts of 2010 to 2018 with all they need, and those of 2019 as candidates, if the dump has so many."""
    collection, topics = periods("2010", "2018")
    settings = Settings(collection=collection, topics=topics, has_pages=has_pages)
    build(folder, built, settings, processes=0 if processes == 1 else processes)


@case
def formula_conversion(*, pairs: Path = SHARED / "data" / "slt" / "latex_mathml_slt.tsv.gz") -> None:
    """Convert 778 formulas of ARQMath to Presentation MathML, compared with plain latex2mathml.

    Seconds are CPU time of this process for all formulas. The share is of formulas whose SLT string equals that of
    LaTeXML's MathML.
    """
    csv.field_size_limit(sys.maxsize)
    with gzip.open(pairs, "rt", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    ways = {"latex2mathml": latex2mathml.converter.convert, "repaired": presentation_of}
    costs = {
        name: timed(partial(_strings, [row["latex"] for row in rows], way)) for name, way in ways.items()
    }
    shares = {
        name: sum(map(operator.eq, cost.result, (row["tangent_slt_string"] for row in rows))) / len(rows)
        for name, cost in costs.items()
    }
    figure(
        "conversion of formulas, CPU",
        costs["repaired"].cpu,
        peers={"latex2mathml": costs["latex2mathml"].cpu},
    )
    figure(
        "SLT strings equal to LaTeXML's",
        100 * shares["repaired"],
        "%",
        {"latex2mathml": 100 * shares["latex2mathml"]},
    )


def _strings(formulas: Sequence[str], convert: Callable[[str], str]) -> list[str]:
    strings = []
    for latex in formulas:
        try:
            strings.append(slt(convert(latex)) or "")
        except Exception:  # noqa: BLE001 -- whatever latex2mathml raises
            strings.append("")
    return strings
