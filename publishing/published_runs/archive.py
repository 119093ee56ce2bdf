"""The archive of published runs: a README, a manifest, metadata, the run files as uploaded, and their checksums.

The manifest is one that `assay pool` reads and that organizers of another installation can upload with the archive.
"""

import gzip
import json
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple, cast

from assay.digests import sha256_of, sha256_of_file
from assay.errors import plural
from assay.formats.compression import ARCHIVES
from assay.formats.declaration import ADDED, columns_of
from assay.formats.manifest import ALLOWED
from assay.formats.spreadsheet import as_csv
from pooling.models import Run
from publishing.errors import publication_refused
from tracks.models import Track

UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
LEVEL = 6  # of gz


class ArchivedFile(NamedTuple):
    """A file for an archive: its path in it, its size in bytes, and its content."""

    path: str
    n_bytes: int
    content: BinaryIO


def paths_of(runs: Sequence[Run]) -> dict[int, str]:
    """The path of each run in the archive: `runs/TEAM/TAG.txt`, with the ending of its compression. All differ."""
    paths: dict[int, str] = {}
    for run in runs:
        team, tag = (UNSAFE.sub("_", name).strip(".") or "_" for name in (run.team.name, run.tag))
        with run.original.open("rb") as file:
            head = file.read(8)
        packing = next((f".{name}" for magic, name in ARCHIVES if head.startswith(magic)), "")
        path = f"runs/{team}/{tag}.txt{packing}"
        is_taken = path.lower() in {known.lower() for known in paths.values()}
        paths[run.pk] = f"runs/{team}/{tag}-{run.pk}.txt{packing}" if is_taken else path
    return paths


def metadata_of(run: Run, path: str) -> dict[str, Any]:
    return {
        "file": path,
        "sha256": run.sha256,
        "team": run.team.name,
        **columns_of(run),
        "uses": run.stated_use,
        **{column: getattr(run, name) for name, column in ADDED.items()},
        "submitted_at": run.submitted_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def files_of(
    track: Track, runs: Sequence[Run], rows: Sequence[Mapping[str, Any]], left_out: Mapping[str, Any]
) -> Iterator[ArchivedFile]:
    """The files of the archive, in its order. `rows` are the metadata of the runs.

    Raises:
        Refused: A stored run file is missing or damaged.
    """
    folder = f"{track.slug}-runs"
    facts = {
        "track": {"slug": track.slug, "name": track.name},
        "protocol": {"slug": track.protocol.slug, "sha256": track.protocol.digest},
        "runs": list(rows),
        "left_out": dict(left_out),
    }
    texts = {
        "README.txt": _readme(track, rows, left_out),
        "manifest.csv": as_csv(
            ALLOWED, ([row.get(name, "") for name in ALLOWED] for row in rows), line_end="\n"
        ),
        "runs.json": json.dumps(facts, ensure_ascii=False, indent=1) + "\n",
    }
    sums = {path: sha256_of(text.encode()) for path, text in texts.items()}
    sums |= {row["file"]: row["sha256"] for row in rows}
    texts["SHA256SUMS"] = "".join(f"{digest}  {path}\n" for path, digest in sums.items())
    for path, text in texts.items():
        content = text.encode()
        yield ArchivedFile(f"{folder}/{path}", len(content), BytesIO(content))
    for run, row in zip(runs, rows, strict=True):
        try:
            file = run.original.open("rb")
            digest = sha256_of_file(cast("BinaryIO", file))
        except OSError as error:
            raise publication_refused(f"The file of {run.tag} cannot be read: {error}.") from error
        if digest != run.sha256:
            raise publication_refused(
                f"The stored file of {run.tag} differs from the one that was submitted."
            )
        with file:
            file.seek(0)
            yield ArchivedFile(f"{folder}/{row['file']}", file.size, cast("BinaryIO", file))


def _readme(track: Track, rows: Sequence[Mapping[str, Any]], left_out: Mapping[str, Any]) -> str:
    lines = [
        f"Runs of {track.name}",
        "",
        f"{plural(len(rows), 'run')} of {plural(len({row['team'] for row in rows}), 'team')}, as submitted.",
        f"Protocol: {track.protocol.slug} (SHA-256 {track.protocol.digest})",
        "",
        "runs/         the run files",
        "manifest.csv  file, team, tag, kind and what the team stated, for `assay pool --runs manifest.csv`",
        "runs.json     the same with digests, times and counts",
        "SHA256SUMS    check the files with: sha256sum --check SHA256SUMS",
    ]
    if left_out["teams"]:
        lines += ["", "Left out, because the team did not agree to the publication:"]
        lines += [f"- {team['team']} ({team['runs']} runs)" for team in left_out["teams"]]
    if left_out["disqualified"]:
        lines += ["", "Left out, because they were disqualified:"]
        lines += [f"- {run['tag']} of {run['team']}" for run in left_out["disqualified"]]
    return "\n".join(lines) + "\n"


def write_tar_gz(target: BinaryIO, files: Iterable[ArchivedFile]) -> None:
    """Write files in their order as a stream. Times, owners and modes are fixed: the same files give the same bytes.

    Raises `OSError` if a content is shorter than its size, or the target cannot be written.
    """
    with (
        gzip.GzipFile(filename="", fileobj=target, mode="wb", compresslevel=LEVEL, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for file in files:
            info = tarfile.TarInfo(file.path)
            info.size, info.mode, info.mtime = file.n_bytes, 0o644, 0
            archive.addfile(info, file.content)
