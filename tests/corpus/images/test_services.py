"""Images of a collection: imported from a folder or an archive, shown in posts, and nothing hostile is served."""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from PIL import Image as Pillow

from assay.html import sanitize
from corpus.images.encoding import MAX_SIDE
from corpus.imports import services as import_services
from corpus.imports.recognition import sources_of
from corpus.models import Collection, Image, Import
from jobs import services as jobs
from jobs.models import Job, UnclaimedFile
from tests.helpers.factories import make_collection, make_document, make_organizer, make_user

pytestmark = pytest.mark.django_db

MARKER = b"<script>alert(1)</script>"


def picture(form: str = "PNG", size: tuple[int, int] = (30, 20), mode: str = "RGB", **options: Any) -> bytes:
    out = io.BytesIO()
    Pillow.new(mode, size, 1).save(out, form, **options)
    return out.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_that_claims(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(1 << 16))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def with_text_bomb() -> bytes:
    whole = picture()
    return whole[:33] + chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(80 << 20))) + whole[33:]


SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg">' + MARKER
HOSTILE: dict[str, tuple[bytes | None, str]] = {
    "drawing.svg": (SVG, "an SVG image"),
    "drawing.png": (b"<svg onload='alert(1)'/>", "an SVG image"),
    "page.jpg": (b"<!doctype html>" + MARKER, "not an image in PNG, JPEG, GIF or WebP"),
    "cut.jpg": (picture("JPEG", (300, 300), quality=95)[:900], "a damaged image"),
    "bomb.png": (png_that_claims(60_000, 60_000), "more than 40 million pixels"),
    "large.png": (png_that_claims(9_000, 9_000), "more than 40 million pixels"),
    "lies.png": (png_that_claims(5_000, 5_000), "a damaged image"),
    "text.png": (None, "a damaged image"),  # `with_text_bomb`, which takes a third of a second to pack
    "empty.gif": (b"", "not an image in PNG, JPEG, GIF or WebP"),
    "old.bmp": (picture("BMP"), "not an image in PNG, JPEG, GIF or WebP"),
    "long.webp": (bytes((20 << 20) + 1), "more than 20 MB"),
    "a'b|c.png": (picture(), "no URL can end in its name"),
}


@pytest.fixture(autouse=True)
def storage(tmp_path: Path, settings: LazySettings) -> Path:
    settings.MEDIA_ROOT = tmp_path / "storage"
    return tmp_path / "storage"


@pytest.fixture
def collection() -> Collection:
    return make_collection("math")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pictures").mkdir()
    return tmp_path / "pictures"


@pytest.fixture
def organizer(client: Client) -> Client:
    client.force_login(make_organizer())
    return client


def put(folder: Path, name: str, content: bytes) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def run_import(folder: Path) -> str:
    out = io.StringIO()
    call_command("import_collection", "math", str(folder), stdout=out)
    return out.getvalue()


def stored_files(storage: Path) -> int:
    return sum(path.is_file() for path in storage.rglob("*"))


def body_of(collection: Collection, *urls: str) -> str:
    return sanitize.clean_body(
        "".join(f'<p><img src="{url}" alt="A &quot;graph&quot; of $x&lt;y$"></p>' for url in urls)
    )


def thread(client: Client, collection: Collection, docno: str) -> str:
    answer = client.get(reverse("corpus:thread", args=[collection.slug, docno]))
    return answer.content.decode()


# ---- import and display


def test_images_of_a_folder_are_shown_in_posts(
    collection: Collection, folder: Path, organizer: Client
) -> None:
    put(folder, "vTmU2.png", picture(size=(30, 20)))
    put(folder, "plots.example.org/a/1.jpg", picture("JPEG", (5_000, 100)))
    put(folder, "plots.example.org/b/1.jpg", picture("JPEG", (9, 9)))
    put(folder, ".hidden.png", b"")
    put(folder, "notes.txt", b"no image")
    urls = (
        "https://i.stack.imgur.com/vTmU2.png?s=64",
        "//plots.example.org/a/1.jpg",
        "https://elsewhere.example/1.jpg",
        "missing.png",
    )
    document = make_document(collection, body=body_of(collection, *urls))

    printed = run_import(folder)

    text = thread(organizer, collection, document.docno)
    assert "pictures: 3 images" in printed
    assert 'width="30" height="20" alt="A &quot;graph&quot; of $x&lt;y$"' in text
    assert f'width="{MAX_SIDE}" height="40"' in text
    assert text.count('<img class="post-image"') == 2
    assert text.count('<span class="image-placeholder"') == 2, "no file stands for the others"
    page = organizer.get(collection.get_absolute_url()).content.decode()
    assert "3 images" in page


def test_archive_of_images_is_imported_in_the_browser(collection: Collection, organizer: Client) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("images/../../etc/passwd.png", picture())
        archive.writestr("images/one.webp", picture("WEBP"))
        archive.writestr("images/nested/two.gif", picture("GIF", mode="P"))
        archive.writestr("images/bomb.png", bytes(30 << 20))
        archive.writestr("__MACOSX/images/one.webp", b"x")
    upload = SimpleUploadedFile("images.zip", packed.getvalue())

    answer = organizer.post(reverse("corpus:start_import"), {"collection": collection.pk, "upload": upload})
    jobs.run(Job.objects.get().pk)

    page = organizer.get(answer["Location"]).content.decode()
    assert list(Image.objects.values_list("name", "content_type")) == [
        ("nested/two.gif", "image/png"),
        ("one.webp", "image/webp"),
    ]
    assert "2 images" in page
    assert "1: more than 20 MB" in page
    assert "(bomb.png)" in page
    assert not UnclaimedFile.objects.filter(name__startswith="images/").exists()


def test_folder_on_the_server_is_offered_once_and_imported(
    collection: Collection, folder: Path, organizer: Client, settings: LazySettings
) -> None:
    settings.IMPORT_DIR = str(folder.parent)
    put(folder, "math/a.png", picture())
    put(folder, "other/b.jpg", picture("JPEG"))
    offered = organizer.get(reverse("corpus:start_import")).content.decode()

    answer = organizer.post(reverse("corpus:start_import"), {"collection": collection.pk, "path": "pictures"})
    jobs.run(Job.objects.get().pk)

    assert '<option value="pictures"></option>' in offered
    assert "a.png" not in offered
    assert "There may be more" not in offered
    assert "2 images" in organizer.get(answer["Location"]).content.decode()
    assert list(Image.objects.values_list("name", flat=True)) == ["math/a.png", "other/b.jpg"]


def test_image_that_is_imported_again_replaces_its_file(
    collection: Collection,
    folder: Path,
    storage: Path,
    django_capture_on_commit_callbacks: Callable[..., Any],
) -> None:
    put(folder, "a.png", picture(size=(3, 3)))
    put(folder, "b.png", picture(size=(4, 4)))
    run_import(folder)
    [before, same] = Image.objects.all()
    put(folder, "a.png", picture(size=(5, 5)))

    with django_capture_on_commit_callbacks(execute=True):
        run_import(folder)

    [after, kept] = Image.objects.all()
    assert (before.pk, before.width, after.pk, after.width) == (after.pk, 3, after.pk, 5)
    assert same.file.name == kept.file.name
    assert stored_files(storage) == 2


def test_killed_import_continues_after_its_last_images(collection: Collection, folder: Path) -> None:
    for i in range(45):
        put(folder, f"{i:02}.png", picture(size=(i + 1, 1)))
    job = import_services.start_import(collection=collection, sources=sources_of([folder]), by=None)
    job.imports.update(position=20, counts={"images": 20})

    jobs.run(job.pk)

    [file] = Import.objects.all()
    assert (file.position, file.counts, file.is_complete) == (45, {"images": 45}, True)
    assert Image.objects.count() == 25, "the first 20 were stored by the killed attempt"


# ---- hostile files


def test_hostile_files_are_named_and_nothing_of_them_is_stored(
    collection: Collection, folder: Path, storage: Path, organizer: Client
) -> None:
    for name, (content, _) in HOSTILE.items():
        put(folder, name, with_text_bomb() if content is None else content)
    put(folder, "good.png", picture())
    (folder / "link.png").symlink_to("/etc/hostname")

    run_import(folder)

    page = organizer.get(reverse("corpus:import", args=[Job.objects.get().pk])).content.decode()
    assert [image.name for image in Image.objects.all()] == ["good.png"]
    assert stored_files(storage) == 1
    [file] = Import.objects.all()
    assert sum(file.skipped.values()) == len(HOSTILE)
    for name, (_, reason) in HOSTILE.items():
        assert any(reason in key and name in names for key, names in file.skipped_lines.items()), name
    assert "more than 40 million pixels" in page


def test_served_image_contains_only_pixels(collection: Collection, folder: Path, organizer: Client) -> None:
    exif = Pillow.Exif()
    exif[0x0112], exif[0x010E] = 6, "secret place"
    put(folder, "photo.jpg", picture("JPEG", (40, 20), exif=exif, comment=MARKER) + MARKER)
    run_import(folder)
    [image] = Image.objects.all()

    response = organizer.get(reverse("corpus:image", args=["math", image.sha256]))

    served = response.getvalue()
    assert MARKER not in served
    assert b"secret" not in served
    assert Pillow.open(io.BytesIO(served)).size == (20, 40), "upright"
    assert response["Content-Type"] == "image/jpeg"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Cache-Control"] == "private, max-age=31536000, immutable"
    again = organizer.get(response.wsgi_request.path, headers={"if-none-match": response["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_every_kind_of_pixels_is_accepted(collection: Collection, folder: Path, mode: str) -> None:
    put(folder, "a.png", picture(mode=mode))

    run_import(folder)

    assert Image.objects.get().content_type == "image/png"


def test_folder_without_a_usable_image_is_refused(collection: Collection, folder: Path) -> None:
    put(folder, "drawing.svg", SVG)

    with pytest.raises(
        CommandError, match=r"none of its 1 images can be imported. drawing.svg is an SVG image"
    ):
        run_import(folder)


# ---- access


def test_only_readers_of_the_collection_see_an_image(
    collection: Collection, folder: Path, client: Client
) -> None:
    put(folder, "a.png", picture())
    run_import(folder)
    address = reverse("corpus:image", args=["math", Image.objects.get().sha256])

    assert client.get(address).status_code == 302
    client.force_login(make_user())
    assert client.get(address).status_code == 404
    client.force_login(make_organizer())
    allowed = client.get(address)
    assert (allowed.status_code, len(allowed.getvalue())) == (200, Image.objects.get().n_bytes)
    assert client.get(reverse("corpus:image", args=["math", "0" * 64])).status_code == 404
