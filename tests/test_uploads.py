"""Every field of a file, on every page and in every operation, with texts that break readers and databases.

The fields are found in the pages and in the serializers of the API, so a new one is tried without a line here. An
answer may be anything but a failure, and so may the end of a job that it started.
"""

import gzip
import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from django.apps import apps
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import models, transaction
from django.test import Client
from lxml import html
from rest_framework import serializers

from accounts.models import User
from jobs import services as jobs
from jobs.models import Job
from tests.helpers.api import api
from tests.helpers.factories import make_protocol
from tests.scoring.conftest import Scene
from tests.test_access import addresses, own_files, scene
from tests.test_api_access import _api, build_called, patterns
from tracks.models import Track
from web.models import JsonField

pytestmark = pytest.mark.django_db
__all__ = ["addresses", "own_files", "scene"]  # fixtures

ROWS = "topic,docno,assessor,grade\nA.1,10,ada,1\n"
LINES = "A.1 0 10 1\nA.1 0 9 0\n"


def zipped(*members: tuple[str, bytes]) -> bytes:
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


SAMPLE = {  # for every run of the tests
    "NUL in a header": b"topic,docno,ass\0essor,grade\nA.1,10,ada,1\n",
    "half a surrogate pair": b'{"topic": "A.1", "docno": "\\ud83d", "text": "\\u0000", "grade": NaN}\n',
}
BROKEN = SAMPLE | {
    "UTF-16 without a mark": ROWS.encode("utf-16-le"),
    "deep JSON": b"[" * 100_000,
    "nothing": b"",
    "NUL": b"\0",
    "NUL in a cell": ROWS.replace("ada", "a\0da").encode(),
    "NUL in a line": b"A.1 0 1\x000 1\n",
    "UTF-16": ROWS.encode("utf-16"),
    "UTF-16, cut": ROWS.encode("utf-16")[:-1],
    "UTF-32": ROWS.encode("utf-32"),
    "Windows-1252": "topic,docno,assessor,grade\nA.1,10,adé,1\n".encode("windows-1252"),
    "no encoding": b"A.1 0 \x81\x8d\xff 1\n",
    "cut UTF-8": LINES.encode() + b"\xc3",
    "surrogates in UTF-8": b"A.1 0 \xed\xa0\xbd 1\n",
    "byte-order marks": b"\xef\xbb\xbf\xef\xbb\xbfA.1 0 10 1\n\xef\xbb\xbfA.1 0 9 1\n",
    "no characters": "A.1 0 \ufffe\U0010ffff 1\n".encode(),
    "controls": bytes(range(1, 32)) * 3,
    "ends of lines": "A.1 0 10 1\x85A.1 0 9 1\u2028A.1 0 8 1\f\v\r\n".encode(),
    "right to left": "A.1 0 \u202egpj.1\u202c 1\n".encode(),
    "lone returns": LINES.replace("\n", "\r").encode(),
    "Ctrl-Z": LINES.encode() + b"\x1a",
    "an open quotation mark": b'topic,docno,assessor,grade\n"A.1,10,ada,1\n',
    "a file without a name": zipped(("x.csv", ROWS.encode())).replace(b"x.csv", b"\0.csv"),
    "an open quotation mark in the header": b'topic,docno,assessor,"grade\nA.1,10,ada,1\n',
    "quotation marks": b'"' * 100_001,
    "many columns": b",".join([b"x"] * 50_000),
    "many lines": b"\n" * 100_000 + b"x",
    "a long line": b"x" * 1_000_000,
    "numbers out of range": b'{"topic": "A.1", "docno": "1", "grade": 1e999, "judgment": '
    + b"9" * 400
    + b"}\n",
    "digits": b'{"topic": ' + b"9" * 5_000 + b"}\n",
    "deep objects": b'{"a":' * 100_000,
    "a list": b"[1, null, {}]\n",
    "a project": b'{"interface": {"file": "x\\u0000"}, "assignments": "assessment"}\n',
    "XML with entities": b'<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]><topics><topic>&c;</topic></topics>',
    "XML in another encoding": b'<?xml version="1.0" encoding="utf-7"?><topics><topic number="1"/></topics>',
    "XML with NUL": b'<topics><topic number="A\0.1"><title>&#0;&#xD800;</title></topic></topics>',
    "XML of 10,000 levels": b"<a>" * 10_000,
    "TOML": b'[[x]]\nname = "\\u0000"\n',
    "a PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\nxref\n",
    "a damaged gz": b"\x1f\x8bjunk",
    "a cut gz": gzip.compress(LINES.encode())[:-5],
    "a bomb": gzip.compress(b"\0" * 30_000_000),
    "gz in gz": gzip.compress(gzip.compress(LINES.encode())),
    "a cut zip": zipped(("a.csv", ROWS.encode()))[:-10],
    "an empty zip": zipped(),
    "a zip of NUL": zipped(("a.csv", SAMPLE["NUL in a header"])),
    "a zip with odd names": zipped(("../a", b"x"), ("a\x1f\u202e", b"y")),
    "a workbook": zipped(("[Content_Types].xml", b"<a/>"), ("xl/workbook.xml", b"<a/>")),
    "a Label Studio project": json.dumps([{"id": 1, "data": {"x": "\0"}, "annotations": [None]}]).encode(),
}


class Field(NamedTuple):
    """A field of a file: where it is sent, its name, and the values of the others."""

    address: str
    name: str
    others: dict[str, Any]


def fields_of_pages(client: Client, pages: Mapping[str, str]) -> dict[str, Field]:
    """The fields of files in the forms of all pages, by page and name; the others are filled in as a person would."""
    fields: dict[str, Field] = {}
    for page, address in pages.items():
        response = client.get(address)
        content = b"".join(
            response
        )  # to the end, which closes a file; `close` would close the connection of the test
        if response.status_code != 200 or response.streaming or b'type="file"' not in content:
            continue
        for form in html.fromstring(content).xpath("//form[.//input[@type='file']]"):
            inputs = form.xpath("(.//input|.//select|.//textarea)[@name][not(ancestor::template)]")
            files = [each.name for each in inputs if each.get("type") == "file"]
            others = {each.name: value for each in inputs if (value := filled(each)) is not None}
            target = form.get("action") or address
            fields |= {f"{page} {name}": Field(target, name, others) for name in files}
    return fields


def filled(control: Any) -> str | None:
    """The value of a control, or the first choice or a word if it must have one; None if nothing is sent."""
    kind, is_required = control.get("type"), control.get("required") is not None
    if kind == "file" or (kind in {"checkbox", "radio"} and not control.checked):
        return None
    first = next(filter(None, getattr(control, "value_options", [])), "word")
    return str(control.value or (first if is_required else ""))


def fields_of_operations(pages: Mapping[str, str]) -> dict[str, Field]:
    """The fields of files of all operations, by operation and name."""
    fields: dict[str, Field] = {}
    for pattern in patterns(_api()):
        for action in getattr(pattern.callback, "actions", {}).values():
            endpoint = getattr(getattr(pattern.callback.cls, action), "endpoint", None)
            takes = getattr(endpoint, "takes", None)
            if not isinstance(takes, type) or not issubclass(takes, serializers.Serializer):
                continue
            known = takes().fields
            files = [name for name, field in known.items() if takes_file(field)]
            others = {
                name: word(field) for name, field in known.items() if field.required and name not in files
            }
            fields |= {f"{action} {name}": Field(pages[str(pattern.name)], name, others) for name in files}
    return fields


def takes_file(field: Any) -> bool:
    return isinstance(getattr(field, "child", field), serializers.FileField)


def word(field: Any) -> Any:
    """A value of a required field of an operation."""
    return next(iter(getattr(field, "choices", {})), "1")


def faults_of(client: Client, fields: Mapping[str, Field], texts: Mapping[str, bytes]) -> list[str]:
    """The fields and texts with which a request, or a job that it queued, fails."""
    client.raise_request_exception = False
    return [
        f"{key}: {kind}"
        for key, field in fields.items()
        for kind, content in texts.items()
        if not is_answered(client, field, content)
    ]


def is_answered(client: Client, field: Field, content: bytes) -> bool:
    cache.clear()  # of limits
    with transaction.atomic():
        data = field.others | {field.name: SimpleUploadedFile("file.csv", content)}
        response = client.post(field.address, data)
        queued = list(Job.objects.filter(state=Job.State.QUEUED).values_list("pk", flat=True))
        for pk in queued:
            jobs.run(pk)
        unexpected = Job.objects.filter(pk__in=queued, error__startswith="An unexpected error")
        is_good = response.status_code < 500 and not unexpected.exists()
        transaction.set_rollback(True)
    return is_good


def test_no_field_of_an_operation_fails_with_a_sample_of_broken_texts(own_files: None) -> None:
    scene = build_called()
    fields = fields_of_operations(scene.addresses)

    assert len(fields) >= 20
    assert faults_of(api(scene.organizer), fields, SAMPLE) == []


PROTOCOLS = (
    "arqmath-2020-task1",
    "trec-rag-2024",
    "bolt-ir-p3",
)  # some fields are there for nuggets or sessions only


@pytest.mark.nightly
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_field_of_an_operation_fails_with_any_broken_text(own_files: None, protocol: str) -> None:
    scene = build_called()
    Track.objects.filter(pk=scene.track.pk).update(protocol=make_protocol(protocol))

    assert faults_of(api(scene.organizer), fields_of_operations(scene.addresses), BROKEN) == []


@pytest.mark.nightly
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_field_of_a_page_fails_with_any_broken_text(
    scene: Scene, addresses: dict[str, str], protocol: str
) -> None:
    Track.objects.filter(pk=scene.track.pk).update(protocol=make_protocol(protocol))
    User.objects.filter(pk=scene.organizer.pk).update(is_superuser=True, is_staff=True)
    client = Client(raise_request_exception=False)
    client.force_login(scene.organizer)

    fields = fields_of_pages(client, addresses)

    assert len(fields) >= 15
    assert faults_of(client, fields, BROKEN) == []


def test_every_column_of_json_replaces_what_the_database_cannot_store() -> None:
    columns = [
        field
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if isinstance(field, models.JSONField)
    ]

    assert len(columns) > 40
    assert [str(field) for field in columns if not isinstance(field, JsonField)] == []
