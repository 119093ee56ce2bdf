"""The job that builds a collection, stores what is published of it, and imports it into the site.

It works in a folder of its own on the disk of the worker, where a killed build continues. The library builds and
converts, as by command, so the bytes are the same. What is published is stored as archives; candidates and links of
later questions are stored as private files. Then an import reads the built files into the collection.
"""

import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, NamedTuple, cast

from django.core.files import File

from assay.digests import sha256_of_file
from assay.errors import InputError
from assay.formats.conversion import FAILURES, Step, convert_index
from assay.formulas.conversion import Cache, Converter
from assay.processes import WorkerLost
from assay_extensions.building import build as library
from assay_extensions.building import leaks
from assay_extensions.building.settings import NotBuilt, Settings
from assay_extensions.building.site.builds import parts
from assay_extensions.building.site.builds.folders import alone_in, measure, work_folder
from assay_extensions.building.store import refusals
from corpus.imports import services as imports
from corpus.imports.recognition import sources_of
from corpus.imports.selectors import import_dir, offered_path
from corpus.locations import FOLDER, discard_uploads, open_raw
from corpus.models import Build, BuildFile
from jobs import services as jobs
from jobs.files import storage

EPOCH = (1980, 1, 1, 0, 0, 0)  # of the entries of archives, so that the same files give the same bytes


class Part(NamedTuple):
    """A file that is stored: its name after that of the collection, and which files of the build it has."""

    name: str
    description: str
    pattern: str
    is_private: bool = False


PARTS = (
    Part("xml.zip", "The dump after the cut, in XML.", "collection/*.xml"),
    Part("posts.zip", "The documents, one JSON object per line.", "collection/posts.jsonl"),
    Part("html.zip", "One page of HTML for each thread.", "html/**/*"),
    Part("formulas-latex.zip", "The formula index in LaTeX.", "formulas/latex/*.tsv"),
    Part("formulas-slt.zip", "The formula index in Presentation MathML.", "formulas/slt/*.tsv"),
    Part("formulas-opt.zip", "The formula index in Content MathML.", "formulas/opt/*.tsv"),
    Part("manifest.json", "Settings, counts and digests of the build.", library.MANIFEST),
    Part(
        "candidates.jsonl", "Questions that may become topics.", "private/candidates.jsonl", is_private=True
    ),
    Part("links.tsv", "Links of later questions into the collection.", "private/links.tsv", is_private=True),
    Part("duplicates.tsv", "Documents that repeat others.", "private/duplicates.tsv", is_private=True),
    Part("lost-formulas.tsv", "Formulas that are not found again.", "formulas/lost.tsv", is_private=True),
    Part(
        "failures.zip",
        "Formulas without MathML, with reasons.",
        f"formulas/{FAILURES}/*.tsv",
        is_private=True,
    ),
)


@contextmanager
def refusing(folder: Path | None = None) -> Iterator[None]:
    """Say in a sentence what the library refuses, that a process of it was killed, or that the disk is full."""
    try:
        with refusals(folder or Path()):
            yield
    except InputError as error:
        sentence = str(error)
        raise NotBuilt(f"{sentence[:1].upper()}{sentence[1:]}.".replace("..", ".")) from error
    except WorkerLost as error:
        raise NotBuilt(
            "A process of the build was killed, or ran out of memory. Retry the job: it continues."
        ) from error


@jobs.handler(Build.JOB, words=lambda _: "The collection is built.")
def run(progress: jobs.Progress, *, build_id: int) -> dict[str, Any]:
    """Build a collection and queue its import. A killed build continues; what was stored is not stored again."""
    build = Build.objects.select_related("collection", "job").filter(pk=build_id).first()
    if build is None:
        raise NotBuilt("This build was deleted.")
    folder = work_folder(build)
    with alone_in(folder, progress), refusing(folder):
        build.refresh_from_db(fields=["import_job"])
        if build.import_job_id is not None:  # an earlier attempt stored it, but did not finish the job
            return {"import": build.import_job_id}
        try:
            return _run(progress, build, folder)
        finally:
            measure(build)


def _run(progress: jobs.Progress, build: Build, folder: Path) -> dict[str, Any]:
    built = folder / "built"

    def report(step: str, done: int, total: int) -> None:
        progress.update(done, total or None, step)

    source, within = _source(build, folder / "source", progress)
    manifest = library.build(source, built, Settings.of(build.settings), report, within=within)
    if build.removed:
        with library.opened(built) as posts:
            leaks.remove(posts, enumerate(build.removed, 1), "The posts to leave out")
            manifest = library.publish(posts, built, report)
    conversion = _convert(build, built, progress)
    with storage.storing() as store:
        rows = list(_stored_files(build, built, store, progress))
        with progress.storing():
            storage.claim(*(str(row.file.name) for row in rows))
            BuildFile.objects.bulk_create(rows)
            build.manifest, build.conversion = manifest, conversion
            # the dump after the cut, or JSON lines, and the formulas
            dump = sorted((built / "collection").glob("*.xml"))
            folders = (built / "formulas" / name for name in ("latex", "slt", "opt"))
            paths = [
                *(dump or [built / "collection" / "posts.jsonl"]),
                *(folder for folder in folders if folder.is_dir()),
            ]
            by = build.job.created_by if build.job else None
            build.import_job = imports.start_import(
                collection=build.collection, sources=sources_of(paths), by=by
            )
            build.save(update_fields=["manifest", "conversion", "import_job"])
            discard_uploads(location for location, _ in build.sources)
    shutil.rmtree(folder / "source", ignore_errors=True)
    return {"import": build.import_job_id, "candidates": manifest["candidates"]}


def _source(build: Build, folder: Path, progress: jobs.Progress) -> tuple[Path, Path | None]:
    """The source on this disk: a path in the import folder, with that folder, or a copy of what was uploaded."""
    locations = build.sources
    if len(locations) == 1 and locations[0][0].startswith(FOLDER):
        path = offered_path(locations[0][0].removeprefix(FOLDER))
        if path is None:
            raise NotBuilt(f"There is no {locations[0][1]} in the import folder.")
        return path, import_dir()
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for n, (location, name) in enumerate(locations):
        progress.update(n, len(locations), f"copying {name}")
        path = folder / name
        paths.append(path)
        if not path.exists():
            part = path.with_name(f"{name}.part")
            with open_raw(location, name) as stored, part.open("wb") as file:
                shutil.copyfileobj(stored, file)
            part.replace(path)
    return (paths[0] if len(paths) == 1 else folder), None


def _convert(build: Build, built: Path, progress: jobs.Progress) -> dict[str, Any]:
    """Convert the formula index to MathML, if that is requested: the converter and the number of failures."""
    latex = built / "formulas" / "latex"
    if not build.converter or not latex.is_dir():
        return {}
    converter, step = Converter.named(build.converter), Step("", 0, 0, 0, 0)

    def report(new: Step) -> None:
        nonlocal step
        step = new
        report_part(0)

    def report_part(n: int) -> None:
        words = f"converted formulas of {step.files}; {step.n_finished:,} of {step.n_files:,} files finished"
        progress.update(step.done + n, step.total or None, words)

    counts = convert_index(
        latex,
        latex.parent,
        cache=Cache(built.parent / "cache.sqlite", converter),
        convert=partial(parts.convert, progress, build, report=report_part),
        progress=report,
    )
    return {"converter": converter.full_name, **counts._asdict()}


def _stored_files(
    build: Build, built: Path, store: storage.Store, progress: jobs.Progress
) -> Iterator[BuildFile]:
    """The files of a build, each stored."""
    for n, part in enumerate(PARTS):
        paths = sorted(path for path in built.glob(part.pattern) if path.is_file())
        if not paths:
            continue
        name = f"{build.collection.slug}-{part.name}"
        progress.update(n, len(PARTS), f"storing {name}")
        with _packed_file(built, paths, is_packed=part.name.endswith(".zip")) as file:
            sha256, n_bytes = sha256_of_file(file), file.seek(0, 2)
            file.seek(0)
            row = BuildFile(build=build, name=name, description=part.description, is_private=part.is_private)
            row.file, row.n_bytes, row.sha256 = store("builds", File(file)), n_bytes, sha256
            yield row


@contextmanager
def _packed_file(built: Path, paths: Sequence[Path], *, is_packed: bool) -> Iterator[BinaryIO]:
    """A file as it is, or a zip archive of files with their paths in the build."""
    if not is_packed:
        with paths[0].open("rb") as file:
            yield file
        return
    with TemporaryFile() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in paths:
                entry = zipfile.ZipInfo(path.relative_to(built).as_posix(), EPOCH)
                entry.compress_type = zipfile.ZIP_DEFLATED
                with path.open("rb") as source, archive.open(entry, "w") as target:
                    shutil.copyfileobj(source, target)
        file.seek(0)
        yield cast(BinaryIO, file)
