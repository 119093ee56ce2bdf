"""The baseline of linked posts: the answers of the questions of which a topic's question is a duplicate, by votes.

People of the site linked these questions, after they had read both. So the links of later questions into the collection
are hidden from participants. `assay collection build` writes them into `private/links.tsv`, a table of question, linked
question and kind of link.

Source: the baseline "Linked MSE posts" of Mansouri, Zanibbi, Oard and Agarwal, "Overview of ARQMath-2 (2021)", section
4.3, doi:10.1007/978-3-030-85251-1_17.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from assay.errors import InputError, plural
from assay.formats.documents.reading import Document, document_files, map_documents
from assay.formats.text import lines_of, read_text
from assay.formats.topics.facts import TopicFacts
from assay.ranking import Progress, Ranked, best, no_progress

KINDS = ("duplicate", "related")
HEADER = ("question_id", "linked_id", "kind")
LINKS = Path("private") / "links.tsv"  # in the folder of a build


def read_links(path: Path, kinds: Sequence[str]) -> dict[str, set[str]]:
    """The questions that each question is linked to by some kinds of link.

    Raises:
        InputError: The file cannot be read, or a line has other columns.
    """
    return parse_links(read_text(str(path)), str(path), kinds)


def parse_links(text: str, name: str, kinds: Sequence[str]) -> dict[str, set[str]]:
    """As `read_links`, for the text of a file with a name."""
    links: dict[str, set[str]] = {}
    for number, line in enumerate(lines_of(text), 1):
        cells = tuple(line.split("\t"))
        if not line.strip() or (number == 1 and cells == HEADER):
            continue
        if len(cells) != 3 or cells[2] not in KINDS:
            raise InputError(
                f"{name}, line {number}: expected question, linked question and {' or '.join(KINDS)}, separated by "
                f"tabs; got {line[:80]!r}"
            )
        if cells[2] in kinds:
            links.setdefault(cells[0], set()).add(cells[1])
    return links


def read_questions(path: Path) -> dict[str, str]:
    """The question of each topic, from lines of topic and question.

    Raises:
        InputError: The file cannot be read, or a line has other columns.
    """
    questions: dict[str, str] = {}
    for number, line in enumerate(lines_of(read_text(str(path))), 1):
        cells = line.split()
        if len(cells) not in {0, 2}:
            raise InputError(f"{path}, line {number}: expected a topic and the docno of its question")
        if cells:
            questions[cells[0]] = cells[1]
    return questions


def linked_posts(
    topics: Sequence[TopicFacts],
    collection: Path,
    *,
    depth: int,
    links: Mapping[str, set[str]],
    questions: Mapping[str, str] | None = None,
    processes: int | None = None,
    progress: Progress = no_progress,
) -> Iterator[Ranked]:
    """The answers of the linked questions of each topic, by their votes. A topic without links has none.

    Args:
        links: as `read_links` gives them.
        questions: the docno of the question of a topic, where the topic itself does not name it as its thread.

    Raises:
        InputError: The question of a topic is not known, or the collection cannot be used.
    """
    known = {topic.code: topic.thread for topic in topics if topic.thread} | dict(questions or {})
    if unknown := [topic.code for topic in topics if topic.code not in known]:
        more = f" and {plural(len(unknown) - 5, 'more topic')}" if len(unknown) > 5 else ""
        raise InputError(
            f"the question of {', '.join(unknown[:5])}{more} is not known; name it in the attribute thread of the "
            "topic, or in a file of topic and question (--questions)"
        )
    wanted = {topic.code: links.get(known[topic.code], set()) for topic in topics}
    answers: dict[str, list[tuple[bytes, int]]] = {}
    for batch in map_documents(
        partial(answers_of, threads=frozenset().union(*wanted.values())),
        document_files(collection),
        processes=processes,
        progress=partial(progress, "reading answers"),
    ):
        for thread, docno, votes in batch:
            answers.setdefault(thread, []).append((docno, votes))
    for topic in topics:
        rows = [answer for thread in sorted(wanted[topic.code]) for answer in answers.get(thread, [])]
        docnos = np.array([docno for docno, _ in rows], dtype=np.bytes_)
        yield best(topic.code, docnos, np.array([votes for _, votes in rows], dtype=np.float64), k=depth)


def answers_of(documents: Sequence[Document], *, threads: frozenset[str]) -> list[tuple[str, bytes, int]]:
    """Thread, docno and votes of the answers in some threads."""
    return [
        (document.thread, document.docno.encode(), document.score)
        for document in documents
        if document.kind == "answer" and document.thread in threads
    ]
