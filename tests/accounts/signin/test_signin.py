"""Services to log in with, and a second factor. They are off by default: a process with the settings runs the tests."""

import os
import subprocess
import sys
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from server import environment, paths
from tests.helpers.openid import CLIENT, SECRET

SERVICE = {"_SERVER": "https://idp.test", "_CLIENT_ID": CLIENT, "_CLIENT_SECRET": SECRET}


@pytest.mark.long
def test_site_with_services_and_second_factor() -> None:
    """The tests of `with_signin.py`, on a database of their own."""
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path="/signin").geturl()
    services = {
        f"SIGN_IN_{name}{key}": value for name in ("UNIVERSITY", "CLUB") for key, value in SERVICE.items()
    }
    own = services | {
        "SIGN_IN_PROVIDERS": "university,club",
        "SIGN_IN_BY_EMAIL": "university",
        "SIGN_IN_UNIVERSITY_NAME": "University of Ghent",
        "SECOND_FACTOR": "true",
        "DATABASE_URL": url,
    }
    left_out = {"PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"}
    inherited = {name: value for name, value in os.environ.items() if name not in left_out}

    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--nomigrations",
            "tests/accounts/signin/with_signin.py",
        ],
        cwd=paths.ROOT,
        env=inherited | own,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]


def test_off_by_default_there_is_no_page_and_no_app(client: Client) -> None:
    pages = ["/login/with/university/", "/account/ways-to-log-in/", "/account/second-factor/", "/login/code/"]

    assert {client.get(page).status_code for page in pages} == {404}
    assert not any("allauth" in name for name in (*settings.INSTALLED_APPS, *settings.MIDDLEWARE))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"SIGN_IN_PROVIDERS": "A b"}, "contains 'A b'; use different short names"),
        ({"SIGN_IN_PROVIDERS": "orcid"}, "set ORCID_CLIENT_ID instead"),
        ({"SIGN_IN_PROVIDERS": "uni,uni"}, "contains 'uni'"),
        ({"SIGN_IN_UNI_SERVER": ""}, "SIGN_IN_UNI_SERVER is not set; SIGN_IN_PROVIDERS needs it"),
        (
            {"SIGN_IN_UNI_SERVER": "http://idp.test"},
            "SIGN_IN_UNI_SERVER is 'http://idp.test'; use an address that",
        ),
        ({"SIGN_IN_UNI_CLIENT_ID": ""}, "SIGN_IN_UNI_CLIENT_ID is not set"),
        ({"SIGN_IN_UNI_CLIENT_SECRET": ""}, "SIGN_IN_UNI_CLIENT_SECRET is not set"),
        (
            {"SIGN_IN_BY_EMAIL": "other"},
            "SIGN_IN_BY_EMAIL contains 'other', which SIGN_IN_PROVIDERS does not",
        ),
        ({"ORCID_CLIENT_ID": "APP-1"}, "ORCID_CLIENT_SECRET is not set; ORCID_CLIENT_ID needs it"),
        ({"SIGN_IN_ACCOUNTS": "anyone,example.org"}, "use nobody, anyone, or domains such as"),
    ],
)
def test_a_wrong_setting_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, str], message: str
) -> None:
    usual = {"SIGN_IN_PROVIDERS": "uni"} | {f"SIGN_IN_UNI{key}": value for key, value in SERVICE.items()}
    for name, value in (usual | changed).items():
        monkeypatch.setenv(name, value)

    with pytest.raises(ImproperlyConfigured, match=message):
        _read()


def _read() -> list[dict[str, Any]]:
    environment.new_accounts("SIGN_IN_ACCOUNTS")
    return environment.providers("SIGN_IN_PROVIDERS", by_email="SIGN_IN_BY_EMAIL")


def test_ids_of_the_sandbox_of_orcid_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCID_CLIENT_ID", "APP-1")
    monkeypatch.setenv("ORCID_CLIENT_SECRET", SECRET)
    (real,) = _read()
    monkeypatch.setenv("ORCID_SERVER", "https://sandbox.orcid.org/")
    (sandbox,) = _read()

    assert (real["provider_id"], sandbox["provider_id"]) == ("orcid", "orcid-sandbox")
    assert sandbox["settings"]["server_url"] == "https://sandbox.orcid.org"
    assert sandbox["settings"]["scope"] == ["openid"]
