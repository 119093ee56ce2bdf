from corpus.models.builds import Build, BuildFile, ConversionPart
from corpus.models.documents import Author, Collection, Comment, Document, DocumentLink, Image, Tag, VoteCount
from corpus.models.formulas import Clustering, ClusteringPart, Disagreement, Formula, FormulaMathML
from corpus.models.imports import Import

__all__ = [
    "Author",
    "Build",
    "BuildFile",
    "Clustering",
    "ClusteringPart",
    "Collection",
    "Comment",
    "ConversionPart",
    "Disagreement",
    "Document",
    "DocumentLink",
    "Formula",
    "FormulaMathML",
    "Image",
    "Import",
    "Tag",
    "VoteCount",
]
