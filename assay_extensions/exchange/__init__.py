"""Test collections in the forms of other tools: BEIR, Hugging Face, ir_datasets, and plain files of Assay's names."""

from assay.archive.parts import CollectionForm
from assay.exchange import TITLES
from assay.extensions import Extension

EXTENSION = Extension(
    name="exchange",
    title="Test collections of other tools",
    adds=tuple(CollectionForm(name, title, "publishing.archives.exchange") for name, title in TITLES.items()),
)
