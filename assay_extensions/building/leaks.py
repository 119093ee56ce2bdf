"""Checks a built collection against the topics: what would give participants a topic's answers, and what to decide.

Kinds of leaks:

- `own thread`: a post of the topic's own thread is in the collection.
- `published link`: PostLinks.xml names a post of the topic's thread.
- `mention`: a post or comment has the address of a post of the topic's thread; later edits bring them in.
- `same title`: a question has the words of the topic's title.
- `near-duplicate`: a question shares most shingles with the topic.
- `linked duplicate`: a question that users marked as a duplicate of the topic's question. These are wanted, because
  they hold relevant answers (ARQMath-2, 4.1); they are listed so that they are not removed by mistake.

A topic file rarely names the topic's own question. It is then the candidate with the same words. The check reads each
text of the collection once, and compares it by an index of the topics' shingles, so its time grows with the collection.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from assay.formats.spreadsheet import tsv_lines
from assay.formats.text import lines_of
from assay.formats.topics.facts import TopicFacts
from assay.html import links
from assay.html.images import without_placeholders
from assay.html.sanitize import clean_title, plain
from assay_extensions.building.settings import NotBuilt
from assay_extensions.building.shingles import fingerprint, shingles
from assay_extensions.building.shingles import words as words_of_html
from assay_extensions.building.store import HEADS, KEPT, Store

FORBIDDEN = ("own thread", "published link", "mention")
KINDS = (*FORBIDDEN, "same title", "near-duplicate", "linked duplicate")
HEADER = ("topic", "kind", "docno", "thread", "overlap", "removed", "title")
OVERLAP = 0.6  # lower than for the removal of duplicates: a person decides
_CHECKED = f"({KEPT} OR role = 'removed')"


class Leak(NamedTuple):
    """Something of a topic in the collection. `overlap` is that of near-duplicates, else empty."""

    topic: str
    kind: str
    docno: str
    thread: str
    overlap: str
    removed: str  # "yes" or empty
    title: str

    @property
    def is_forbidden(self) -> bool:
        return self.kind in FORBIDDEN and not self.removed


class Report(NamedTuple):
    """The leaks, in the order of topics and kinds; and the topics whose own question is not known."""

    leaks: list[Leak]
    unknown: list[str]

    def text(self) -> Iterator[str]:
        """The report as TSV."""
        return tsv_lines([HEADER, *self.leaks])

    def counts(self) -> dict[str, tuple[int, int]]:
        """By kind: how many there are, and how many of them are removed."""
        everything = Counter(leak.kind for leak in self.leaks)
        removed = Counter(leak.kind for leak in self.leaks if leak.removed)
        return {kind: (everything[kind], removed[kind]) for kind in KINDS}


def check(
    store: Store,
    topics: Sequence[TopicFacts],
    progress: Callable[[int, int], None],
    *,
    overlap: float = OVERLAP,
) -> Report:
    """Look for leaks of the topics in a built collection; also in the posts that were removed, which are marked so.

    Args:
        overlap: smallest part of the shingles of the larger text that near-duplicates share.
        progress: gets the number of texts that were compared, and of all.
    """
    own, unknown = _own_questions(store, topics)
    posts: dict[str, str] = {}  # of the threads in the source, in either period or none
    for code, question in own.items():
        thread = store.rows("SELECT docno FROM posts WHERE thread = ?", (question,))
        posts |= {question: code} | {docno: code for (docno,) in thread}
    own_threads = (
        leak
        for code, question in own.items()
        for leak in _leaks(store, code, "own thread", "(docno = ?1 OR thread = ?1)", (question,))
    )
    leaks = [
        *own_threads,
        *_published_links(store, posts),
        *_mentions(store, posts),
        *_similar(store, topics, own, overlap, progress),
        *_linked_duplicates(store, own),
    ]
    order = {topic.code: n for n, topic in enumerate(topics)}
    leaks.sort(key=lambda leak: (order[leak.topic], KINDS.index(leak.kind), len(leak.docno), leak.docno))
    return Report(leaks, unknown)


def _own_questions(store: Store, topics: Sequence[TopicFacts]) -> tuple[dict[str, str], list[str]]:
    """The own question of each topic, and the topics for which nothing says it."""
    own = {topic.code: topic.thread for topic in topics if topic.thread}
    wanted = {text_print(topic.title, topic.body): topic.code for topic in topics if not topic.thread}
    if wanted:
        for docno, title, body in store.rows(
            "SELECT docno, title, body FROM posts WHERE role = 'topic' ORDER BY seq"
        ):
            code = wanted.get(text_print(title, body), "")
            if code:
                own.setdefault(code, docno)
    return own, [topic.code for topic in topics if topic.code not in own]


def words(html: str) -> list[str]:
    """The words of a post or a topic. A topic has placeholders where its candidate in the dump has images."""
    return words_of_html(without_placeholders(html))


def text_print(title: str, body: str) -> int:
    """A number that is the same for the same words of a question, which a topic and its candidate have."""
    return fingerprint([*words(title), *words(body)])


def _leaks(
    store: Store, code: str, kind: str, condition: str, values: Sequence[object], overlap: str = ""
) -> Iterator[Leak]:
    """Leaks for the posts that meet a condition, with the title of their threads."""
    sql = f"""
        SELECT docno, thread, role, (SELECT title FROM posts q WHERE q.docno = p.thread)
        FROM posts p WHERE {_CHECKED} AND {condition} ORDER BY seq
    """
    for docno, thread, role, title in store.rows(sql, values):
        removed = "yes" if role == "removed" else ""
        yield Leak(code, kind, docno, thread, overlap, removed, plain(clean_title(title or "")))


def _published_links(store: Store, posts: Mapping[str, str]) -> Iterator[Leak]:
    kept = f"(SELECT 1 FROM posts WHERE docno = {{}} AND {KEPT})"
    both = f"EXISTS {kept.format('source')} AND EXISTS {kept.format('target')}"
    sql = f"SELECT {{}} FROM links WHERE is_late = 0 AND {{}} = ? AND {both}"
    for post, code in posts.items():
        for other, own in (("source", "target"), ("target", "source")):
            for (docno,) in store.rows(sql.format(other, own), (post,)):
                yield from _leaks(store, code, "published link", "docno = ?", (docno,))


def _mentions(store: Store, posts: Mapping[str, str]) -> Iterator[Leak]:
    """Posts whose text, or a comment on them, has the address of a topic's post; but not those of its own thread."""
    texts = f"""
        SELECT docno, body FROM posts WHERE {_CHECKED} AND body LIKE '%/%' UNION ALL
        SELECT post, text FROM comments WHERE text LIKE '%/%'
    """
    named: dict[tuple[str, str], None] = {}
    if posts:
        for docno, text in store.rows(texts):
            for ids in links.mentioned(text):
                codes = {posts[post] for post in ids if post in posts}
                named |= {(code, docno): None for code in sorted(codes) if docno not in posts}
    for code, docno in named:
        yield from _leaks(store, code, "mention", "docno = ?", (docno,))


def _similar(
    store: Store,
    topics: Sequence[TopicFacts],
    own: Mapping[str, str],
    overlap: float,
    progress: Callable[[int, int], None],
) -> Iterator[Leak]:
    """Questions with the title of a topic, and those that share most of their shingles with it."""
    by_title: dict[tuple[str, ...], list[str]] = {}
    by_shingle: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    for topic in topics:
        title = words(topic.title)
        if title:
            by_title.setdefault(tuple(title), []).append(topic.code)
        own_shingles = shingles([*title, *words(topic.body)])
        sizes[topic.code] = len(own_shingles)
        for shingle in own_shingles:
            by_shingle.setdefault(shingle, []).append(topic.code)
    total = store.number(f"SELECT count(*) FROM posts WHERE {_CHECKED} AND {HEADS}")
    sql = f"SELECT docno, title, body FROM posts WHERE {_CHECKED} AND {HEADS} ORDER BY seq"
    rows = list[tuple[str, str, str, str]]()
    for n, (docno, title, body) in enumerate(store.rows(sql), 1):
        heading = words(title)
        rows += ((code, "same title", docno, "") for code in by_title.get(tuple(heading), ()))
        text = shingles([*heading, *words(body)])
        shared = Counter(code for shingle in text for code in by_shingle.get(shingle, ()))
        parts = ((code, n_shared / max(len(text), sizes[code])) for code, n_shared in shared.items())
        rows += ((code, "near-duplicate", docno, f"{part:.2f}") for code, part in parts if part >= overlap)
        if n % 1000 == 0 or n == total:
            progress(n, total)
    for code, kind, docno, part in rows:
        if own.get(code) != docno:
            yield from _leaks(store, code, kind, "docno = ?", (docno,), part)


def _linked_duplicates(store: Store, own: Mapping[str, str]) -> Iterator[Leak]:
    sql = "SELECT {} FROM links WHERE {} = ?1 AND kind = 'duplicate'"
    sql = f"{sql.format('target', 'source')} UNION {sql.format('source', 'target')}"
    for code, question in own.items():
        for (docno,) in list(store.rows(sql, (question,))):
            yield from _leaks(store, code, "linked duplicate", "docno = ?", (docno,))


# -- Decisions


def decisions(text: str, name: str) -> list[tuple[int, str]]:
    """The docnos of a file of decisions, with their lines: one per line, or in the column `docno` of a report.

    Raises:
        NotBuilt: The file has a header without that column, or names nothing.
    """
    lines = [
        (n, line) for n, line in enumerate(lines_of(text), 1) if line.strip() and not line.startswith("#")
    ]
    column = 0
    if lines and "\t" in lines[0][1]:
        header = lines[0][1].split("\t")
        unknown = [cell for cell in header if cell not in HEADER]
        if "docno" not in header or unknown:
            raise NotBuilt(
                f"{name}, line {lines[0][0]}: expected one docno per line, or the columns {', '.join(HEADER)}; "
                f"got {', '.join(header)}."
            )
        column = header.index("docno")
        lines = lines[1:]
    docnos = [
        (n, line.split("\t")[column].strip() if line.count("\t") >= column else "") for n, line in lines
    ]
    if not docnos:
        raise NotBuilt(f"{name} names no post to remove.")
    return docnos


def remove(store: Store, docnos: Iterable[tuple[int, str]], name: str) -> int:
    """Remove posts from the collection: a question with its thread, an answer alone. Return how many are removed.

    Their formulas keep their numbers. To remove a post again changes nothing.

    Raises:
        NotBuilt: A docno is not in the collection: its line.
    """
    with store.writing():
        n_removed = 0
        for line, docno in docnos:
            row = store.row(f"SELECT thread FROM posts WHERE docno = ? AND {_CHECKED}", (docno,))
            if row is None:
                raise NotBuilt(f"{name}, line {line}: {docno or 'an empty docno'} is not in the collection.")
            condition = f"(docno = ?1 OR thread = ?1) AND {KEPT}"
            n_removed += store.execute(f"UPDATE posts SET role = 'removed' WHERE {condition}", (docno,))
            store.execute("INSERT OR IGNORE INTO decisions VALUES (?)", (docno,))
        if n_removed:  # all files are written again, also if this process is killed before
            store.execute("DELETE FROM steps WHERE name LIKE 'file:%'")
            store.execute("DELETE FROM pages")
    return n_removed
