"""The names of columns and keys under which files of many collections have the fields of topics, documents and qrels.

Upper and lower case count as equal, and so do `query-id`, `query_id` and `query id`. If no name of a field is there,
the only name that ends like it is taken: `tweet_id` is the document in `topic_id, tweet_id, tweet_text`.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from assay.formats.sheets import without_preamble


class Usual(NamedTuple):
    """The names of a field, the preferred one first, and how other names of it end."""

    names: tuple[str, ...]
    ending: str = ""


Fields = Mapping[str, Usual]

LONGEST_HEADER = 10_000  # characters of the line that names the columns

# Ids come before `query`, which in the tables of PyTerrier is the text of a topic.
_TOPIC = ("topic", "topic_id", "query_id", "qid", "topicid", "queryid", "q_id", "query")
_DOCUMENT = ("docno", "doc_id", "docid", "document_id", "corpus_id", "passage_id", "pid")
# Names of other things that end like an id of a topic or document.
_OTHERS = frozenset({*_TOPIC, "thread_id", "parent_id", "author_id", "user_id", "run_id"})
QRELS: Fields = MappingProxyType(
    {
        "topic": Usual(_TOPIC),
        "docno": Usual((*_DOCUMENT, "post_id", "formula_id", "visual_id"), "id"),
        "grade": Usual(("grade", "relevance", "rel", "score", "rating", "judgment", "label")),
    }
)
SUBTOPICS: Fields = MappingProxyType(
    {**QRELS, "subtopic": Usual(("subtopic", "subtopic_id", "iteration", "aspect", "intent"))}
)
RUNS: Fields = MappingProxyType(
    {
        "topic": QRELS["topic"],
        "docno": QRELS["docno"],
        "score": Usual(("score", "sim", "similarity"), "score"),
        "rank": Usual(("rank",)),
    }
)
JUDGMENTS: Fields = MappingProxyType(
    {**QRELS, "assessor": Usual(("assessor", "judge", "annotator", "username"))}
)
DOCUMENTS: Fields = MappingProxyType(
    {
        "docno": Usual((*_DOCUMENT, "_id", "id"), "id"),
        "title": Usual(("title",), "title"),
        "text": Usual(("text", "contents", "content", "passage", "abstract"), "text"),
        "published": Usual(("published",)),
    }
)
CODES = (  # of topics; ids come first
    *(
        "code",
        "topic_id",
        "topicid",
        "query_id",
        "queryid",
        "qid",
        "q_id",
        "question_id",
        "request_id",
        "_id",
        "id",
    ),
    *("number", "num", "topic_number", "topic_num", "query_number", "identifier"),
)
_TITLE = (
    "title",
    "query",
    "query_text",
    "query_txt",
    "raw_query",
    "topic",
    "question",
    "claim",
    "prompt",
    "utterance",
)
TOPICS: Fields = MappingProxyType(
    {
        "code": Usual((*CODES, "topic"), "id"),
        "title": Usual((*_TITLE, "name"), "title"),
        "text": Usual(
            (
                "text",
                "description",
                "desc",
                "body",
                "content",
                "contents",
                "query_text",
                "question",
                "utterance",
            ),
            "description",
        ),
        "narrative": Usual(("narrative", "narr", "narratives"), "narrative"),
        "scenario": Usual(("scenario",)),
        "criteria": Usual(("criteria",)),
        "tags": Usual(("tags",)),
        "formula_id": Usual(("formula_id",)),
        "latex": Usual(("latex", "formula")),
    }
)
# Further texts of topics, which are shown under their names.
SECTIONS = frozenset(
    {
        *TOPICS["title"].names,
        *TOPICS["text"].names,
        *TOPICS["narrative"].names,
        "background",
        "context",
        "objective",
    }
    | {
        "information_need",
        "need",
        "problem_statement",
        "keywords",
        "scope",
        "rationale",
        "summary",
        "note",
        "concepts",
    }
    | {
        "disease",
        "gene",
        "demographic",
        "treatment",
        "other",
        "variant",
        "condition",
        "instruction",
        "user_background",
    }
)
USUAL: Mapping[str, Fields] = MappingProxyType(
    {
        "documents": DOCUMENTS,
        "topics": TOPICS,
        "qrels": QRELS,
        "subtopics": SUBTOPICS,
        "runs": RUNS,
        "judgments": JUDGMENTS,
    }
)


def normal(name: str) -> str:
    """A name as it is compared."""
    return name.strip().strip('"').strip().lower().replace("-", "_").replace(" ", "_")


def places(names: Sequence[str], fields: str) -> Mapping[str, int]:
    """The place of each field that some names contain; `fields` is a key of `USUAL`, such as `qrels`."""
    return _places(tuple(names), fields)


@lru_cache(maxsize=256)
def _places(names: tuple[str, ...], fields: str) -> Mapping[str, int]:
    usual = USUAL[fields]
    words = [normal(name) for name in names]
    taken: dict[str, int] = {}
    for field, (known, _) in usual.items():
        positions = (words.index(name) for name in known if name in words)
        place = next((place for place in positions if place not in taken.values()), None)
        if place is not None:
            taken[field] = place
    for field, (_, ending) in usual.items():
        others = [
            n
            for n, word in enumerate(words)
            if n not in taken.values() and word not in _OTHERS and word.endswith(f"_{ending}")
        ]
        if field not in taken and ending and len(others) == 1:
            taken[field] = others[0]
    return MappingProxyType(taken)


def table_of_topics(text: str) -> tuple[str, Mapping[str, int]] | None:
    """The separator and the places of the fields of a table of topics, from its header; None if a text is not one."""
    start = without_preamble(text[: 2 * LONGEST_HEADER]).lstrip("\r\n")
    header = start[:LONGEST_HEADER].partition("\n")[0]
    if header.startswith(("{", "<")):  # JSON or XML, whose texts may contain such names
        return None
    for separator in ("\t", ",", ";"):
        named = places(header.split(separator), "topics")
        if "code" in named and len(named) > 1:
            return separator, named
    return None
