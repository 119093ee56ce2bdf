"""`manage.py import_collection` and `manage.py import_topics`: the same services, from the command line."""

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
from tests.helpers.factories import make_topic, make_track
from tracks.models import Track

pytestmark = pytest.mark.django_db(transaction=True)


def called(*arguments: object) -> str:
    out = StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=StringIO())
    return out.getvalue()


def test_command_makes_the_collection_and_says_what_came_of_it(tmp_path: Path) -> None:
    write(tmp_path, "Posts.xml", dump("posts", question(1), answer(2, 1), row(Id=9, PostTypeId=4)))

    said = called(
        "import_collection", "math", tmp_path, "--name", "Math", "--host", "math.stackexchange.com"
    )

    collection = Collection.objects.get(slug="math")
    assert (collection.name, collection.hosts) == ("Math", ["math.stackexchange.com"])
    assert collection.status == Collection.Status.READY
    assert "Posts.xml: 1 question, 1 answer" in said
    assert "skipped 1: a post that is no question or answer: a tag wiki excerpt" in said
    assert "Math now holds 1 question, 1 answer." in said


def test_refused_import_leaves_no_collection(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="neither XML nor"):
        called("import_collection", "math", write(tmp_path, "x.pdf", "%PDF"))

    assert not Collection.objects.exists()


def test_failed_import_is_the_commands_error(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cut off"):
        called("import_collection", "math", write(tmp_path, "Posts.xml", many_posts(3)[:-5]))


def test_killed_command_goes_on_when_it_is_given_again(
    process_environment: dict[str, str], tmp_path: Path, settings: object
) -> None:
    settings.JOB_LOST_AFTER_SECONDS = 1  # type: ignore[attr-defined]
    path = write(tmp_path, "Posts.xml", many_posts(24_000))
    command = [sys.executable, "manage.py", "import_collection", "math", str(path)]
    with subprocess.Popen(
        command, env=process_environment, start_new_session=True, stderr=subprocess.DEVNULL
    ) as run:
        wait_until(lambda: Import.objects.filter(position__gt=3_000_000).exists(), what="the import gets on")
        os.killpg(run.pid, signal.SIGKILL)
    before = Import.objects.get()
    in_between = Document.objects.count()

    said = called("import_collection", "math", path)

    assert not before.is_complete
    assert 0 < in_between < 24_000
    assert "math now holds 8,000 questions, 16,000 answers." in said
    assert Document.objects.count() == 24_000
    assert (Job.objects.get().attempt, Import.objects.count()) == (2, 1)


def test_topics_by_command(tmp_path: Path) -> None:
    track = make_track(status=Track.Status.DRAFT)
    topics = write(tmp_path, "t.jsonl", '{"code": "T.1", "title": "x"}\n')
    labels = write(tmp_path, "l.json", '{"T.1": {"Category": "Proof"}}')

    assert "1 topic: 1 new" in called("import_topics", track.slug, topics)
    assert "1 topic labeled." in called("import_topics", track.slug, labels, "--labels")
    assert track.topics.get().labels == {"category": "proof"}


def test_topics_command_says_what_is_wrong(tmp_path: Path) -> None:
    track = make_track()
    make_topic(track)
    topics = write(tmp_path, "t.jsonl", '{"code": "T.1"}\n')

    with pytest.raises(CommandError, match="no track nowhere"):
        called("import_topics", "nowhere", topics)
    with pytest.raises(CommandError, match="cannot be read"):
        called("import_topics", track.slug, tmp_path / "none.xml")
    with pytest.raises(CommandError, match="do not change any more"):
        called("import_topics", track.slug, topics)
