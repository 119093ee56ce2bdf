"""Test collections in the forms of other tools: BEIR, Hugging Face, ir_datasets, and plain files of Assay's names.

`registry` has the one list of forms, each with its reader and its writer. The command, the pages and the API read it.
"""

from assay.archive.parts import CollectionForm
from assay.extensions import Extension

TITLES = {
    "assay": "files of Assay's names: JSON lines and qrels of TREC",
    "beir": "BEIR: corpus.jsonl, queries.jsonl and qrels",
    "hugging-face": "Hugging Face: parquet files and a data set card",
    "ir-datasets": "ir_datasets: JSON lines and the Python file that registers them",
}
EXTENSION = Extension(
    name="exchange",
    title="Test collections of other tools",
    adds=tuple(
        CollectionForm(name, title, "assay_extensions.exchange.site.collections")
        for name, title in TITLES.items()
    ),
)
