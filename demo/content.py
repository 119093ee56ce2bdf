"""The threads of math.example.org, and the files that a lab would make from them. It does not use Django.

The content is in TOML files in this folder, which people can read and change; `README.md` describes their format.
`write_dump` turns threads into the six XML files of a Stack Exchange dump, and `topic_file` into an ARQMath topic file,
so that the demo uses the same imports as real data. The same content gives the same bytes.
"""

import csv
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from html import escape
from pathlib import Path
from typing import Any

from lxml import etree

FOLDER = Path(__file__).resolve().parent
HOST = "math.example.org"
CONTACT = """\
This site is a demonstration of **Assay**. The person who started it runs it.

Robin Hale organizes its tracks: organizer@math.example.org. Its people, addresses, teams and documents are made up.

Change what you like: the next installation has the same campaign again.
"""
# title, first and last day of the track that is over
MILESTONES_OF_LAST = (
    ("Topics and data", date(2025, 3, 3), None),
    ("Runs for the pool", date(2025, 6, 2), None),
    ("Judging", date(2025, 6, 9), date(2025, 7, 11)),
    ("Workshop", date(2025, 9, 12), None),
)
# title, and its first and last day counted from the day on which the demo is made
MILESTONES = (
    ("Topics and data", -60, None),
    ("Runs for the pool", -6, None),
    ("Judging", -5, 10),
    ("Results", 20, None),
    ("Workshop", 75, None),
)
LINK_TYPES = {"related": "1", "duplicate": "3"}
ACCEPTED, UP, DOWN = "1", "2", "3"  # VoteTypeId

_FORMULA = re.compile(
    r"\$\$.+?\$\$|\$[^$]+\$|\\begin\{(align\*?|equation\*?|gather\*?|multline\*?)\}.+?\\end\{\1\}", re.DOTALL
)
_CODE = re.compile(r"(<pre\b.*?</pre>)", re.DOTALL)
_BLOCK = re.compile(
    r"<(blockquote|form|iframe|li|ol|p|pre|script|style|svg|table|tbody|thead|tr|ul|/)", re.IGNORECASE
)


@dataclass(frozen=True)
class Comment:
    user: int
    score: int
    text: str  # the limited Markdown of the site


@dataclass(frozen=True)
class Link:
    to: int
    kind: str


@dataclass(frozen=True)
class Post:
    """A question, or an answer to `parent`. `topic` is the code of the topic that a question became."""

    id: int
    date: datetime
    score: int
    body: str  # HTML as on the site, with formulas between dollar signs and a blank line between paragraphs
    user: int | None = None
    name: str = ""  # of an author whose account is deleted
    parent: int | None = None
    title: str = ""
    tags: tuple[str, ...] = ()
    accepted: int | None = None
    comments: tuple[Comment, ...] = ()
    links: tuple[Link, ...] = ()
    topic: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


def collection() -> list[Post]:
    """Every post of the searched collection, by id."""
    return _posts(sorted((FOLDER / "threads").glob("*.toml")))


def topic_threads(year: int) -> list[Post]:
    """The questions of the topics of a year, with the answers that they got later."""
    return _posts([FOLDER / "topics" / f"{year}.toml"])


def truth() -> dict[tuple[str, str], int]:
    """The grade of each answer that helps with a topic, by topic and docno; every other answer is not relevant."""
    with (FOLDER / "truth.tsv").open(encoding="utf-8", newline="") as file:
        return {(topic, docno): int(grade) for topic, docno, grade in csv.reader(file, delimiter="\t")}


def guidelines(year: int) -> str:
    """The guidelines of a year in Markdown, with worked examples from its topics."""
    folder = FOLDER / "guidelines"
    return "".join((folder / name).read_text(encoding="utf-8") for name in ("common.md", f"{year}.md"))


def users() -> list[tuple[int, str, int]]:
    """Id, name and reputation of each user of the site."""
    with (FOLDER / "users.toml").open("rb") as file:
        return [tuple(row) for row in tomllib.load(file)["names"]]


def _posts(files: Iterable[Path]) -> list[Post]:
    posts: list[Post] = []
    for path in files:
        with path.open("rb") as file:
            for thread in tomllib.load(file)["thread"]:
                answers = thread.pop("answer", [])
                posts.append(_post(thread))
                posts.extend(_post(answer | {"parent": thread["id"]}) for answer in answers)
    return sorted(posts, key=lambda post: post.id)


def _post(fields: dict[str, Any]) -> Post:
    comments = tuple(Comment(**comment) for comment in fields.pop("comments", ()))
    links = tuple(Link(**link) for link in fields.pop("links", ()))
    tags = tuple(fields.pop("tags", ()))
    return Post(**fields, comments=comments, links=links, tags=tags)


def html_of(body: str, ids: Iterator[int] | None = None) -> str:
    """A body in the HTML of the site: with paragraphs, and formulas in containers that get their ids from `ids`."""
    blocks = []
    for part in _CODE.split(body):
        if part.startswith("<pre"):
            blocks.append(part)
            continue
        for block in filter(None, part.strip().split("\n\n")):
            marked = mark_formulas(block, ids)
            blocks.append(marked if _BLOCK.match(block) else f"<p>{marked}</p>")
    return "\n\n".join(blocks) + "\n"


def mark_formulas(text: str, ids: Iterator[int] | None = None) -> str:
    """HTML with each formula in a `math-container` span, which gets the next of the ids if there are any."""

    def span(formula: re.Match[str]) -> str:
        number = f' id="q_{next(ids)}"' if ids is not None else ""
        return f'<span class="math-container"{number}>{escape(formula[0], quote=False)}</span>'

    return _FORMULA.sub(span, text)


def write_dump(posts: list[Post], folder: Path) -> list[Path]:
    """Write the six files of a dump into a folder, and create the folder if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    n_answers = Counter(post.parent for post in posts)
    tags = Counter(tag for post in posts for tag in post.tags)
    tables: dict[str, Iterable[dict[str, str]]] = {
        "Users": (
            {"Id": str(number), "Reputation": str(reputation), "DisplayName": name}
            for number, name, reputation in users()
        ),
        "Posts": (_post_row(post, n_answers[post.id]) for post in posts),
        "Comments": (
            {
                "Id": f"{post.id}{number}",
                "PostId": str(post.id),
                "Score": str(comment.score),
                "Text": comment.text,
                "CreationDate": _time(post.date + timedelta(minutes=23 * number)),
                "UserId": str(comment.user),
            }
            for post in posts
            for number, comment in enumerate(post.comments, 1)
        ),
        "PostLinks": (
            {
                "Id": f"{post.id}{number}",
                "CreationDate": _time(post.date + timedelta(days=number)),
                "PostId": str(post.id),
                "RelatedPostId": str(link.to),
                "LinkTypeId": LINK_TYPES[link.kind],
            }
            for post in posts
            for number, link in enumerate(post.links, 1)
        ),
        "Votes": _vote_rows(posts),
        "Tags": (
            {"Id": str(number), "TagName": tag, "Count": str(n)}
            for number, (tag, n) in enumerate(sorted(tags.items()), 1)
        ),
    }
    for name, rows in tables.items():
        element = etree.Element(name.lower())
        for row in rows:
            etree.SubElement(element, "row", row)
        text = etree.tostring(element, encoding="utf-8", xml_declaration=True, pretty_print=True)
        # Real dumps begin with a byte order mark.
        (folder / f"{name}.xml").write_bytes(b"\xef\xbb\xbf" + text)
    return [folder / f"{name}.xml" for name in tables]


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")


def _post_row(post: Post, n_answers: int) -> dict[str, str]:
    row = {
        "Id": str(post.id),
        "PostTypeId": "2" if post.parent else "1",
        "CreationDate": _time(post.date),
        "Score": str(post.score),
        "Body": html_of(post.body),
        "CommentCount": str(len(post.comments)),
    }
    row |= {"OwnerUserId": str(post.user)} if post.user is not None else {"OwnerDisplayName": post.name}
    if post.parent:
        return row | {"ParentId": str(post.parent)}
    if post.accepted:
        row["AcceptedAnswerId"] = str(post.accepted)
    tags = "".join(f"<{tag}>" for tag in post.tags)
    return row | {"Title": post.title, "Tags": tags, "AnswerCount": str(n_answers)}


def _vote_rows(posts: list[Post]) -> Iterator[dict[str, str]]:
    accepted = {post.accepted for post in posts}
    for post in posts:
        kinds = [UP if post.score > 0 else DOWN] * abs(post.score) + [ACCEPTED] * (post.id in accepted)
        day = datetime.combine(post.date.date(), datetime.min.time())
        for number, kind in enumerate(kinds):
            yield {
                "Id": f"{post.id}{number:03}",
                "PostId": str(post.id),
                "VoteTypeId": kind,
                "CreationDate": _time(day),
            }


def topic_file(posts: Iterable[Post]) -> bytes:
    """The questions that became topics, as an ARQMath topic file with the thread of each topic."""
    root = etree.Element("Topics")
    ids = iter(range(1, 1_000_000))
    for post in _topics(posts):
        topic = etree.SubElement(root, "Topic", number=post.topic, post_id=str(post.id))
        etree.SubElement(topic, "Title").text = mark_formulas(post.title, ids)
        etree.SubElement(topic, "Question").text = html_of(post.body, ids)
        etree.SubElement(topic, "Tags").text = ",".join(post.tags)
    return etree.tostring(root, encoding="utf-8", xml_declaration=True, pretty_print=True)


def label_file(posts: Iterable[Post]) -> bytes:
    """The labels of the topics, as the CSV file that belongs to a topic file."""
    topics = list(_topics(posts))
    names = sorted({name for post in topics for name in post.labels})
    lines = [["topic", *names], *([post.topic, *(post.labels[name] for name in names)] for post in topics)]
    return "".join(",".join(line) + "\n" for line in lines).encode()


def _topics(posts: Iterable[Post]) -> Iterator[Post]:
    return (post for post in posts if post.topic)
