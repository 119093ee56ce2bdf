"""Backups and restores, and exports and imports of judgments: seconds and memory at growing numbers of rows."""

import csv
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from maintenance.benchmarks.harness import (
    ROOT,
    analyze,
    case,
    command,
    database,
    figure,
    make_pool,
    make_track,
)

MANAGE = [sys.executable, ROOT / "manage.py"]


@case
def backup(*, rows: tuple[int, ...] = (250_000, 1_000_000)) -> None:
    """Run `manage.py backup` and `restore`, compared with pg_dump and pg_restore of the same rows.

    Rows are as wide as posts. Both archives are compressed at level 1. pg_restore gets an empty database, and so does
    `manage.py restore`, which also runs the migrations. Peak memory is that of the command.
    """
    from server import paths

    programs = paths.postgres_binaries()
    assert programs is not None
    tool = programs / "bin"
    with database() as var:
        n_before = 0
        for n in sorted(rows):
            add_posts(n_before, n)
            n_before = n
            dump, archive = var / f"{n}.dump", var / f"{n}.zip"
            for name in ("by_us", "by_postgres"):
                words = [f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name}"]
                line = [str(tool / "psql"), "-q", "-d", url("assay"), "-c", words[0], "-c", words[1]]
                subprocess.run(line, check=True)
            ours = command([*MANAGE, "backup", archive])
            theirs = command([tool / "pg_dump", "-Fc", "-Z1", "-f", dump, url("assay")])
            sizes = f"{archive.stat().st_size / 1e6:.0f} MB, pg_dump's {dump.stat().st_size / 1e6:.0f} MB"
            memory = f"{ours.memory:.0f} MB of memory, pg_dump's {theirs.memory:.0f} MB"
            figure(
                f"backup of {n:,} rows",
                ours.seconds,
                "s",
                {"pg_dump": theirs.seconds},
                note=f"{sizes}; {memory}",
            )
            ours = command([*MANAGE, "restore", archive], DATABASE_URL=url("by_us"))
            theirs = command([tool / "pg_restore", "--no-owner", "-d", url("by_postgres"), dump])
            memory = f"{ours.memory:.0f} MB of memory, pg_restore's {theirs.memory:.0f} MB"
            figure(f"restore of {n:,} rows", ours.seconds, "s", {"pg_restore": theirs.seconds}, note=memory)


def url(name: str) -> str:
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()


def add_posts(n_before: int, n_rows: int) -> None:
    from django.db import connection

    from corpus.models import Collection

    collection, _ = Collection.objects.get_or_create(slug="big", defaults={"name": "Big", "hosts": []})
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO corpus_document "
            "(collection_id, docno, kind, thread, title, body, tags, accepted, author_code, author_name, language, "
            "source) "
            "SELECT %s, n, 'question', n, 'Title of post ' || n, "
            "(SELECT string_agg(md5((n * 40 + i)::text), ' ') FROM generate_series(1, 30) i), '{}', '', '', '', '', '' "
            "FROM generate_series(%s, %s) n",
            [collection.pk, n_before + 1, n_rows],
        )
    connection.close()


# -- judgments

PER_TOPIC = 1_000
TASKS = """
INSERT INTO assessment_topicassignment (batch_id, topic_id, assessor_id, is_withdrawn, seat, cursor)
SELECT {batch}, id, {assessor}, false, 1, 0 FROM tracks_topic WHERE track_id = {track};
INSERT INTO assessment_task (batch_id, entry_id, assessor_id, seat, is_check, "order", status, accepted_at, expires_at,
                             submitted_at, skip_reason)
SELECT {batch}, id, {assessor}, 1, false, 'random', 'submitted', now(), now(), now(), ''
FROM pooling_poolentry WHERE pool_id = {pool};
"""
JUDGMENTS = """
INSERT INTO assessment_judgment (task_id, batch_id, track_id, topic_id, docno, assessor_id, choice, grade, comment,
                                 follow_ups, "order", request_id, is_current, is_check, seconds, source, created_at,
                                 replaces_id)
SELECT task.id, {batch}, {track}, entry.topic_id, entry.docno, task.assessor_id, 'high', 3,
       'A remark of about a hundred characters, as assessors write it when a document is not easy to judge.',
       '{{}}', 'random', gen_random_uuid(), {is_current}, false, 31, 'assay', now(), {replaces}
FROM assessment_task task JOIN pooling_poolentry entry ON entry.id = task.entry_id
WHERE task.batch_id = {batch} {which} ORDER BY task.id
"""
PLAIN = """
import csv, os, django
django.setup()
from assessment.models import Judgment
rows = Judgment.objects.filter(track__slug={slug!r}).select_related("batch", "track", "topic", "assessor", "task")
with open(os.devnull, "w") as file:
    writer = csv.writer(file)
    for each in rows.order_by("pk").iterator(chunk_size=2000):
        writer.writerow([each.pk, each.track.slug, each.batch.name, each.topic.code, each.docno, each.choice,
                         each.assessor.username, each.grade, each.comment, each.seconds, each.created_at.isoformat(),
                         each.task.accepted_at.isoformat(), each.is_current, each.replaces_id])
"""


@case
def judgments(
    *, judgments: tuple[int, ...] = (100_000, 1_000_000), import_rows: tuple[int, ...] = (20_000, 100_000)
) -> None:
    """Export judgments as CSV and JSON and import them, compared with `csv` and model instances.

    A tenth of the judgments is revised. The peer writes the same number of lines with `csv` from instances that Django
    reads in chunks. An import takes the first judgments of the CSV file into an empty track with the same pool. Peak
    memory is that of the command, without PostgreSQL.
    """
    with database() as var:
        for n in sorted(judgments):
            path = export(n, var)
        for n in sorted(import_rows):
            part = var / f"import-{n}.csv"
            with path.open(encoding="utf-8-sig", newline="") as file, part.open("w", newline="") as target:
                csv.writer(target).writerows(islice(csv.reader(file), n + 1))
            judging_track(f"import-{n}", n // PER_TOPIC + 1)
            cost = command([*MANAGE, "import_judgments", f"import-{n}", part, "--by", "olga"])
            figure(f"import of {n:,} judgments, CSV", cost.seconds, note=f"{cost.memory:.0f} MB of memory")


def export(n: int, var: Path) -> Path:
    slug, path = f"of-{n}", var / f"{n}.csv"
    judge(*judging_track(slug, max(1, round(n / 1.1 / PER_TOPIC))))
    plain = command([sys.executable, "-c", PLAIN.format(slug=slug)])
    ours = command([*MANAGE, "export_judgments", slug, path, "--usernames"])
    lines = command([*MANAGE, "export_judgments", slug, var / f"{n}.jsonl", "--format", "jsonl"])
    note = f"{ours.memory:.0f} MB of memory, the peer's {plain.memory:.0f} MB"
    figure(
        f"export of {n:,} judgments, CSV", ours.seconds, "s", {"csv and instances": plain.seconds}, note=note
    )
    figure(f"export of {n:,} judgments, JSON", lines.seconds, note=f"{lines.memory:.0f} MB of memory")
    return path


def judging_track(slug: str, n_topics: int) -> tuple[int, int]:
    """The ids of a pool with a thousand units per topic, and of its assessor."""
    from django.db import connection

    from accounts.models import User
    from pooling.models import PoolEntry
    from tracks.models import Assessor

    track = make_track(slug, n_topics)
    assessor, _ = User.objects.get_or_create(username="assessor")
    Assessor.objects.create(track=track, user=assessor)
    pool, _ = make_pool(track, 0, name="Pool")
    for topic in track.topics.all():
        docnos = range(PER_TOPIC)
        PoolEntry.objects.bulk_create(
            PoolEntry(pool=pool, topic=topic, docno=f"d{n}", position=n) for n in docnos
        )
    connection.close()
    return pool.pk, assessor.pk


def judge(pool: int, assessor: int) -> None:
    """A judgment of every unit; a tenth of them is a revision."""
    from django.db import connection

    from assessment.models import Batch

    batch = Batch.objects.select_related("pool").create(pool_id=pool, name="Main")
    ids = {"batch": batch.pk, "pool": pool, "track": batch.pool.track_id, "assessor": assessor}
    is_tenth = "entry.position % 10 = 0"
    earlier = "(SELECT id FROM assessment_judgment earlier WHERE earlier.task_id = task.id)"
    with connection.cursor() as cursor:
        cursor.execute(TASKS.format(**ids))
        cursor.execute(JUDGMENTS.format(**ids, is_current=f"NOT {is_tenth}", replaces="NULL", which=""))
        cursor.execute("CREATE INDEX for_benchmark ON assessment_judgment (task_id)")
        analyze()
        cursor.execute(JUDGMENTS.format(**ids, is_current="true", replaces=earlier, which=f"AND {is_tenth}"))
        cursor.execute("DROP INDEX for_benchmark")
    analyze()
    connection.close()
