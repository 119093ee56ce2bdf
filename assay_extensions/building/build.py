"""Builds a collection in a folder, step by step::

    manifest.json                 settings, sources, counts before and after, and the digest of each file
    collection/Posts.xml ...      the dump after the cut, if the source is a dump
    collection/posts.jsonl        the posts as JSON lines, which an import reads
    html/                         a page for each thread
    formulas/latex/1.tsv ...      the index of formulas; formulas/lost.tsv has those that are not in their post again
    private/                      candidates, links of later questions and the store: never publish it

The same source and settings give the same bytes. A build that was killed continues when it is called again.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from assay.formats.conversion import CONVERTED
from assay.formats.spreadsheet import tsv_lines
from assay.processes import processors
from assay.version import VERSION
from assay_extensions.building import documents, dump, duplicates, marking, pages, publication
from assay_extensions.building.reading import Counts, Progress
from assay_extensions.building.settings import NotBuilt, Settings
from assay_extensions.building.sources import File, files_of
from assay_extensions.building.store import HEADS, NAME, Store, refusals

MANIFEST = "manifest.json"
NOTE = "Texts, scores and tags are those of the snapshot, with edits and votes that came later than the end."
_LOST_HEADER = ("id", "post_id", "type", "comment_id", "formula")


def silent(_step: str, _done: int, _total: int) -> None:
    """Progress that nobody watches."""


def build(
    source: Path,
    folder: Path,
    settings: Settings,
    progress: Progress = silent,
    *,
    processes: int | None = None,
    within: Path | None = None,
) -> dict[str, Any]:
    """Build a collection, or continue a build that was interrupted, and return its manifest.

    Args:
        source: a dump or documents: a folder, an archive or a file.
        processes: how many processes look for formulas; by default one per processor, 0 for this one.
        within: the folder out of which no link of the source may lead; by default, links are followed.

    Raises:
        NotBuilt: The source has nothing in the period, or the folder belongs to another build.
        BadFile: A file of the source cannot be read: its line.
    """
    files = files_of(source, within=within)
    with refusals(folder):
        if folder.exists() and not folder.is_dir():
            raise NotBuilt(f"{folder} is a file; name a folder for the output.")
        if not (folder / "private" / NAME).exists() and folder.exists() and any(folder.iterdir()):
            raise NotBuilt(f"{folder} is not empty, and not the output of a build. Name another folder.")
        (folder / "private").mkdir(parents=True, exist_ok=True)
        (folder / "private" / NAME).touch()
        with opened(folder) as store:
            _claim(store, folder, files, settings)
            _read(store, files, settings, progress)
            if not store.n_threads:
                raise _nothing_in_period(store, settings)
            duplicates.leave_out(store, settings, _of(progress, "comparing documents", 0))
            if settings.has_formulas:
                are_clean = not store.about("kinds")
                report = _of(progress, "marking formulas", store.n_threads)
                n = processors() if processes is None else processes
                marking.mark_all(store, report, are_clean=are_clean, processes=n)
            return publish(store, folder, progress)


def publish(store: Store, folder: Path, progress: Progress = silent) -> dict[str, Any]:
    """Write the files that are not written yet: all of them after posts were removed. Return the manifest."""
    kinds = store.about("kinds") or []
    publication.count_tags(store)
    after = publication.after_of(store, kinds)
    files: dict[str, dict[str, Any]] = {}
    for name, parts in _files(store, kinds):
        progress(f"writing {name}", 0, 0)
        files[name] = _write(store, folder, name, parts)
    if settings_of(store).has_pages:
        pages.write_all(store, folder / pages.FOLDER, _of(progress, "writing pages", store.n_threads))
        name = f"{pages.FOLDER}/{pages.SUMS}"
        files[name] = _write(store, folder, name, pages.sums(store))
    # An index had more files before posts were removed, and MathML may be older than it.
    formulas = folder / "formulas"
    latex = formulas / "latex"
    for path in latex.glob("*.tsv"):
        if path.relative_to(folder).as_posix() not in files:
            path.unlink()
    for path in (path for form in CONVERTED for path in (formulas / form).glob("*.tsv")):
        source = latex / path.name
        if not source.exists() or path.stat().st_mtime < source.stat().st_mtime:
            path.unlink()
    states = [store.state(step)[0] for step in store.about("steps") or []]
    counts = Counts()
    for state in states:
        counts.add(Counts.of(state))
    places = publication.places_of_formulas(store)
    manifest = {
        "made_by": f"Assay {VERSION}",
        "note": NOTE,
        "settings": store.about("settings"),
        "source": [{name: state[name] for name in ("name", "bytes", "sha256", "rows")} for state in states],
        "ignored": store.about("ignored"),
        **counts.as_json(),
        "after": after,
        "repeated": store.number("SELECT count(*) FROM repeated"),
        "removed": store.number("SELECT count(*) FROM posts WHERE role = 'removed'"),
        "formulas": {"all": sum(places.values()), **places, "lost": sum(1 for _ in marking.lost(store))},
        "candidates": store.number("SELECT count(*) FROM posts WHERE role = 'topic'"),
        "files": files,
    }
    _replace(folder / MANIFEST, [json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"])
    return manifest


def _of(progress: Progress, step: str, total: int) -> Callable[[int], None]:
    return lambda done: progress(step, done, total)


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    """The store of a finished or interrupted build.

    Raises `NotBuilt` if the folder has none, or another process uses it.
    """
    path = folder / "private" / NAME
    if not path.is_file():
        raise NotBuilt(f"{folder} is not the output of a build: there is no private/{NAME} in it.")
    with refusals(folder):
        store = Store(path)
        try:
            yield store
        finally:
            store.close()


def _claim(store: Store, folder: Path, files: Sequence[File], settings: Settings) -> None:
    """Note what is built here, or check that it is the same as before."""
    requested = {"settings": settings.as_json(), "source": {file.name: file.stamp for file in files}}
    noted = {key: store.about(key) for key in requested}
    if noted["settings"] is None:
        with store.writing():
            for key, value in requested.items():
                store.note(key, value)
        return
    different = [key for key, value in requested["settings"].items() if noted["settings"].get(key) != value]
    if noted["source"] != requested["source"]:
        different.append("source")
    if different:
        raise NotBuilt(
            f"{folder} belongs to a build with other settings ({', '.join(different)}). Name another folder, or "
            "delete this one."
        )


def settings_of(store: Store) -> Settings:
    noted = store.about("settings")
    if noted is None:
        raise NotBuilt(
            f"The build in {store.path.parent.parent} was never started. Start it with `assay collection build`."
        )
    return Settings.of(noted)


def _read(store: Store, files: Sequence[File], settings: Settings, progress: Progress) -> None:
    by_kind, ignored = dump.dump_files(files)
    if "posts" in by_kind:
        kinds = steps = [kind for kind in dump.NAMES if kind in by_kind]
        for kind in kinds:
            file = by_kind[kind]
            dump.read(store, kind, file, settings, _of(progress, f"reading {file.name}", file.size))
    elif by_kind:
        raise NotBuilt(
            f"The source has {', '.join(by_kind)} of a dump, but no posts; give the folder of Posts.xml."
        )
    else:
        kinds, ignored = [], []
        steps = documents.read(store, files, settings, progress)
    with store.writing():
        for key, value in (("kinds", kinds), ("steps", steps), ("ignored", ignored)):
            store.note(key, value)


def _nothing_in_period(store: Store, settings: Settings) -> NotBuilt:
    dates = store.row(f"SELECT min(created), max(created) FROM posts WHERE {HEADS} AND created <> ''")
    span = (
        f"its questions are from {dates[0][:10]} to {dates[1][:10]}"
        if dates and dates[0]
        else "it has no dates"
    )
    return NotBuilt(
        f"Nothing of the source is in the period of the collection ({settings.collection}): {span}."
    )


# -- Publishing


def _files(store: Store, kinds: Sequence[str]) -> Iterator[tuple[str, Iterable[str]]]:
    settings = settings_of(store)
    has_formulas = settings.has_formulas and bool(marking.n_published(store))
    for kind in kinds:
        yield f"collection/{dump.NAMES[kind]}", publication.xml_parts(store, kind)
    yield "collection/posts.jsonl", publication.documents(store)
    if has_formulas:
        for name, parts in marking.index_parts(store):
            yield f"formulas/latex/{name}", parts
        yield "formulas/lost.tsv", tsv_lines([_LOST_HEADER, *marking.lost(store)])
    if settings.duplicates != "keep":
        yield "private/duplicates.tsv", duplicates.report(store)
    if settings.topics is not None:
        yield "private/candidates.jsonl", publication.candidates(store, has_formulas=has_formulas)
        yield "private/links.tsv", publication.private_links(store)


def _write(store: Store, folder: Path, name: str, parts: Iterable[str]) -> dict[str, Any]:
    """Write a file, unless an earlier call wrote it and nobody changed it; its size and digest."""
    state, is_done = store.state(f"file:{name}")
    path = folder / name
    if is_done and path.is_file() and path.stat().st_size == state["bytes"]:
        with path.open("rb") as file:
            if file_digest(file, "sha256").hexdigest() == state["sha256"]:
                return state
    state = _replace(path, parts)
    with store.writing():
        store.set_state(f"file:{name}", state, is_done=True)
    return state


def _replace(path: Path, parts: Iterable[str]) -> dict[str, Any]:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.part")
    digest, size = sha256(), 0
    with unfinished.open("wb") as file:
        for part in parts:
            data = part.encode(errors="replace")
            digest.update(data)
            size += file.write(data)
    unfinished.replace(path)
    return {"bytes": size, "sha256": digest.hexdigest()}
