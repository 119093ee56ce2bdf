"""Uploaded archives: the files of a zip or tar archive, each as a file of its own."""

import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from django.core.files import File

from assay.errors import BadFile
from assay.formats.compression import Limits, check_directory, files_in, is_of_desktop, refuse_document
from assay.formats.documents.articles import is_article
from corpus.articles.reading import is_archive_of_articles
from corpus.images.reading import ZIP_DIRECTORY, is_image

MAX_FILES = 1_000
RATIO = Limits().max_ratio


class _Member(NamedTuple):
    name: str
    size: int
    entry: Any


@contextmanager
def unpacked(upload: "File[bytes]") -> Iterator[Iterator["File[bytes]"]]:
    """The files in an archive of several files, one after the other; of any other upload, the upload itself.

    An archive with images is also a file of its own, because an import reads its images in one go. An archive of
    articles, of which there may be millions, is not unpacked: it is the upload itself.

    Raises:
        BadFile: The archive is damaged, has too many files, or its files are too large for its size.
    """
    try:
        if not is_article(upload.name or "") and is_archive_of_articles(upload):  # type: ignore[arg-type]
            yield iter([upload])
            return
        if zipfile.is_zipfile(upload):
            check_directory(upload, ZIP_DIRECTORY)  # type: ignore[arg-type]
            with zipfile.ZipFile(upload) as archive:
                refuse_document(archive.namelist(), upload.name or "")
                members = [_Member(info.filename, info.file_size, info) for info in files_in(archive)]
                yield _files(upload, members, archive.open)
            return
        upload.seek(0)
        if _is_tar(upload):
            with tarfile.open(fileobj=upload, mode="r:*") as tar:
                members = [_Member(info.name, info.size, info) for info in tar.getmembers() if info.isfile()]
                yield _files(upload, members, tar.extractfile)
            return
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, ValueError, NotImplementedError) as error:
        raise BadFile(f"{upload.name} is a damaged archive, or one of an unknown kind: {error}.") from error
    upload.seek(0)
    yield iter([upload])


def _is_tar(upload: "File[bytes]") -> bool:
    try:
        return tarfile.is_tarfile(upload)
    except (OSError, EOFError):
        return False
    finally:
        upload.seek(0)


def _files(upload: "File[bytes]", members: Sequence[_Member], opened: Any) -> Iterator["File[bytes]"]:
    wanted = [member for member in members if _is_wanted(member.name)]
    has_images = any(is_image(member.name) for member in members)
    if len(wanted) + has_images <= 1:  # reading the upload itself gives its one file, or its images
        upload.seek(0)
        yield upload
        return
    if len(wanted) > MAX_FILES:
        raise BadFile(f"{upload.name} has {len(wanted):,} files; at most {MAX_FILES:,} are accepted.")
    size = sum(member.size for member in wanted)
    if size > RATIO * max(upload.size, 1):
        raise BadFile(
            f"{upload.name} would have {size:,} bytes when unpacked, more than {RATIO} times its size. Unpack it first."
        )
    for member in wanted:
        with opened(member.entry) as content:
            file = File(content, name=PurePosixPath(member.name).name)
            file.size = member.size
            yield file
    if has_images:
        upload.seek(0)
        yield upload


def _is_wanted(name: str) -> bool:
    path = PurePosixPath(name)
    is_hidden = path.name.startswith(".") or is_of_desktop(name)
    return not is_hidden and not is_image(name) and not is_article(name)
