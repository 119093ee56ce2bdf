"""Build a collection in a job, store what is published of it, and import it into the site.

The job works in a folder of its own on the disk of the worker, where a killed build continues. The library builds and
converts, as by command, so the bytes are the same. What is published is stored as archives; candidates and links of
later questions are stored as private files. Then an import reads the built files into the collection.
"""

import shutil
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, NamedTuple, cast

from django.conf import settings as site
from django.core.files import File
from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.building import build as library
from assay.building.settings import NotBuilt, Period, Settings
from assay.digests import sha256_of_file
from assay.errors import InputError
from assay.formats.conversion import FAILURES, convert_index
from assay.formulas.conversion import Cache, Converter
from assay.processes import processors
from corpus.imports import services as imports
from corpus.imports.recognition import sources_of
from corpus.imports.selectors import offered_path
from corpus.locations import FOLDER, UPLOAD, claim_uploads, discard_uploads, open_raw, place_of
from corpus.models import Build, BuildFile
from jobs import services as jobs
from jobs.files import storage
from jobs.models import Job

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


def request(
    *,
    new: Mapping[str, Any],
    settings: Settings,
    converter: str,
    uploads: "Sequence[File[bytes]]" = (),
    path: str = "",
    by: User | None,
) -> Build:
    """Create a collection, and queue the job that builds it from uploads or from a path in the import folder.

    Raises:
        ImportRefused: There is a collection with this short name.
        NotBuilt: The converter is not installed.
        NotStored: The storage is full or does not answer.
    """
    if converter:
        with _refusing():
            Converter.named(converter)
    with ExitStack() as stack:
        store = stack.enter_context(storage.storing())
        sources = [[UPLOAD + store("builds", file), Path(file.name or "upload").name] for file in uploads]
        sources += [[FOLDER + path, Path(path).name]] if path and not uploads else []
        stack.enter_context(transaction.atomic())
        collection = imports.create_collection(**new)
        claim_uploads(location for location, _ in sources)
        build = Build.objects.create(
            collection=collection, sources=sources, settings=settings.as_json(), converter=converter
        )
        build.job = jobs.request(
            kind=Build.JOB,
            title=f"Build {collection}"[:200],
            arguments={"build_id": build.pk},
            by=by,
            subject=build,
            place=place_of(location for location, _ in sources),
        )
        build.save(update_fields=["job"])
        details = {"files": [name for _, name in sources], "settings": build.settings}
        audit.record(action="build.requested", subject=collection, details=details, by=by)
    return build


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except InputError as error:
        sentence = str(error)
        raise NotBuilt(f"{sentence[:1].upper()}{sentence[1:]}.".replace("..", ".")) from error


def _work_folders() -> Path:
    return Path(site.VAR_DIR, "builds")


def work_folder(build: Build) -> Path:
    """The folder on the disk of this worker in which a build works."""
    return _work_folders() / str(build.pk)


@jobs.handler(Build.JOB)
def run(progress: jobs.Progress, *, build_id: int) -> dict[str, Any]:
    """Build a collection and queue its import. A killed build continues; what was stored is not stored again."""
    build = Build.objects.select_related("collection", "job").get(pk=build_id)
    if build.import_job_id is not None:  # an earlier attempt stored it, but did not finish the job
        return {"import": build.import_job_id}
    folder = work_folder(build)
    built = folder / "built"

    def report(step: str, done: int, total: int) -> None:
        progress.update(done, total or None, step)

    with _refusing():
        source = _source(build, folder / "source")
        manifest = library.build(source, built, _settings(build), report)
        conversion = _convert(build, built, progress)
    with storage.storing() as store:
        rows = list(_stored(build, built, store, progress))
        with progress.storing():
            storage.claim(*(str(row.file.name) for row in rows))
            BuildFile.objects.bulk_create(rows)
            build.manifest, build.conversion = manifest, conversion
            build.import_job = _import(build, built)
            build.save(update_fields=["manifest", "conversion", "import_job"])
            discard_uploads(location for location, _ in build.sources)
    shutil.rmtree(folder / "source", ignore_errors=True)
    return {"import": build.import_job_id, "candidates": manifest["candidates"]}


def _settings(build: Build) -> Settings:
    data: dict[str, Any] = dict(build.settings)
    topics = Period(**data["topics"]) if data["topics"] else None
    return Settings(**data | {"collection": Period(**data["collection"]), "topics": topics})


def _source(build: Build, folder: Path) -> Path:
    """The source on this disk: a path in the import folder, or a copy of what was uploaded."""
    locations = build.sources
    if len(locations) == 1 and locations[0][0].startswith(FOLDER):
        path = offered_path(locations[0][0].removeprefix(FOLDER))
        if path is None:
            raise NotBuilt(f"The import folder has no {locations[0][1]} any more.")
        return path
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for location, name in locations:
        path = folder / name
        paths.append(path)
        if not path.exists():
            part = path.with_name(f"{name}.part")
            with open_raw(location, name) as stored, part.open("wb") as file:
                shutil.copyfileobj(stored, file)
            part.replace(path)
    return paths[0] if len(paths) == 1 else folder


def _convert(build: Build, built: Path, progress: jobs.Progress) -> dict[str, Any]:
    """Convert the formula index to MathML, if that is requested: the converter and the number of failures."""
    latex = built / "formulas" / "latex"
    if not build.converter or not latex.is_dir():
        return {}
    converter = Converter.named(build.converter)
    cache = Cache(built.parent / "cache.sqlite", converter)
    counts = convert_index(
        latex,
        latex.parent,
        cache=cache,
        processes=processors(),
        progress=lambda step: progress.update(
            step.number - 1, step.n_files, f"converting {step.file}: {step.done:,} of {step.total:,} formulas"
        ),
    )
    return {"converter": converter.full_name, **counts._asdict()}


def _stored(build: Build, built: Path, store: storage.Store, progress: jobs.Progress) -> Iterator[BuildFile]:
    """The files of a build, each stored."""
    for n, part in enumerate(PARTS):
        paths = sorted(path for path in built.glob(part.pattern) if path.is_file())
        if not paths:
            continue
        name = f"{build.collection.slug}-{part.name}"
        progress.update(n, len(PARTS), f"storing {name}")
        with _packed(built, paths, is_packed=part.name.endswith(".zip")) as file:
            sha256, n_bytes = sha256_of_file(file), file.seek(0, 2)
            file.seek(0)
            row = BuildFile(build=build, name=name, description=part.description, is_private=part.is_private)
            row.file, row.n_bytes, row.sha256 = store("builds", File(file)), n_bytes, sha256
            yield row


@contextmanager
def _packed(built: Path, paths: Sequence[Path], *, is_packed: bool) -> Iterator[BinaryIO]:
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


def _import(build: Build, built: Path) -> Job:
    """Queue the import of what was built, on this machine: the dump after the cut, or JSON lines, and the formulas."""
    dump = sorted((built / "collection").glob("*.xml"))
    folders = (built / "formulas" / name for name in ("latex", "slt", "opt"))
    paths = [*(dump or [built / "collection" / "posts.jsonl"]), *(each for each in folders if each.is_dir())]
    by = build.job.created_by if build.job else None
    return imports.start_import(collection=build.collection, sources=sources_of(paths), by=by)


def delete_work_folders() -> int:
    """Delete the folders on this machine of builds that are imported or not known here. Returns their number."""
    everything = list(_work_folders().glob("*"))  # before the query: a folder is made after its row
    waiting = Build.objects.exclude(import_job__state=Job.State.DONE).values_list("pk", flat=True)
    names = {str(pk) for pk in waiting}
    folders = [folder for folder in everything if folder.name not in names]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    return len(folders)
