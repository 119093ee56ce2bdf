"""The site serves the built documentation, and nothing else."""

from pathlib import Path

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpResponse
from django.test import RequestFactory

from config.pages import documentation


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small documentation site, next to a file that is not part of it."""
    folder = tmp_path / "html"
    (folder / "howto").mkdir(parents=True)
    (folder / "index.html").write_text("<h1>Assay</h1>")
    (folder / "howto" / "deploy.html").write_text("<h1>Deploy</h1>")
    (folder / ".hidden.html").write_text("hidden")
    (folder / "objects.inv").write_text("inventory")
    (tmp_path / "secret.html").write_text("secret")
    monkeypatch.setattr(documentation, "folder", lambda: folder)
    return folder


def get(page: str | None = None, **headers: str) -> HttpResponse:
    request = RequestFactory().get("/help/", **headers)  # type: ignore[arg-type]
    request.user = AnonymousUser()
    arguments = {} if page is None else {"page": page}
    response: HttpResponse = documentation.documentation(request, **arguments)
    return response


def test_first_page(site: Path) -> None:
    response = get()

    assert response.status_code == 200
    assert response["Content-Type"] == "text/html; charset=utf-8"
    assert response.content == b"<h1>Assay</h1>"


def test_page_in_a_folder(site: Path) -> None:
    assert get("howto/deploy.html").content == b"<h1>Deploy</h1>"


@pytest.mark.parametrize(
    "page",
    [
        "missing.html",
        "howto",
        "howto/",
        "",
        "../secret.html",
        "howto/../../secret.html",
        "/etc/hostname.html",
        "..\\secret.html",
        "%2e%2e/secret.html",
        ".hidden.html",
        "objects.inv",
        "index.html/",
        "index.html\x00",
    ],
)
def test_what_is_not_part_of_the_site_is_not_found(page: str, site: Path) -> None:
    with pytest.raises(Http404):
        get(page)


def test_link_out_of_the_folder_is_not_followed(site: Path) -> None:
    (site / "link.html").symlink_to(site.parent / "secret.html")

    with pytest.raises(Http404):
        get("link.html")


def test_unchanged_page_is_not_sent_again(site: Path) -> None:
    changed = get()["Last-Modified"]

    assert get(HTTP_IF_MODIFIED_SINCE=changed).status_code == 304


def test_without_built_documentation_the_page_says_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documentation, "folder", lambda: tmp_path / "none")

    response = get("howto/deploy.html")

    assert response.status_code == 404
    assert b"make docs" in response.content


def test_post_is_not_allowed(site: Path) -> None:
    assert documentation.documentation(RequestFactory().post("/help/")).status_code == 405
