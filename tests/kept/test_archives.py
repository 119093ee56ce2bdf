"""Archives that version 0.1.0 made, one for each speciality: they load, lose nothing, and give the same results."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from assay.archive.contents import Reader
from assay.archive.verify import verify
from assay.digests import sha256_of
from assay.formats.reports import EARLIER_NAMES
from jobs import services as jobs
from publishing.models import LoadedArchive
from tests.helpers import kept
from tests.helpers.factories import make_organizer
from tests.publishing.archives.conftest import archive_of, written
from tests.publishing.archives.test_services import load
from tracks.models import Track

ARCHIVES = sorted((kept.FOLDER / "archives").glob("*.zip"))
# files that name the version of Assay
DESCRIBED = {"CITATION.bib", "README.md", "SHA256SUMS", "datacite.json", "metadata.json"}
OF_THE_SITE = {".assay", ".created_at", ".track.created_at", ".track.collection"}
EXPORT = "judging/export/?names=codes&comments=with&to="
# what organizers download and archives do not contain: of every track, and of some
DOWNLOADS = [f"{EXPORT}csv", "tables/results.tex", "tables/runs.tex"]
MORE = {
    "pairs": [*(f"{EXPORT}{form}" for form in ("prefj", "trec_eval", "pgc")), "agreement/preferences.tsv"],
    "phases": [
        f"phases/{phase}/board.{form}" for phase in ("practice", "later") for form in ("csv", "json", "tex")
    ],
    "rounds-and-checks": [f"agreement/{name}" for name in ("disagreements.csv", "alpha.tsv", "pairs.tsv")],
}
OF_BOARDS = ("leaderboard.tex", "topics.csv", "interaction.tsv")


def differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """The differences of two JSON values, of which the new one may have more keys."""
    if where in OF_THE_SITE or (where.startswith(".runs[") and where.endswith("].run")):
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in old:
            name = EARLIER_NAMES.get(key, key) if where.endswith(".report") else key
            yield from differences(old[key], new.get(key, new.get(name)), f"{where}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for n, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, f"{where}[{n}]")
    elif old != new:
        yield f"{where}: {old!r} is now {new!r}"


def lost(path: Path, again: Path) -> Iterator[str]:
    """The contents of an archive that the archive of the loaded track does not have."""
    with Reader.of(path) as old, Reader.of(again) as new:
        for name in sorted(old.names - DESCRIBED):
            if name not in new.names:
                yield f"{name} is missing"
            elif name.endswith(".json"):
                parsed = (json.loads(each.read(name)) for each in (old, new))
                yield from (f"{name}: {difference}" for difference in differences(*parsed))
            elif sorted(old.lines(name)) != sorted(new.lines(name)):
                yield f"{name} has another content"


def results(client: Client, track: Track, more: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The digests of the files that an organizer can download."""
    boards = list(track.leaderboards.order_by("pk").values_list("pk", flat=True))
    addresses = {
        f"{n}/{name}": f"/leaderboards/{pk}/{name}" for n, pk in enumerate(boards, 1) for name in OF_BOARDS
    }
    addresses |= {name: f"/tracks/{track.slug}/{name}" for name in (*DOWNLOADS, *more)}
    for name, address in addresses.items():
        answer = client.get(address)
        if answer.status_code == 200:
            yield name, sha256_of(answer.getvalue())


@pytest.mark.django_db
@pytest.mark.parametrize("path", ARCHIVES, ids=[path.stem for path in ARCHIVES])
def test_archive_loads_and_is_gathered_again_without_losing_anything(
    path: Path, client: Client, settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    organizer = make_organizer()
    client.force_login(organizer)

    loaded = load(path, organizer)

    assert loaded.status == LoadedArchive.Status.LOADED, loaded.job and loaded.job.error
    assert loaded.track is not None
    with Reader.of(path) as reader:
        has_comments = reader.index.has_comments
    again = written(archive_of(loaded.track, organizer, has_comments=has_comments), tmp_path)
    assert list(lost(path, again)) == []
    with Reader.of(again) as reader:
        assert [finding.part for finding in verify(reader) if not finding.is_right] == []
    kept.check("archives.json", dict(results(client, loaded.track, MORE.get(path.stem, ()))), path.stem)
