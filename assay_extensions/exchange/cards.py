"""The texts next to the data of a test collection: its card, and the files that register it with ir_datasets."""

import json
import re
from collections.abc import Iterable, Mapping

from assay.errors import plural
from assay_extensions.exchange.content import TestCollection
from assay_extensions.exchange.qrels import n_pooled

# The ids of licenses that Hugging Face knows, by their names and addresses.
_LICENSES = {
    "apache-2.0": "apache.org/licenses/license-2.0|apache-2.0",
    "mit": "opensource.org/license/mit|mit",
    "cc0-1.0": "creativecommons.org/publicdomain/zero/1.0|cc0-1.0|cc0",
}
_CC = re.compile(
    r"(?:creativecommons\.org/licenses/|cc[ -])(by(?:-nc)?(?:-(?:sa|nd))?)[ /-](\d\.\d)", re.IGNORECASE
)


def license_id(words: str) -> str:
    """The id of a license in a card; `other` if the words are unknown."""
    if match := _CC.search(words):
        return f"cc-{match[1]}-{match[2]}".lower()
    bare = words.lower().strip("/ ").removeprefix("https://").removeprefix("http://").removeprefix("www.")
    return next((key for key, known in _LICENSES.items() if bare in known.split("|")), "other")


def about(collection: TestCollection, *, counts: Mapping[str, int]) -> str:
    """A description in Markdown: what the collection is, how large, and what was left out."""
    title = collection.title or collection.name
    lines = [
        f"# {title}",
        "",
        f"A test collection: {counts['documents']:,} documents, {counts['topics']:,} topics.",
    ]
    facts = [
        ("Authors", ", ".join(collection.authors)),
        ("License", collection.license),
        ("Home page", collection.url),
    ]
    if given := [f"- {name}: {value}" for name, value in facts if value]:
        lines += ["", *given]
    lines += ["", "| qrels | topics | lines | grades |", "|---|---:|---:|---|"]
    for split, columns in collection.qrels.items():
        grades = sorted({grade for grade in columns.grade.tolist() if grade >= 0})
        n = len(columns.grade) - n_pooled(columns)
        lines.append(f"| {split} | {len(columns.topics):,} | {n:,} | {', '.join(map(str, grades))} |")
    left_out = sum(map(n_pooled, collection.qrels.values()))
    if left_out:
        lines += ["", f"Left out: {plural(left_out, 'document')} that the pool has, without a grade."]
    lines += ["", "Texts are plain, with formulas in LaTeX between dollars."]
    lines += ["", *collection.notes] if collection.notes else []
    return "\n".join(lines) + "\n"


def hugging_face_card(collection: TestCollection, *, counts: Mapping[str, int]) -> str:
    """The README of a data set: YAML that says which files are which, and the description."""
    license_of = license_id(collection.license)
    lines = ["---", f"pretty_name: {json.dumps(collection.title or collection.name, ensure_ascii=False)}"]
    if collection.license:
        lines.append(f"license: {license_of}")
        if license_of == "other":
            lines.append(f"license_name: {json.dumps(collection.license, ensure_ascii=False)}")
    lines += ["task_categories:", "- text-retrieval", "configs:"]
    lines += _config("corpus", [("corpus", "corpus/*.parquet")])
    lines += _config("queries", [("queries", "queries/*.parquet")])
    lines += _config("qrels", [(split, f"qrels/{split}.parquet") for split in collection.qrels])
    return "\n".join([*lines, "---", "", about(collection, counts=counts)])


def _config(name: str, files: Iterable[tuple[str, str]]) -> list[str]:
    lines = [f"- config_name: {name}", "  data_files:"]
    for split, path in files:
        lines += [f"  - split: {split}", f"    path: {path}"]
    return lines


def catalog(collection: TestCollection, files: Mapping[str, Mapping[str, object]], *, has_parts: bool) -> str:
    """The JSON that the registration file reads: texts, and of each file its path, size and digests."""
    return (
        json.dumps(
            {
                "name": collection.name,
                "pretty_name": collection.title or collection.name,
                "license": collection.license,
                "url": collection.url,
                "queries": "title, description, narrative" if has_parts else "text",
                "files": files,
            },
            indent=2,
            ensure_ascii=False,
        )
        + "\n"
    )


REGISTRATION = '''"""Registers this test collection with ir_datasets.

Put this folder on the path of Python, and import this file:

    import ir_datasets
    import {module}
    dataset = ir_datasets.load("{dataset}")
"""

import json
from pathlib import Path
from typing import NamedTuple

import ir_datasets
from ir_datasets.datasets.base import Dataset
from ir_datasets.formats import GenericQuery, JsonlDocs, JsonlQueries, TrecQrels, TrecQuery
from ir_datasets.util import LocalDownload

HERE = Path(__file__).parent
CATALOG = json.loads((HERE / "{module}.json").read_text(encoding="utf-8"))


class Document(NamedTuple):
    """A document with its title."""

    doc_id: str
    title: str
    text: str

    def default_text(self):
        """title and text"""
        return f"{{self.title}} {{self.text}}".strip()


def _file(key):
    return LocalDownload(HERE / CATALOG["files"][key]["path"], mkdir=False)


def _register():
    name = CATALOG["name"]
    count = CATALOG["files"]["docs"]["count"]
    docs = JsonlDocs(_file("docs"), doc_cls=Document, namespace=name, count_hint=count)
    kind = GenericQuery if CATALOG["queries"] == "text" else TrecQuery
    queries = JsonlQueries(_file("queries"), query_cls=kind)
    ir_datasets.registry.register(name, Dataset(docs, queries))
    for key in CATALOG["files"]:
        if key.startswith("qrels/"):
            grades = CATALOG["files"][key]["grades"]
            qrels = TrecQrels(_file(key), {{grade: f"grade {{grade}}" for grade in grades}})
            ir_datasets.registry.register(f"{{name}}/{{key.removeprefix('qrels/')}}", Dataset(docs, queries, qrels))


_register()
'''
