"""Archives of runs with a manifest."""

import io
import tarfile

from accounts.models import User
from pooling.models import RunImport
from tests.helpers.runs import zipped
from tracks.models import Track


def tar_gz(*files: tuple[str, bytes], links: tuple[str, ...] = ()) -> bytes:
    """A tar.gz of files, and of symbolic links to /etc/passwd."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for name in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(info)
    return buffer.getvalue()


def run_zip(manifest: str, **files: bytes) -> bytes:
    """A zip with a manifest and files; `a_tsv=…` is the file a.tsv."""
    return zipped(
        ("manifest.csv", manifest.encode()),
        *((name.replace("_", "."), data) for name, data in files.items()),
    )


def make_run_import(track: Track, user: User) -> RunImport:
    """The row of an import that has not begun."""
    return RunImport.objects.create(track=track, name="runs.zip", n_bytes=1, sha256="0" * 64, created_by=user)
