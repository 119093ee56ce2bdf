"""Conversion of a chunk of articles.

The processes that convert import this module only: it must import neither Django nor a model.
"""

from typing import NamedTuple

from assay.formats.documents.articles import ArticleFile, Converted, convert


class ArticleChunk(NamedTuple):
    """Articles that are converted together.

    `end` is the number of articles up to the last of them, `done` how much of the import is read after it.
    """

    files: tuple[ArticleFile, ...]
    end: int
    done: int


def convert_articles(chunk: ArticleChunk) -> Converted:
    """The articles and their formulas, sanitized and ready for COPY."""
    return convert(chunk.files)
