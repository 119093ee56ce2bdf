"""Writes what is published of a dump as XML, and of any source as JSON lines; and the private files of the organizers.

Each function gives the text of a file in parts. The XML has the attributes that ARQMath's files have, and in addition
the name of a deleted user, because the license requires credit. Each row is one line, with spaces for line ends outside
of `<pre>`.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter

from assay.formats.spreadsheet import tsv_lines
from assay.formulas.extraction import mark
from assay.html.sanitize import clean_body, plain
from assay_extensions.building.dump import row_line
from assay_extensions.building.marking import mark_text
from assay_extensions.building.store import KEPT, Store

# Line ends mean something in code, and after a comment in LaTeX.
_LINES_KEPT = re.compile(r'<(/?)pre\b|<span class="math-container"[^<>]*+>[^<]*+</span>', re.IGNORECASE)
_OF_POST = f"EXISTS (SELECT 1 FROM posts WHERE docno = {{}} AND {KEPT})"
_NAMED = f"""
    SELECT owner FROM posts WHERE {KEPT} UNION SELECT owner FROM comments WHERE {_OF_POST.format("comments.post")}
    UNION SELECT owner FROM votes WHERE {_OF_POST.format("votes.post")}
"""
_LINKED = f"is_late = 0 AND {_OF_POST.format('source')} AND {_OF_POST.format('target')}"


def one_line(html: str) -> str:
    """HTML with spaces for line ends, except in code.

    >>> one_line("<p>a</p>\\n\\n<pre>b\\nc</pre>\\n")
    '<p>a</p>  <pre>b\\nc</pre> '
    """
    if "\n" not in html and "\r" not in html:
        return html
    html = html.replace("\r\n", "\n").replace("\r", "\n")
    pieces, position, is_code = list[str](), 0, False
    for match in _LINES_KEPT.finditer(html):
        before, element = html[position : match.start()], match[0]
        pieces.append(before if is_code else before.replace("\n", " "))
        if element.startswith("<span"):
            pieces.append(element if is_code or "%" in element else element.replace("\n", " "))
        else:
            pieces.append(element)
            is_code = not match[1]
        position = match.end()
    rest = html[position:]
    return "".join([*pieces, rest if is_code else rest.replace("\n", " ")])


def xml_parts(store: Store, kind: str) -> Iterator[str]:
    """The text of a file of the dump after the cut: posts, comments, postlinks, votes, users, badges or tags."""
    yield f'<?xml version="1.0" encoding="utf-8"?>\n<{kind}>\n'
    for line in _LINES[kind](store):
        yield f"{line}\n"
    yield f"</{kind}>\n"


def _posts(store: Store) -> Iterator[str]:
    sql = f"""
        SELECT docno, kind, thread, created, views, score, owner, author, title, body, tags, closed,
            (SELECT count(*) FROM posts a WHERE a.thread = p.docno AND a.{KEPT} AND a.kind = 'answer'),
            (SELECT count(*) FROM comments WHERE post = p.docno),
            (SELECT docno FROM posts a WHERE a.docno = p.accepted AND a.{KEPT})
        FROM posts p WHERE {KEPT} ORDER BY seq
    """
    for row in store.rows(sql):
        docno, kind, thread, created, views, score, owner, author, title, body, tags, closed, *counts = row
        is_question = kind == "question"
        yield row_line(
            {
                "Id": docno,
                "PostTypeId": "1" if is_question else "2",
                "CreationDate": created,
                "ViewCount": views,
                "Score": score,
                "CommentCount": str(counts[1]),
                "OwnerUserId": owner,
                "OwnerDisplayName": author,
                "Title": one_line(title),
                "Body": one_line(body),
                "AnswerCount": str(counts[0]) if is_question else "",
                "AcceptedAnswerId": counts[2] or "",
                "ClosedDate": closed,
                "Tags": "".join(f"<{tag}>" for tag in tags.split("\n") if tag),
                "ParentId": "" if is_question else thread,
            }
        )


def _comments(store: Store) -> Iterator[str]:
    columns = "code, post, text, score, created, owner, author"
    sql = f"SELECT {columns} FROM comments WHERE {_OF_POST.format('post')} ORDER BY seq"
    names = ("Id", "PostId", "Text", "Score", "CreationDate", "UserId", "UserDisplayName")
    for row in store.rows(sql):
        yield row_line(dict(zip(names, (*row[:2], one_line(row[2]), *row[3:]), strict=True)))


def _tags(store: Store) -> Iterator[str]:
    for name, code, n in store.rows(
        "SELECT name, code, (SELECT count(*) FROM tagged WHERE tag = name) AS n FROM tags WHERE n > 0 ORDER BY seq"
    ):
        yield row_line({"Id": code, "TagName": name, "Count": str(n)})


def _stored(sql: str) -> Callable[[Store], Iterator[str]]:
    """The lines that a query gives, which were written when the dump was read."""
    return lambda store: map(itemgetter(0), store.rows(sql))


def count_tags(store: Store) -> None:
    """Make the table of the tags of the questions that are kept."""
    store.execute("CREATE TEMP TABLE IF NOT EXISTS tagged (tag TEXT NOT NULL)")
    store.execute("DELETE FROM tagged")
    rows = store.rows(f"SELECT tags FROM posts WHERE {KEPT} AND tags <> ''")
    store.insert("INSERT INTO tagged VALUES (?)", ((tag,) for (tags,) in rows for tag in tags.split("\n")))
    store.execute("CREATE INDEX IF NOT EXISTS temp.tagged_by_name ON tagged (tag)")


SELECTIONS = {
    "postlinks": f"FROM links WHERE {_LINKED}",
    "votes": f"FROM votes WHERE {_OF_POST.format('post')}",
    "users": f"FROM users WHERE code IN ({_NAMED})",
    "badges": f"FROM badges WHERE owner IN ({_NAMED})",
}
_LINES: Mapping[str, Callable[[Store], Iterator[str]]] = {
    "posts": _posts,
    "comments": _comments,
    "tags": _tags,
    **{kind: _stored(f"SELECT line {selection} ORDER BY seq") for kind, selection in SELECTIONS.items()},
}


def after_of(store: Store, kinds: Iterable[str]) -> dict[str, int]:
    rows = store.rows(f"SELECT kind, count(*) FROM posts WHERE {KEPT} GROUP BY kind ORDER BY kind")
    counts = {f"{kind}s": n for kind, n in rows}
    counts["comments"] = store.number(f"SELECT count(*) FROM comments WHERE {_OF_POST.format('post')}")
    for kind in kinds:
        if kind == "postlinks":
            rows = store.rows(f"SELECT kind, count(*) {SELECTIONS[kind]} GROUP BY kind ORDER BY kind")
            counts |= {f"links: {name}": n for name, n in rows}
        elif kind in SELECTIONS:
            counts[kind] = store.number(f"SELECT count(*) {SELECTIONS[kind]}")
    if "tags" in kinds:
        counts["tags"] = store.number("SELECT count(*) FROM tags WHERE name IN (SELECT tag FROM tagged)")
    return counts


# -- JSON lines


def documents(store: Store) -> Iterator[str]:
    """The posts as JSON lines, in the form that `Import a collection` reads."""
    sql = f"""
        SELECT docno, kind, thread, title, body, tags, score, coalesce(nullif(author, ''), users.name, ''), created,
            language, (SELECT docno FROM posts a WHERE a.docno = p.accepted AND a.{KEPT})
        FROM posts p LEFT JOIN users ON code = owner WHERE {KEPT} ORDER BY p.seq
    """
    of_comments = """
        SELECT comments.code, text, score, coalesce(nullif(author, ''), users.name, ''), created
        FROM comments LEFT JOIN users ON users.code = owner WHERE post = ? ORDER BY comments.seq
    """
    keys = ("id", "text", "score", "author", "published")
    for docno, kind, thread, title, body, tags, score, author, created, language, accepted in store.rows(sql):
        comments = []
        for code, text, own_score, *others in store.rows(of_comments, (docno,)):
            comment = dict(zip(keys, (code, text, int(own_score or 0), *others), strict=True))
            comments.append({key: value for key, value in comment.items() if value not in ("", None)})
        values = {
            "docno": docno,
            "kind": kind,
            "thread": thread if thread != docno else "",
            "title": title,
            "body": body,
            "tags": [tag for tag in tags.split("\n") if tag],
            "score": int(score) if score else None,
            "accepted": accepted,
            "author": author,
            "published": created,
            "language": language,
            "comments": comments,
        }
        filled = {name: value for name, value in values.items() if value not in ("", None, [])}
        yield f"{json.dumps(filled, ensure_ascii=False)}\n"


# -- Private files


_PRIVATE = f"""
    SELECT q.seq AS question, q.docno AS docno, c.docno AS linked, links.kind AS kind
    FROM links JOIN posts q ON q.docno = {{}} JOIN posts c ON c.docno = {{}} WHERE q.role = 'topic' AND c.{KEPT}
"""
_BOTH_WAYS = f"({_PRIVATE.format('source', 'target')} UNION {_PRIVATE.format('target', 'source')})"


def private_links(store: Store) -> Iterator[str]:
    """The links between questions of the period of the topics and posts of the collection, in either direction."""
    yield "question_id\tlinked_id\tkind\n"
    order = "question, kind, length(linked), linked"
    yield from tsv_lines(store.rows(f"SELECT docno, linked, kind FROM {_BOTH_WAYS} ORDER BY {order}"))


def candidates(store: Store, *, has_formulas: bool) -> Iterator[str]:
    """The questions of the period of the topics as JSON lines, with their formulas marked as in published topics.

    Args:
        has_formulas: only questions with a formula are candidates.
    """
    sql = """
        SELECT p.seq, docno, created, title, body, tags, score, users.reputation,
            (SELECT count(*) FROM posts a WHERE a.thread = p.docno AND a.kind = 'answer')
        FROM posts p LEFT JOIN users ON users.code = owner WHERE role = 'topic' ORDER BY p.seq
    """
    order = "question, length(linked), linked"
    linked = groupby(
        store.rows(f"SELECT question, linked, kind FROM {_BOTH_WAYS} ORDER BY {order}"), itemgetter(0)
    )
    waiting = next(linked, None)
    for seq, docno, created, title, body, tags, score, reputation, n_answers in store.rows(sql):
        links: dict[str, list[str]] = {"duplicate": [], "related": []}
        if waiting is not None and waiting[0] == seq:
            for _, post, kind in waiting[1]:
                if post not in links.get(kind, [post]):
                    links[kind].append(post)
            waiting = next(linked, None)
        n_formulas, words = 0, plain(clean_body(body)).split()
        if has_formulas:
            marked = [mark_text(title, first_id=None, has_delimiters=True)]
            marked.append(mark(body, first_id=None, has_delimiters=True))
            title, body = (text.html for text in marked)
            n_formulas = sum(len(text.latex) for text in marked)
        if not words or (has_formulas and not n_formulas):
            continue
        candidate = {
            "id": docno,
            "date": created,
            "title": title,
            "body": body,
            "tags": [tag for tag in tags.split("\n") if tag],
            "score": int(score or 0),
            "answers": n_answers,
            "formulas": n_formulas,
            "duplicates": links["duplicate"],
            "related": [post for post in links["related"] if post not in links["duplicate"]],
            "reputation": int(reputation) if reputation else None,
            "length": len(words),
        }
        yield f"{json.dumps(candidate, ensure_ascii=False)}\n"


def places_of_formulas(store: Store) -> dict[str, int]:
    """The number of published formulas by place."""
    rows = store.rows(
        f"SELECT place, count(*) FROM formulas WHERE {_OF_POST.format('post')} GROUP BY place ORDER BY place"
    )
    return dict(rows)
