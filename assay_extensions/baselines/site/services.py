"""Make baselines and fused runs of a track in jobs, and offer their files to participants.

A job writes the collection of the track to a temporary folder as its export does, calls the function of the library
that the command calls, and submits the run for a team of the organizers. So page, API and command make the same bytes.
Decision: ADR 49.
"""

import io
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, cast

from django.db import transaction

from accounts.models import User
from assay.errors import InputError, Refused
from assay.formats.conversion import convert_index
from assay.formats.declaration import Declaration
from assay.formats.documents.indexes import Representation
from assay.formats.runs import columns
from assay.formats.topics import writer
from assay.formats.topics.facts import TopicFacts
from assay.formulas.conversion import Cache, Converter
from assay.fusion import Fusion, fuse
from assay.ranking import Progress, Ranked, line_form, run_of
from assay_extensions.baselines.formula_index import FormulaSource, build, index_files
from assay_extensions.baselines.linked_posts import linked_posts
from assay_extensions.baselines.postings import Model
from assay_extensions.baselines.site.selectors import (
    FORMULAS,
    KIND,
    TEXT,
    converter_of,
    download_name,
    has_topic_formulas,
    kind_of,
    methods_for,
)
from assay_extensions.baselines.tangent_s import query_of, tangent_s, within
from assay_extensions.baselines.text import TextIndex, text
from corpus.collections.exports import documents, formulas
from corpus.models import Collection, FormulaMathML
from jobs import services as jobs
from jobs.models import Job
from participation.models import Team
from participation.teams import services as team_services
from participation.teams.selectors import team_named
from pooling.errors import SameBytes
from pooling.models import Pool, PoolEntry, Run
from pooling.runs.services import submit
from tracks import deadline_acceptance
from tracks.downloads import services as downloads
from tracks.downloads.contents import mathml_indexes
from tracks.models import Download, Topic, Track
from tracks.tracks import services as track_services
from web.pages import counted

BATCH = 2_000
POSTS = "posts.jsonl"
SEED = 1  # as the command has it if none is stated
_NO_TOPIC_FORMULAS = (
    "The formulas of the topics of {track} are not stored as MathML, and its collection was not built with a converter "
    "on this site. Convert the topics with “assay collection convert”, and import the indexes into the collection of "
    "the topics’ own threads."
)


baseline_refused = partial(Refused, code="baseline-refused", title="The baseline was not made")


def request(
    *,
    track: Track,
    by: User,
    method: str,
    team: str,
    tag: str,
    depth: int | None = None,
    links: Mapping[str, Iterable[str]] | None = None,
    pool: Pool | None = None,
) -> Job:
    """Queue the job that makes a baseline and submits it for a team. The job creates the team if it does not exist.

    `links` has the linked questions of each question, for the baseline of linked posts. With a `pool` of questions,
    Tangent-S ranks only formulas of its posts.

    Raises:
        Refused: The protocol or the collection does not allow the baseline, or the track accepts no runs now.
    """
    if method not in methods_for(track.protocol.parsed):
        raise baseline_refused(f"{method} cannot be made for {track.protocol.slug}.")
    _check_input(track, method, links)
    known = {key: sorted(linked) for key, linked in (links or {}).items()}
    arguments = {"method": method, "links": known, "pool_id": pool and pool.pk}
    return _request(track, by=by, team=team, tag=tag, depth=depth, arguments=arguments)


def request_fusion(
    *,
    track: Track,
    by: User,
    runs: Sequence[Run],
    fusion: Fusion,
    team: str,
    tag: str,
    depth: int | None = None,
) -> Job:
    """Queue the job that fuses submitted runs of a track, in their order, and submits the result.

    Raises:
        Refused: As `request`; or there are fewer than two runs.
    """
    if len(runs) < 2:
        raise baseline_refused("Choose at least two runs to fuse.")
    settings = {"method": fusion.method, "norm": fusion.norm, "weights": list(fusion.weights), "k": fusion.k}
    arguments = {"method": "fusion", "runs": [run.pk for run in runs], "fusion": settings}
    return _request(track, by=by, team=team, tag=tag, depth=depth, arguments=arguments)


@transaction.atomic
def _request(
    track: Track, *, by: User, team: str, tag: str, depth: int | None, arguments: dict[str, Any]
) -> Job:
    track = track_services.lock(track.pk)
    with _refusing():
        line_form(track.protocol.parsed)
    kind = kind_of(track.protocol.parsed)
    state = deadline_acceptance.acceptance_of(track, kind)
    if not state.is_accepting:
        raise baseline_refused(f"{track} does not accept runs: {state.reason}. Baselines are runs too.")
    if Run.objects.filter(track=track, tag=tag).exclude(status=Run.Status.WITHDRAWN).exists():
        raise baseline_refused(
            f"{track} already has a run with the tag {tag}. Withdraw it, or choose another tag."
        )
    if team_named(track, team.strip()) is None:
        team_services.check_name(track=track, name=team)
    depth = depth or track.protocol.parsed.runs.max_ranks
    return jobs.request(
        kind=KIND,
        title=f"Make the baseline {tag} of {track}",
        arguments={"track_id": track.pk, "team": team, "by_id": by.pk, "tag": tag, "depth": depth}
        | arguments,
        by=by,
        subject=track,
    )


def _check_input(track: Track, method: str, links: Mapping[str, Iterable[str]] | None) -> None:
    collection = track.collection
    if collection is None or collection.status != Collection.Status.READY:
        raise baseline_refused(
            f"{track} has no collection that is imported completely, so there is nothing to search."
        )
    if not track.topics.exists():
        raise baseline_refused(f"{track} has no topics yet. Import or choose them first.")
    if method == "tangent-s" and not collection.mathml.exists():
        raise baseline_refused(
            f"{collection} has no formulas in MathML. Convert its formulas and import the indexes first."
        )
    if method == "tangent-s" and not converter_of(track) and not has_topic_formulas(track):
        raise baseline_refused(_NO_TOPIC_FORMULAS.format(track=track))
    if method != "linked-posts":
        return
    if not links:
        raise baseline_refused(
            "Linked posts need the links of the topics’ questions: choose the file of links."
        )
    if without := list(track.topics.filter(thread="").values_list("code", flat=True)[:5]):
        raise baseline_refused(
            f"The topics {', '.join(without)} do not name their question, so their links are not known."
        )


@contextmanager
def _refusing() -> Iterator[None]:
    """Make an error of the library a refusal."""
    try:
        yield
    except InputError as error:
        sentence = str(error)
        raise baseline_refused(f"{sentence[:1].upper()}{sentence[1:]}.") from error


@jobs.handler(
    KIND,
    words=lambda result: (
        f"The baseline is made: {counted(result['lines'], 'line')} for {counted(result['topics'], 'topic')}."
    ),
)
def make(
    progress: jobs.Progress,
    *,
    track_id: int,
    by_id: int,
    tag: str,
    depth: int,
    team: str = "",
    team_id: int | None = None,
    **given: Any,
) -> dict[str, Any]:
    """Make and submit a baseline. Safe to repeat: the same run is submitted once.

    The name of the `team` becomes that of a new one only here. Jobs of earlier versions have its id.
    """
    track = Track.objects.select_related("protocol", "collection").get(pk=track_id)
    protocol = track.protocol.parsed

    def report(step: str, done: int, size: int) -> None:
        progress.update(done, size, step)

    with _refusing():
        topics = [topic.facts for topic in track.topics.order_by("code")]
        ranked = list(_lists(track, topics, depth=depth, progress=report, **given))
        content = run_of(ranked, protocol=protocol, tag=tag, topics=[topic.code for topic in topics])
    by = User.objects.get(pk=by_id)
    uses = protocol.runs.stated_use("math") if given["method"] in FORMULAS else ""
    submitting = _team(track, team) if team_id is None else Team.objects.get(pk=team_id)
    run = _submit(progress, track=track, team=submitting, by=by, tag=tag, content=content, uses=uses)
    empty = [ranking.topic for ranking in ranked if not len(ranking.docno)]
    return {"run": run.pk, "lines": run.n_lines, "topics": run.n_topics, "topics without documents": empty}


@transaction.atomic
def _team(track: Track, name: str) -> Team:
    return team_services.named_or_new(track=track_services.lock(track.pk), name=name)


def _lists(
    track: Track,
    topics: Sequence[TopicFacts],
    *,
    depth: int,
    progress: Progress,
    method: str,
    links: Mapping[str, Sequence[str]] | None = None,
    pool_id: int | None = None,
    runs: Sequence[int] = (),
    fusion: Mapping[str, Any] | None = None,
) -> Iterator[Ranked]:
    if method == "fusion":
        # The columns of submitted runs, in the order of the ids
        by_id = Run.objects.filter(status=Run.Status.SUBMITTED).in_bulk(runs)
        if missing := [run_id for run_id in runs if run_id not in by_id]:
            raise baseline_refused(f"Withdrawn meanwhile: {counted(len(missing), 'run')} of those to fuse.")
        loaded = []
        for n, run_id in enumerate(runs):
            progress("reading runs", n, len(runs))
            with by_id[run_id].columns.open("rb") as stored:
                loaded.append(columns.load(cast(BinaryIO, stored)))
        yield from fuse(loaded, Fusion(**(fusion or {})), depth=depth)
        return
    with TemporaryDirectory(prefix="assay-baseline-") as folder:
        collection = Path(folder)
        if method == "tangent-s":
            yield from _by_formulas(track, topics, collection, depth, progress, pool_id)
            return
        _write_documents(track, collection / POSTS, progress)
        if method == "linked-posts":
            known = {question: set(linked) for question, linked in (links or {}).items()}
            yield from linked_posts(topics, collection, depth=depth, links=known, progress=progress)
        elif method in TEXT:
            index = TextIndex(collection, track.protocol.parsed, progress=progress)
            yield from text(topics, index, model=cast(Model, method), depth=depth)


def _by_formulas(
    track: Track,
    topics: Sequence[TopicFacts],
    folder: Path,
    depth: int,
    progress: Progress,
    pool_id: int | None,
) -> Iterator[Ranked]:
    """The ranking of Tangent-S, from the formulas of the collection and of the topics that are stored as MathML."""
    of_topics, of_collection, index = (folder / name for name in ("topics", "collection", "index"))
    for directory in (of_topics, of_collection, index):
        directory.mkdir()
    rows = list(track.topics.order_by("code"))
    _write_topic_formulas(track, rows, of_topics, progress)
    for form in FormulaMathML.Form.values:
        _write_formulas(track, form, of_collection / f"{form}.tsv", progress)
    strings = FormulaSource(index_files([of_topics]), processes=0).strings()
    queries = [query_of(topic, strings, SEED) for topic in topics]
    if pool_id is not None:
        posts: dict[str, set[str]] = {}  # of a pool of questions, by topic
        for code, docno in PoolEntry.objects.filter(pool=pool_id).values_list("topic__code", "docno"):
            posts.setdefault(code, set()).add(docno)
        queries = within(queries, posts)
    source = FormulaSource(index_files([of_collection]), progress=progress)
    build(index, source)
    yield from tangent_s(queries, index, unit=track.protocol.parsed.unit, depth=depth, progress=progress)


def _write_topic_formulas(track: Track, topics: list[Topic], folder: Path, progress: Progress) -> None:
    """The formulas of the topics as MathML: as they were imported, or else converted as those of the collection."""
    items = list(mathml_indexes(track, topics))
    for item in items:
        (folder / item.name).write_bytes(item.content or b"")
    if items:
        return
    name = converter_of(track)
    if not name:
        raise baseline_refused(_NO_TOPIC_FORMULAS.format(track=track))
    converter = Converter.named(name)
    with TemporaryDirectory(prefix="assay-topics-") as work:
        index = Path(work, "topics.tsv")
        index.write_bytes(writer.formulas(topic.facts for topic in topics))
        cache = Cache(Path(work, "cache.sqlite"), converter)
        progress(f"converting the formulas of the topics with {converter.full_name}", 0, 1)
        convert_index(index, Path(work), cache=cache)
        for form in FormulaMathML.Form.values:
            for path in Path(work, form).glob("*.tsv"):
                shutil.copyfile(path, folder / f"{form}.tsv")


def _write_formulas(track: Track, form: str, path: Path, progress: Progress) -> None:
    collection = track.collection
    if collection is None or not collection.mathml.filter(form=form).exists():
        return
    total = collection.mathml.filter(form=form).count()
    _write(path, formulas(collection, cast(Representation, form)), total, "reading formulas", progress)


def _write_documents(track: Track, path: Path, progress: Progress) -> None:
    collection = track.collection
    if collection is None:
        raise baseline_refused(f"{track} has no collection any more.")
    rows = (json.dumps(row, ensure_ascii=False) for row in documents(collection))
    _write(path, rows, collection.documents.count(), "reading the collection", progress)


def _write(path: Path, lines: Iterable[str], total: int, step: str, progress: Progress) -> None:
    with path.open("w", encoding="utf-8") as file:
        for n, line in enumerate(lines):
            if n % BATCH == 0:
                progress(step, min(n, total), total)
            file.write(line + "\n")


def _submit(
    progress: jobs.Progress, *, track: Track, team: Team, by: User, tag: str, content: bytes, uses: str = ""
) -> Run:
    def still_owned(_run: Run) -> None:
        with progress.storing():
            pass

    try:
        return submit(
            track=track,
            team=team,
            by=by,
            file=io.BytesIO(content),
            file_name=f"{tag}.tsv",
            declared=Declaration(tag=tag, kind=kind_of(track.protocol.parsed), uses=uses),
            on_stored=still_owned,
        )
    except SameBytes as refusal:
        if refusal.earlier.tag == tag:  # an earlier attempt stored it, but did not finish the job
            return refusal.earlier
        raise


def offer(*, run: Run, by: User) -> Download:
    """Attach the file of a baseline to the downloads of its track, so that participants start from it. It is not
    released yet.

    Raises:
        Refused: The run is not a submitted baseline.
        Refused: It is attached already.
    """
    rules = run.track.protocol.parsed
    if not run.is_submitted or run.kind != kind_of(rules):
        raise baseline_refused(f"{run.tag} is not a submitted baseline, and runs of teams are theirs.")
    with run.original.open("rb") as file:
        return downloads.attach_file(
            track=run.track,
            kind=Download.Kind.OTHER,
            file=io.BytesIO(file.read()),
            name=download_name(run),
            description=f"The baseline {run.tag}, a run of the organizers.",
            by=by,
        )
