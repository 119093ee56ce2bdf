"""The system checks of the settings."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as project
from django.core.management import call_command

from config import checks


def ids(messages: list[Any]) -> list[str]:
    return [message.id for message in messages]


def test_the_settings_of_the_tests_pass() -> None:
    every = (checks.secret_key, checks.folders, checks.jobs, checks.content_security_policy)

    assert [ids(check()) for check in every] == [[], [], [], []]


def test_a_short_key_is_an_error(settings: Any) -> None:
    settings.SECRET_KEY = "short"

    assert ids(checks.secret_key()) == ["assay.E001"]


def test_a_folder_that_cannot_be_written_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks.os, "access", lambda folder, mode: False)

    assert ids(checks.folders()) == ["assay.E002", "assay.E002"]


def test_job_lost_between_two_heartbeats_is_an_error(settings: Any) -> None:
    settings.JOB_HEARTBEAT_SECONDS = 5
    settings.JOB_LOST_AFTER_SECONDS = 10

    assert ids(checks.jobs()) == ["assay.E003"]


def test_an_unsafe_policy_is_an_error(settings: Any) -> None:
    settings.CONTENT_SECURITY_POLICY = {"DIRECTIVES": {"script-src": ["'self'", "'unsafe-inline'"]}}

    (error,) = checks.content_security_policy()

    assert error.id == "assay.E004"
    assert "script-src 'unsafe-inline'" in error.msg


def test_missing_front_end_files_are_a_warning(settings: Any, tmp_path: Path) -> None:
    settings.BASE_DIR = tmp_path

    assert ids(checks.front_end()) == ["assay.W005"]


def test_a_deployment_without_https_is_a_warning(settings: Any) -> None:
    settings.HTTPS = False

    assert ids(checks.https()) == ["assay.W006"]

    settings.HTTPS = True

    assert checks.https() == []


def test_deployment_for_any_host_or_without_trusted_proxies_is_named_by_check(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["assay.example.org", "*"]
    settings.BEHIND_PROXY, settings.TRUSTED_PROXIES = True, None
    printed = StringIO()

    call_command("check", deploy=True, tags=["security"], stderr=printed)

    assert "(assay.W007) ALLOWED_HOSTS contains *" in printed.getvalue()
    assert "(assay.W008) BEHIND_PROXY is true, but TRUSTED_PROXIES is not set" in printed.getvalue()


def test_policy_contains_no_other_host() -> None:
    values = [value for values in project.CONTENT_SECURITY_POLICY["DIRECTIVES"].values() for value in values]

    assert set(values) <= {"'self'", "'none'", "data:"}
