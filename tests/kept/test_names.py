"""Names that rows, files, scripts, bookmarks and other sites remember: a name that is lost or new is a change here."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import get_commands
from django.db.models import Field, FileField
from django.urls import URLPattern, get_resolver

from accounts.mail import letters
from assay.cli.main import COMMANDS
from config.celery import app
from home.help import HELP
from jobs import services as jobs
from server import paths
from tests.helpers import kept
from tracks.announcements import EVENTS
from web.models import Scope

# a noun and a participle, such as "batch.opened" and f"qrels.{source}"
ACTION = re.compile(
    r'"([a-z]+(?:-[a-z]+)*\.(?:[a-z-]*(?:ed|en|wn|back|held|later|made|set|-team)|\{[^}"]+\}))"'
)
PREFIX = re.compile(r'\bstore\("([a-z/]+)"')


def rooms() -> dict[str, Path]:
    """The folders of Assay's own apps, also of those to come, by their labels."""
    folders = {app.label: Path(app.path) for app in apps.get_app_configs()}
    return {
        label: path
        for label, path in folders.items()
        if path.is_relative_to(paths.ROOT) and "site-packages" not in path.parts
    }


def source() -> str:
    """The code that writes to the audit log or stores files."""
    files = (path.read_text() for room in rooms().values() for path in sorted(room.rglob("*.py")))
    return "".join(text for text in files if "audit" in text or "store(" in text)


def fields() -> Iterator[tuple[str, "Field[Any, Any]"]]:
    for model in apps.get_models():
        if model._meta.app_label in rooms():
            yield from ((f"{model._meta.label}.{field.name}", field) for field in model._meta.local_fields)


def addresses() -> dict[str, str]:
    """The path of each page. Those of the API are in its OpenAPI document."""
    paths_of = {}

    def collect(patterns: list[Any], prefix: str = "", namespace: str = "") -> None:
        for pattern in patterns:
            path = f"{prefix}{pattern.pattern}"
            if isinstance(pattern, URLPattern):
                paths_of[f"{namespace}{pattern.name}"] = path
            elif not path.startswith(("api/", "admin/", "account/")):
                inner = f"{pattern.namespace}:" if pattern.namespace else ""
                collect(pattern.url_patterns, path, f"{namespace}{inner}")

    collect(get_resolver().url_patterns)
    return paths_of


def test_names_that_others_remember() -> None:
    pytest.importorskip("assay_extensions.turkle")
    app.loader.import_default_modules()
    text = source()
    uploads = {f"{prefix}/" for prefix in PREFIX.findall(text)}
    own = {apps.get_app_config(label).name for label in rooms()}

    kept.check(
        "names.json",
        {
            "actions of the audit log": sorted({re.sub("{.+}", "{}", name) for name in ACTION.findall(text)}),
            "commands of assay": sorted(COMMANDS),
            "commands of manage.py": sorted(name for name, app in get_commands().items() if app in own),
            "content types": sorted(model._meta.label for model in apps.get_models()),
            "events of webhooks": sorted(EVENTS),
            "kinds of jobs": sorted(name for name in jobs._handlers if not name.startswith("tests.")),
            "kinds of letters": sorted(letters._writers),
            "pages with help": HELP,
            "paths": addresses(),
            "prefixes of stored files": sorted(
                uploads | {str(field.upload_to) for _, field in fields() if isinstance(field, FileField)}
            ),
            "scopes of tokens": list(Scope.values),
            "tasks of Celery": sorted(name for name in app.tasks if not name.startswith("celery.")),
            "tasks on a schedule": {name: entry["task"] for name, entry in app.conf.beat_schedule.items()},
            "values in columns": {
                name: " ".join(str(value) for value, _ in field.flatchoices)
                for name, field in fields()
                if field.flatchoices
            },
        },
    )
