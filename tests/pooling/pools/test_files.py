"""The pool of the site has the same bytes as that of `assay pool`."""

import json
from pathlib import Path

import pytest
from django.conf import LazySettings

from assay.formulas import PLACES
from corpus.models import Formula
from jobs import services as jobs
from pooling.pools import services as pool_services
from tests.helpers.formula_scene import build_formula_scene
from tests.helpers.pool_files import pool


@pytest.fixture
def folder_of_files(tmp_path: Path, settings: LazySettings) -> None:
    """Where the site stores the files of this test."""
    settings.MEDIA_ROOT = tmp_path / "files"


@pytest.mark.django_db
@pytest.mark.usefixtures("folder_of_files")
def test_pool_of_formulas_has_the_bytes_of_the_pool_on_the_site(tmp_path: Path) -> None:
    scene = build_formula_scene()
    runs = [scene.submit("a", [4 * i for i in range(12)]), scene.submit("b", [12, 0, 3, 8], team=1)]
    rows = Formula.objects.values_list("code", "post", "thread", "place", "visual", "latex")
    index = (
        f"{code}\t{post}\t{thread}\t{PLACES[place]}\t{visual}\t{latex}\n"
        for code, post, thread, place, visual, latex in rows
    )
    (tmp_path / "index.tsv").write_text("".join(index))
    lines = ["file,team,tag,kind"]
    for run in runs:
        with run.original.open("rb") as original:
            (tmp_path / f"{run.tag}.tsv").write_bytes(original.read())
        lines.append(f"{run.tag}.tsv,{run.team.name},{run.tag},{run.kind}")
    (tmp_path / "m.csv").write_text("\n".join(lines))

    pool(tmp_path, "--formulas", str(tmp_path / "index.tsv"))
    built = pool_services.request(track=scene.track, name="P", seed=7, depth={}, by=scene.organizer)
    assert built.job_id is not None
    jobs.run(built.job_id)

    record = json.loads((tmp_path / "pool.tsv.json").read_text())
    built.refresh_from_db()
    assert built.sha256 == record["sha256"]
    assert built.statistics["members"] == record["members"]
