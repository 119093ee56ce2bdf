"""`manage.py import_collection`."""

import os
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from corpus.models import Collection, Document, Import
from jobs.models import Job
from tests.conftest import wait_until
from tests.helpers.dumps import answer, dump, many_posts, question, row, write

pytestmark = pytest.mark.django_db(transaction=True)


def output_of(*arguments: object) -> str:
    out = StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=StringIO())
    return out.getvalue()


def test_command_creates_the_collection_and_reports_each_file(tmp_path: Path) -> None:
    write(tmp_path, "Posts.xml", dump("posts", question(1), answer(2, 1), row(Id=9, PostTypeId=4)))

    output = output_of(
        "import_collection", "math", tmp_path, "--name", "Math", "--host", "math.stackexchange.com"
    )

    collection = Collection.objects.get(slug="math")
    assert (collection.name, collection.hosts) == ("Math", ["math.stackexchange.com"])
    assert collection.status == Collection.Status.READY
    assert "Posts.xml: 1 question, 1 answer" in output
    assert "skipped 1: a post that is not a question or answer: a tag wiki excerpt" in output
    assert "Math now contains 1 question, 1 answer." in output


def test_refused_import_creates_no_collection(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="neither XML nor"):
        output_of("import_collection", "math", write(tmp_path, "x.pdf", "%PDF"))

    assert not Collection.objects.exists()


def test_command_fails_with_the_error_of_the_import(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cut off"):
        output_of("import_collection", "math", write(tmp_path, "Posts.xml", many_posts(3)[:-5]))


def test_killed_command_continues_when_it_is_repeated(
    process_environment: dict[str, str], tmp_path: Path, settings: object
) -> None:
    settings.JOB_LOST_AFTER_SECONDS = 1  # type: ignore[attr-defined]
    path = write(tmp_path, "Posts.xml", many_posts(24_000))
    command = [sys.executable, "manage.py", "import_collection", "math", str(path)]
    with subprocess.Popen(
        command, env=process_environment, start_new_session=True, stderr=subprocess.DEVNULL
    ) as run:
        wait_until(
            lambda: Import.objects.filter(position__gt=3_000_000).exists(), reason="some chunks are imported"
        )
        os.killpg(run.pid, signal.SIGKILL)
    before = Import.objects.get()
    n_before = Document.objects.count()
    settings.HOST_NAME = "renamed"  # type: ignore[attr-defined]  # as a container that was created again

    output = output_of("import_collection", "math", path)

    assert not before.is_complete
    assert 0 < n_before < 24_000
    assert "math now contains 8,000 questions, 16,000 answers." in output
    assert Document.objects.count() == 24_000
    assert (Job.objects.get().attempt, Import.objects.count()) == (2, 1)
