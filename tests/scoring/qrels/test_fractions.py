"""Grades that are means of judges, as in the main task of NTCIR-12: refused with what to do, which then works."""

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from assay.cli.main import main
from assay.protocols.loader import shipped_text
from jobs import services as jobs
from scoring.models import Leaderboard, Qrels
from tests.scoring.conftest import Scene, build_scene
from tracks.models import StoredProtocol

pytestmark = pytest.mark.django_db

FILE = "A.1 xxx a 2.6666666666666665\nA.1 xxx b 3.0\nA.1 xxx c 1.3333333333333333\nA.2 xxx a 0.0\n"
ADVICE = "Multiplied by 3, all grades are whole: assay qrels convert FILE --scale 3"
TRIPLED = (
    ("ntcir-12-simto", "tripled"),
    ("value = 2", "value = 6"),
    ("value = 1", "value = 3"),
    ("relevant_from = 3", "relevant_from = 9"),
    ("rel=3", "rel=9"),
    ("binary_from = 1", "binary_from = 3"),
)


def tripled() -> StoredProtocol:
    text = shipped_text("ntcir-12-simto")
    for old, new in TRIPLED:
        assert old in text
        text = text.replace(old, new)
    return StoredProtocol.objects.create(slug="tripled", title="Tripled", text=text, digest="f" * 64)


def import_qrels(client: Client, scene: Scene, content: bytes) -> str:
    upload = SimpleUploadedFile("qrels.txt", content)
    address = reverse("scoring:import_qrels", args=[scene.track.slug])
    return client.post(address, {"file": upload, "name": "arXiv"}, follow=True).content.decode()


def test_fractions_are_refused_with_the_factor_and_its_result_is_scored(
    client: Client, tmp_path: Path
) -> None:
    """2.67 stays below the relevance level of 3, and 3 reaches it: 8 and 9 of 9, without rounding."""
    scene = build_scene("ntcir-12-simto")
    scene.submit_lines(scene.ours, "r", [f"A.1 1 {docno} {n} {-n} r\n" for n, docno in enumerate("abc", 1)])
    client.force_login(scene.organizer)
    (tmp_path / "qrels.txt").write_text(FILE)

    refused = import_qrels(client, scene, FILE.encode())
    assert "line 1: grade 2.6666666666666665 is a fraction" in refused
    assert ADVICE in refused
    assert not Qrels.objects.exists()

    files = [str(tmp_path / "qrels.txt"), "--scale", "3", "--output", str(tmp_path / "out")]
    assert main(["qrels", "convert", *files]) == 0
    scene.track.protocol = tripled()
    scene.track.save()
    import_qrels(client, scene, (tmp_path / "out" / "qrels.txt").read_bytes())
    [qrels] = Qrels.objects.all()
    client.post(reverse("scoring:score", args=[qrels.pk]))
    board = Leaderboard.objects.get()
    assert board.job is not None
    jobs.run(board.job.pk)

    page = client.get(board.get_absolute_url())
    [row] = page.context["rows"]
    assert dict(zip(board.measures, (cell.text for cell in row.cells), strict=True))["P(rel=9)@5"] == "0.1000"
