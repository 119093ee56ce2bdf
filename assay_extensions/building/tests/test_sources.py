"""A source is a folder, an archive or a file, and is refused with the reason if it cannot be read."""

import gzip
import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from assay.errors import AssayError
from assay_extensions.building.build import build
from assay_extensions.building.settings import NotBuilt, Settings
from assay_extensions.building.sources import TOOLS, files_of
from assay_extensions.building.store import Store, refusals
from tests.helpers.dumps import dump, many_posts, question, write


def test_packed_file_is_a_source(tmp_path: Path) -> None:
    write(tmp_path, "Posts.xml.gz", gzip.compress(dump("posts", question(1)).encode()))

    manifest = build(tmp_path / "Posts.xml.gz", tmp_path / "built", Settings(), processes=0)

    assert manifest["after"]["questions"] == 1
    assert manifest["source"][0]["bytes"] == len(dump("posts", question(1)).encode())


def test_files_of_finder_and_windows_are_left_out_and_workbooks_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("d/docs.csv", "d/.DS_Store", "__MACOSX/d/._docs.csv", "d\\desktop.ini"):
            archive.writestr(name, "id;text\nd1;owls\n" if name.endswith("csv") else "\0[x]")
    with zipfile.ZipFile(tmp_path / "b.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<a/>")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "docs.csv").write_text("id;text\nd1;owls\n")
    (tmp_path / "folder" / "Thumbs.db").write_bytes(b"\0")

    assert [file.name for file in files_of(tmp_path / "a.zip")] == ["d/docs.csv"]
    assert [file.name for file in files_of(tmp_path / "folder")] == ["docs.csv"]
    manifest = build(tmp_path / "a.zip", tmp_path / "built", Settings(), processes=0)
    assert manifest["after"]["documents"] == 1
    with pytest.raises(AssayError, match=r"b.xlsx: This is an Excel workbook; save it as CSV\."):
        build(tmp_path / "b.xlsx", tmp_path / "other", Settings(), processes=0)


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    whole = tmp_path / "whole.zip"
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Posts.xml", many_posts(3000))
    content = whole.read_bytes()
    cut = write(tmp_path, "cut.zip", content[: len(content) // 2])
    changed = write(tmp_path, "changed.zip", content[:5000] + b"\0" * 100 + content[5100:])

    for path in (cut, changed):
        with pytest.raises(AssayError, match=f"{path.name}: The zip file is damaged or cut off"):
            build(path, tmp_path / f"built-{path.stem}", Settings(), processes=0)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        (
            "dump.zip",
            b"hello\nworld",
            "dump.zip: The file is not a zip archive: it begins with “hello world”. Accepted",
        ),
        ("dump.7z", b"", "dump.7z: The file is not a 7z archive: it is empty. Accepted: A complete archive."),
        ("posts.xml", b"a\nb", "posts.xml is neither XML .* it begins with “a b”. A table has a header"),
    ],
)
def test_wrong_file_is_refused_in_one_sentence_with_its_name(
    tmp_path: Path, name: str, content: bytes, complaint: str
) -> None:
    path = write(tmp_path, name, content)

    with pytest.raises(AssayError, match=complaint):
        build(path, tmp_path / "built", Settings(), processes=0)


def test_links_out_of_a_folder_are_refused_where_only_that_folder_may_be_read(tmp_path: Path) -> None:
    for name in ("inside", "outside"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, "Posts.xml", dump("posts", question(1)))
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    (inside / "Comments.xml").symlink_to(outside / "Posts.xml")
    (inside / "Users.xml").symlink_to(inside / "Posts.xml")

    with pytest.raises(NotBuilt, match=r"Comments.xml is a link that leads out of the import folder."):
        build(inside, tmp_path / "built", Settings(), processes=0, within=inside)
    (inside / "Comments.xml").unlink()
    assert [file.name for file in files_of(inside, within=inside)] == ["Posts.xml", "Users.xml"]


def test_missing_and_empty_sources_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotBuilt, match="There is no file or folder"):
        files_of(tmp_path / "nowhere")
    with pytest.raises(NotBuilt, match="contains no file"):
        files_of(tmp_path)


def test_seven_zip_without_a_tool_is_refused_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "dump.7z", b"7z\xbc\xaf\x27\x1c and more")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(NotBuilt, match="none of 7zz, 7z, 7za, bsdtar is installed"):
        files_of(path)


def test_names_in_an_archive_are_no_options_of_the_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "dump.7z", b"7z\xbc\xaf\x27\x1c and more")
    listing = "".join(f"Path = {name}\nSize = 3\n\n" for name in ("-oevil", "@list", "*.xml"))
    for tool, names in (("7zz", listing), ("bsdtar", "-oevil\n@list\n*.xml\n")):
        script = tmp_path / tool
        script.write_text(
            f"#!/bin/sh\ncase $1 in l|-tf) printf '%s' '{names}';; *) printf '%s\\n' \"$@\";; esac\n"
        )
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")

        for file in files_of(path):
            before, _, after = file.head().decode().partition("--\n")
            assert file.name not in before.splitlines()
            assert file.name in after.splitlines()
        script.unlink()


def test_two_files_of_one_name_in_an_archive_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "documents.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "first")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.txt", "second")

    with pytest.raises(NotBuilt, match=r"documents.zip contains two files named a.txt; give one of them."):
        files_of(path)


def test_tool_that_complains_much_does_not_wait_for_a_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "dump.7z", b"7z\xbc\xaf\x27\x1c and more")
    script = write(
        tmp_path,
        "7zz",
        b"#!/bin/sh\ncase $1 in l) printf 'Path = a.txt\\nSize = 1\\n\\n'; exit;; esac\n"
        b"head -c 300000 /dev/zero | tr '\\0' w >&2; echo; echo 'CRC failed' >&2; exit 2\n",
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    (file,) = files_of(path)

    def read() -> None:
        with file.opened() as pipe:
            while pipe.read(1 << 16):
                pass

    with pytest.raises(AssayError, match=r"dump.7z: The 7z file is damaged or cut off \(w*CRC failed\)"):
        read()


@pytest.mark.skipif(not any(map(shutil.which, TOOLS[:3])), reason="7-Zip is not installed")
def test_seven_zip_is_read_by_the_installed_tool(tmp_path: Path) -> None:
    tool = next(filter(None, map(shutil.which, TOOLS[:3])))
    folder = tmp_path / "dump"
    folder.mkdir()
    write(folder, "Posts.xml", many_posts(3000))
    write(folder, "Comments.xml", dump("comments"))
    subprocess.run(
        [tool, "a", "-bd", str(tmp_path / "dump.7z"), "."], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )
    content = (tmp_path / "dump.7z").read_bytes()
    broken = write(tmp_path, "broken.7z", content[:2000] + b"\0" * 200 + content[2200:])

    manifest = build(tmp_path / "dump.7z", tmp_path / "built", Settings(has_pages=False), processes=0)

    assert manifest["after"] == {"answers": 2000, "questions": 1000, "comments": 0}
    assert [each["name"] for each in manifest["source"]] == ["Posts.xml", "Comments.xml"]
    with pytest.raises(AssayError, match="broken"):
        build(broken, tmp_path / "built2", Settings(has_pages=False), processes=0)


def test_full_disk_is_reported_and_the_build_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "Posts.xml", dump("posts", question(1)))
    opened: Any = Path.open

    def full(path: Path, mode: str = "r", **options: object) -> object:
        if mode == "wb":
            raise OSError(28, os.strerror(28))
        return opened(path, mode, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", full)
        with pytest.raises(NotBuilt, match=r"The disk of .*built is full"):
            build(tmp_path / "Posts.xml", tmp_path / "built", Settings(), processes=0)

    assert (
        build(tmp_path / "Posts.xml", tmp_path / "built", Settings(), processes=0)["after"]["questions"] == 1
    )


def test_full_database_is_reported(tmp_path: Path) -> None:
    store = Store(tmp_path / "build.sqlite")
    store.execute("PRAGMA max_page_count = 60")

    with pytest.raises(NotBuilt, match="is full"), refusals(tmp_path), store.writing():
        store.insert("INSERT INTO votes VALUES (?, '1', '', ?)", ((n, "x" * 1000) for n in range(1000)))

    store.close()


def test_two_builds_in_one_folder_are_refused(tmp_path: Path) -> None:
    source = write(tmp_path, "Posts.xml", dump("posts", question(1)))

    def build_again(_step: str, _done: int, _total: int) -> None:
        with pytest.raises(NotBuilt, match="Another process is building"):
            build(source, tmp_path / "built", Settings(), processes=0)

    build(source, tmp_path / "built", Settings(), build_again, processes=0)


def test_damaged_store_is_refused(tmp_path: Path) -> None:
    source = write(tmp_path, "Posts.xml", dump("posts", question(1)))
    (tmp_path / "built/private").mkdir(parents=True)
    write(tmp_path / "built/private", "build.sqlite", b"not a database" * 100)

    with pytest.raises(NotBuilt, match="is damaged"):
        build(source, tmp_path / "built", Settings(), processes=0)
