"""The page of installed extensions, and the check that stops the start if one cannot be used."""

from pathlib import Path

import pytest
from django.test import Client

from assay.extensions import installed
from config.checks import extensions
from tests.helpers.extensions import other_packages
from tests.helpers.factories import make_user

ORANGE = """
from assay.cli.main import Command
PEEL = Command("peel", "peel an orange", "orange")
EXTENSION = Extension(name="orange", title="Oranges", adds=(PEEL,))
add_arguments = run = print
"""


@pytest.mark.django_db
def test_administrators_see_what_is_installed(
    tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("assay_extensions.turkle")
    client.force_login(make_user("administrator", is_staff=True))
    page = client.get("/extensions/").content.decode()
    assert "assay_extensions.turkle:EXTENSION" in page

    with other_packages(tmp_path, orange=ORANGE):
        monkeypatch.setenv("ASSAY_EXTENSIONS", "none")
        assert b"No extensions are selected." in client.get("/extensions/").content
        monkeypatch.setenv("ASSAY_EXTENSIONS", "orange")
        installed.cache_clear()
        page = client.get("/extensions/").content.decode()

    assert "turkle" not in page
    assert "Oranges" in page
    assert "orange-package 1.2" in page
    assert "command peel" in page


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (ORANGE, ""),
        (
            "raise OSError('no tree')",
            "the extension orange of orange-package 1.2 cannot be imported: OSError: no tree",
        ),
        (
            ORANGE.replace('"peel"', '"pool"'),
            (
                "the extension orange adds the command pool, which Assay has already; "
                "leave orange out with ASSAY_EXTENSIONS"
            ),
        ),
        (
            ORANGE.replace('"orange")', '"orange.skin")'),
            (
                "the extension orange: command peel: orange.skin:add_arguments cannot be imported: "
                "ModuleNotFoundError: No module named 'orange.skin'; 'orange' is not a package"
            ),
        ),
    ],
)
def test_extension_that_cannot_be_used_stops_the_start(code: str, message: str, tmp_path: Path) -> None:
    with other_packages(tmp_path, orange=code):
        assert [error.msg for error in extensions()] == ([message] if message else [])
