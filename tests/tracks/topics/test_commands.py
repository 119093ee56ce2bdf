"""`manage.py import_topics`."""

from pathlib import Path

import pytest
from django.core.management import CommandError

from tests.corpus.imports.test_commands import output_of
from tests.helpers.dumps import write
from tests.helpers.factories import make_topic, make_track
from tracks.models import Track

pytestmark = pytest.mark.django_db


def test_command_imports_topics_and_labels(tmp_path: Path) -> None:
    track = make_track(status=Track.Status.DRAFT)
    topics = write(tmp_path, "t.jsonl", '{"code": "T.1", "title": "x"}\n')
    labels = write(tmp_path, "l.json", '{"T.1": {"Category": "Proof"}}')

    assert "1 topic: 1 new" in output_of("import_topics", track.slug, topics)
    assert "1 topic labeled." in output_of("import_topics", track.slug, labels, "--labels")
    assert track.topics.get().labels == {"category": "proof"}


def test_command_reports_the_error(tmp_path: Path) -> None:
    track = make_track()
    make_topic(track)
    topics = write(tmp_path, "t.jsonl", '{"code": "T.1"}\n')

    with pytest.raises(CommandError, match="no track nowhere"):
        output_of("import_topics", "nowhere", topics)
    with pytest.raises(CommandError, match="cannot be read"):
        output_of("import_topics", track.slug, tmp_path / "none.xml")
    with pytest.raises(CommandError, match="only the topics of a draft can change"):
        output_of("import_topics", track.slug, topics)
