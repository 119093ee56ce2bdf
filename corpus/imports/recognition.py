"""The files of an import: where they are, and what they contain."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from django.conf import settings

from assay.errors import BadFile, Refused
from assay.formats.documents.articles import is_article
from assay.formats.documents.dump import Reader
from assay.formats.documents.indexes import FORMS, Index, Representation
from assay.formats.documents.sources import DUMPS, FORUM, TREC
from assay.formats.documents.tables import is_table
from corpus.articles import reading as articles
from corpus.images import reading as images
from corpus.imports.selectors import import_dir, offered_path
from corpus.locations import FOLDER, open_file, open_raw, path_of

TABLE = "table"
# The order in which files are imported: comments, links and votes need posts.
ORDER = ("jsonl", TABLE, FORUM, TREC, *DUMPS, articles.FORM, *FORMS, images.FORM)

TITLE = "This cannot be imported"
import_refused = partial(Refused, code="import-refused", title=TITLE)


class Source(NamedTuple):
    """A file to import, or a folder of images or articles.

    `location` is a path, or `upload:` with a name in Django's storage.
    """

    location: str
    name: str


class Recognized(NamedTuple):
    source: Source
    form: str
    size: int


def sources_of(paths: Iterable[Path], *, within: Path | None = None) -> list[Source]:
    """The files at some paths; a folder means the files in it. Links that lead out of `within` are left out.

    A folder with images or articles, also in its subfolders, is one more source.

    Raises:
        Refused: There is no such file or folder.
    """
    existing: list[Path] = []
    for path in paths:
        if path.is_dir():
            files = (file for file in sorted(path.iterdir()) if file.is_file())
            existing += [file for file in files if not (images.is_image(file.name) or is_article(file.name))]
            existing += [path] if images.has_images(path) or articles.has_articles(path) else []
        elif path.is_file():
            existing.append(path)
        else:
            raise import_refused(f"There is no file or folder {path}.")
    named = [(file.resolve(), file.name or file.resolve().name) for file in existing]
    if within is None:
        return [Source(str(file), name) for file, name in named]
    inside = [(file.relative_to(within), name) for file, name in named if file.is_relative_to(within)]
    return [Source(f"{FOLDER}{file.as_posix()}", name) for file, name in inside]


def sources_in_folder(name: str) -> list[Source]:
    """The files of a file or folder in the import folder, which this machine must see.

    Raises:
        Refused: There is no such file or folder.
    """
    path = offered_path(name)
    if path is None:
        raise import_refused(
            f"There is no file or folder {name} in the import folder of {settings.HOST_NAME}."
        )
    return sources_of([path], within=import_dir())


def recognize(
    sources: Sequence[Source], representation: Representation | None, version: int = 0
) -> list[Recognized]:
    """The files that can be imported, in the order of import.

    Raises:
        BadFile: No file has a known format.
        Refused: A version differs.
    """
    files: list[Recognized] = []
    refusals: list[str] = []
    for source in sources:  # other files are ignored, unless there are only such
        try:
            files += _recognize(source)
        except BadFile as refusal:
            refusals.append(refusal.message)
    if not files:
        accepted = (
            "Import the files of a dump (Posts.xml and others), a forum in BOLT's XML, TREC's documents, articles in "
            "XHTML, lines of JSON, tables of documents, formula indexes, or images."
        )
        raise BadFile(
            f"{' '.join(refusals[:5]) or 'There is no file.'} {accepted}", code="import-refused", title=TITLE
        )
    ordered = sorted(files, key=lambda file: ORDER.index(_kind_of(file.form)))
    return [_with_options(file, representation, version) for file in ordered]


def _kind_of(form: str) -> str:
    """A form without the columns of its table."""
    return TABLE if is_table(form) else form


def _recognize(source: Source) -> list[Recognized]:
    """The contents of a source: one form, or images and articles."""
    forms = []
    if _is_of_kind(source, images.has_images, images.is_image, images.is_archive_of_images):
        with images.opened_images(source.location, source.name) as files:
            forms.append(Recognized(source, images.FORM, sum(file.size for file in files)))
    if _is_of_kind(source, articles.has_articles, is_article, articles.is_archive_of_articles):
        with articles.opened_articles(source.location, source.name) as opened:
            forms.append(Recognized(source, articles.FORM, opened.size))
    if forms:
        return forms
    with open_file(source.location, source.name) as (content, file):
        form = Reader(content, source.name).form
        if _kind_of(form.name) not in ORDER:
            raise BadFile(f"{source.name} contains <{form.name}>, which cannot be imported.")
        return [Recognized(source, form.name, file.seek(0, 2))]


def _is_of_kind(
    source: Source,
    in_folder: Callable[[Path], bool],
    by_name: Callable[[str], bool],
    in_archive: Callable[[BinaryIO], bool],
) -> bool:
    """Return whether a source is a folder or an archive of files of a kind, or a file of it."""
    path = path_of(source.location)
    if path is not None and path.is_dir():
        return in_folder(path)
    if by_name(source.name):
        return True
    with open_raw(source.location, source.name) as file:
        return in_archive(file)


def _with_options(file: Recognized, representation: Representation | None, version: int) -> Recognized:
    """A formula index with the representation of the options. Its version must be the one that its columns show."""
    index = Index.of(file.form)
    if index is None:
        return file
    if version and version != index.version:
        raise import_refused(
            f"{file.source.name} is not a formula index of version {version}: its columns are "
            f"{', '.join(index.header)}, as in version {index.version}."
        )
    index = index._replace(representation=representation or index.representation)
    return file._replace(form=index.form)
