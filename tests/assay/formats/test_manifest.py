"""Manifests: a row per run of a pool."""

from pathlib import Path

import pytest

from assay.formats.manifest import ManifestError, read_manifest
from assay.protocols.loader import load_protocol
from tests.helpers.pool_files import write_run_files

PROTOCOL = load_protocol("arqmath-2020-task1")
P = ["--protocol", "arqmath-2020-task1"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return write_run_files(tmp_path)


HEADER = "file,team,tag,kind,pooled_as\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "line 1: expected the columns file, team, tag, kind"),
        ("file,team,tag\n", "line 1: expected the columns"),
        ("file,team,tag,kind,color\n", "line 1: expected the columns"),
        (HEADER, "the manifest lists no runs"),
        (HEADER + "missing.tsv,t,r,primary,\n", "line 2: there is no file missing.tsv"),
        (HEADER + "good.tsv,t,r,first,\n", "line 2: kind 'first' is not one of primary, alternate, baseline"),
        (HEADER + "good.tsv,t,,primary,\n", "line 2: tag is empty"),
        (
            HEADER + "good.tsv,t,r,primary,alternate\n",
            "line 2: pooled_as 'alternate': use primary or alternate, and only for baseline runs",
        ),
        (HEADER + "good.tsv,t,r,primary,,,\n", "line 2: the number of columns differs"),
        (HEADER + "good.tsv,t\n", "line 2: the number of columns differs"),
        (HEADER + 'good.tsv,"t"x,r,primary,\n', "line 2: "),
        (HEADER + "good.tsv,t,r,primary,\nother.tsv,t,r,primary,\n", "two runs have the tag r"),
    ],
)
def test_errors_of_a_manifest_name_the_line(files: Path, text: str, complaint: str) -> None:
    (files / "m.csv").write_text(text)

    with pytest.raises(ManifestError) as error:
        read_manifest(files / "m.csv", PROTOCOL)

    assert complaint in str(error.value)


def test_manifest_with_a_byte_order_mark_and_spaces_is_read(files: Path) -> None:
    (files / "m.csv").write_bytes(
        b"\xef\xbb\xbffile, team, tag, kind, pooled_as\r\ngood.tsv, one, r, baseline, alternate\r\n"
    )

    (run,) = read_manifest(files / "m.csv", PROTOCOL)

    assert (run.file, run.team, run.tag, run.kind, run.pooled_as) == (
        files / "good.tsv",
        "one",
        "r",
        "baseline",
        "alternate",
    )


def test_manifest_in_latin_1_is_refused(files: Path) -> None:
    (files / "m.csv").write_bytes("file,team,tag,kind\ngood.tsv,équipe,r,primary\n".encode("latin-1"))

    with pytest.raises(ManifestError, match="not UTF-8"):
        read_manifest(files / "m.csv", PROTOCOL)


def test_apostrophe_before_a_spreadsheet_formula_is_taken_away(files: Path) -> None:
    (files / "m.csv").write_text("file,team,tag,kind,description\ngood.tsv,'=one,r,primary,'-x\n")

    (run,) = read_manifest(files / "m.csv", PROTOCOL)

    assert (run.team, run.description) == ("=one", "-x")
