"""Writes a page of HTML for each thread: the question, its comments and related posts, and all answers.

The folders are those of ARQMath: the year and the month, each after the id of its first question,
`1_2018/1_02/3.html`. A document without a date is at the top. HTML is sanitized: no script, no style and no form
remains, and formulas keep their numbers.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from html import escape
from itertools import islice
from pathlib import Path
from string import Template
from typing import Any, NamedTuple
from urllib.parse import quote

import nh3

from assay.html.sanitize import ATTRIBUTES, TAGS, clean_title, plain
from assay_extensions.building.marking import MARK
from assay_extensions.building.store import HEADS, KEPT, Store

FOLDER = "html"
SUMS = "SHA256SUMS"
PAGES_AT_ONCE = 200
_LONGEST_NAME = 200  # characters of a file name without its suffix
_CLEANER = nh3.Cleaner(
    tags=set(TAGS) | {"h1", "h2", "h3", "img"},
    attributes={
        **{tag: set(names) for tag, names in ATTRIBUTES.items()},
        "a": {"href", "title"},
        "img": {"src", "alt", "width", "height"},
        "span": {"class", "id"},
    },
    clean_content_tags={"script", "style", "template", "noscript", "iframe", "object", "svg"},
    url_schemes={"http", "https", "ftp", "mailto"},
    link_rel="noopener noreferrer",
)
_LEVELS = {"1": "gold", "2": "silver", "3": "bronze"}
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_PAGE = Template(
    """<!DOCTYPE html>
<html lang="$language">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src https:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$name</title>
<style>body { font: 1em/1.5 sans-serif; max-width: 50em; margin: 1em auto; padding: 0 1em; overflow-wrap: anywhere }
article { border-top: 1px solid; margin-top: 2em } .about { font-size: .9em } .math-container { font-family: monospace }
.math-container, code, kbd, pre, samp, var { direction: ltr; unicode-bidi: isolate }
h1, h4, h5, h6, p, li, dd, dt, td, th, .body, .text { unicode-bidi: plaintext }
pre { overflow-x: auto } img { max-width: 100% }</style>
</head>
<body>
<h1 id="title">$title</h1>
$posts
</body>
</html>
"""
)


class Paths:
    """The path of the page of each thread, below the folder of the pages."""

    def __init__(self, store: Store) -> None:
        self._first: dict[str, str] = {}  # question of each year and month
        columns = "substr(created, 1, 7) AS month, docno, min(seq)"
        for month, docno, _ in store.rows(
            f"SELECT {columns} FROM posts WHERE {KEPT} AND {HEADS} GROUP BY month ORDER BY 3"
        ):
            self._first[month] = docno
            self._first.setdefault(month[:4], docno)

    def path(self, docno: str, created: str) -> str:
        name = quote(docno, safe="")
        if len(name) > _LONGEST_NAME:
            name = f"{name[: _LONGEST_NAME - 65]}-{sha256(docno.encode()).hexdigest()}"
        if not created:
            return f"{name}.html"
        year, month = created[:4], created[:7]
        first, first_of_month = (
            quote(self._first.get(key, docno), safe="")[:_LONGEST_NAME] for key in (year, month)
        )
        return f"{first}_{year}/{first_of_month}_{month[5:]}/{name}.html"


class Post(NamedTuple):
    """A row of the table of posts."""

    seq: int
    docno: str
    kind: str
    created: str
    title: str
    body: str
    tags: str
    score: str
    owner: str
    author: str
    language: str


_COLUMNS = ", ".join(Post._fields)


def write_all(store: Store, folder: Path, progress: Callable[[int], None]) -> dict[str, Any]:
    """Write the pages that are not written yet, then the list of their digests; the state of the step."""
    state, is_done = store.state("file:pages")
    if is_done:
        return state
    paths = Paths(store)
    state = state or {"after": -1, "files": 0}
    sql = f"SELECT {_COLUMNS} FROM posts WHERE seq > ? AND {KEPT} AND {HEADS} ORDER BY seq LIMIT ?"
    while heads := [Post(*row) for row in store.rows(sql, (state["after"], PAGES_AT_ONCE))]:
        digests = []
        for head in heads:
            path = folder / paths.path(head.docno, head.created)
            data = page(store, paths, head).encode(errors="replace")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            digests.append((path.relative_to(folder).as_posix(), sha256(data).hexdigest()))
        with store.writing():
            store.insert("INSERT OR REPLACE INTO pages VALUES (?, ?)", digests)
            state = {"after": heads[-1].seq, "files": state["files"] + len(heads)}
            store.set_state("file:pages", state)
        progress(state["files"])
    # Delete the pages of threads that were removed after an earlier call.
    written = "SELECT 1 FROM pages WHERE path = ?"
    names = (path.relative_to(folder) for path in folder.rglob("*.html"))
    for name in [name for name in names if store.row(written, (name.as_posix(),)) is None]:
        (folder / name).unlink()
        for parent in islice(name.parents, 2):
            with suppress(OSError):  # other pages are in it
                (folder / parent).rmdir()
    with store.writing():
        store.set_state("file:pages", state, is_done=True)
    return state


def sums(store: Store) -> Iterator[str]:
    """The digest of each page, as `sha256sum` writes and checks it."""
    for path, digest in store.rows("SELECT path, sha256 FROM pages ORDER BY path"):
        yield f"{digest}  {path}\n"


def page(store: Store, paths: Paths, head: Post) -> str:
    sql = f"SELECT {_COLUMNS} FROM posts WHERE thread = ? AND {KEPT} AND NOT {HEADS} ORDER BY seq"
    answers = [Post(*row) for row in store.rows(sql, (head.docno,))]
    level = len(paths.path(head.docno, head.created).split("/")) - 1
    related = _related(store, paths, head, "../" * level)
    posts = [_article(store, head, related), *(_article(store, answer, "") for answer in answers)]
    return _PAGE.substitute(
        language=escape(head.language or "en"),
        name=escape(plain(clean_title(head.title)) or head.docno),
        title=_text(head.title) or escape(head.docno),
        posts="\n".join(posts),
    )


def _text(text: str) -> str:
    """Text with marked formulas, such as a title or a comment, as HTML."""
    pieces = MARK.split(_CONTROLS.sub(" ", text))
    pieces[::2] = (escape(piece, quote=False) for piece in pieces[::2])
    return "".join(pieces)


def _article(store: Store, post: Post, related: str) -> str:
    tags = ", ".join(tag for tag in post.tags.split("\n") if tag)
    about = [f'<span class="score">Score {post.score}</span>'] if post.score else []
    about += [f'<span class="tags">{escape(tags)}</span>'] if tags else []
    about += [_author(store, post.owner, post.author)] if post.owner or post.author else []
    about += (
        [f'<time datetime="{escape(post.created)}">{escape(post.created[:10])}</time>']
        if post.created
        else []
    )
    return "\n".join(
        part
        for part in (
            f'<article class="{post.kind}" id="{post.kind}-{escape(post.docno)}">',
            f"<h2>{post.kind.capitalize()}</h2>" if post.kind in {"answer", "post"} else "",
            f'<p class="about">{" · ".join(about)}</p>' if about else "",
            f'<div class="body">{_CLEANER.clean(post.body)}</div>',
            related,
            _comments(store, post.docno),
            "</article>",
        )
        if part
    )


def _author(store: Store, owner: str, author: str) -> str:
    row = store.row("SELECT name, reputation FROM users WHERE code = ?", (owner,)) or ("", "")
    name = row[0] or author or (f"user{owner}" if owner else "")
    facts = [f"user {owner}"] if owner else []
    facts += [f"reputation {row[1]}"] if row[1] else []
    counts = store.rows(
        "SELECT class, count(*) FROM badges WHERE owner = ? GROUP BY class ORDER BY class", (owner,)
    )
    facts += [f"{n} {_LEVELS[level]}" for level, n in counts if level in _LEVELS] if owner else []
    words = f" ({', '.join(facts)})" if facts else ""
    return f'<span class="author">{escape(name)}{escape(words)}</span>'


def _related(store: Store, paths: Paths, head: Post, up: str) -> str:
    sql = f"""
        SELECT p.docno, p.created, p.title, links.kind FROM links JOIN posts p ON p.docno = {{}}
        WHERE links.{{}} = ?1 AND is_late = 0 AND p.{KEPT} AND p.kind = 'question'
    """
    both = (
        f"{sql.format('links.target', 'source')} UNION {sql.format('links.source', 'target')} ORDER BY 4, 1"
    )
    rows = list(store.rows(both, (head.docno,)))
    if not rows:
        return ""
    items = (
        f'<li class="{escape(kind)}"><a href="{up}{escape(paths.path(docno, created))}">[{escape(docno)}]</a> '
        f"{_text(title)}</li>"
        for docno, created, title, kind in rows
    )
    return f'<section class="related"><h3>Related posts</h3><ul>{"".join(items)}</ul></section>'


def _comments(store: Store, post: str) -> str:
    sql = """
        SELECT comments.code, text, score, owner, coalesce(nullif(users.name, ''), author), created
        FROM comments LEFT JOIN users ON users.code = owner WHERE post = ? ORDER BY comments.seq
    """
    shown = _text if store.about("kinds") else _CLEANER.clean  # a converter makes HTML of comments
    items = []
    for code, text, score, owner, author, created in store.rows(sql, (post,)):
        name = author or (f"user{owner}" if owner else "")
        items.append(
            f'<li id="comment-{escape(code)}"><span class="text">{shown(text)}</span> '
            f'<span class="about">Score {score} · {f"{escape(name)} · " if name else ""}'
            f'<time datetime="{escape(created)}">{escape(created[:10])}</time></span></li>'
        )
    return f'<section class="comments"><h3>Comments</h3><ul>{"".join(items)}</ul></section>' if items else ""
