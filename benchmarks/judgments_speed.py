"""Seconds and memory of `manage.py export_judgments` and `import_judgments`, at growing numbers of judgments.

    python benchmarks/judgments_speed.py [--judgments 100000 1000000] [--import-rows 20000 100000]

The script stores judgments in a durable PostgreSQL in a temporary folder, a tenth of them revised, and exports them as
CSV and as lines of JSON. The comparison writes the same number of lines with `csv` from model instances that Django
reads in chunks, as the export of a batch did before. An import takes the first judgments of the CSV file into an empty
track with the same pool. Peak memory is that of the command, without PostgreSQL.
"""

import argparse
import csv
import sys
import tempfile
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from backup_speed import Cost, cost
from import_speed import database

PER_TOPIC = 1_000
ASSESSORS = 20
TRACK = """
INSERT INTO tracks_topic (track_id, code, title, body, narrative, tags, labels, formula_id, latex, thread)
SELECT {track}, 'T.' || n, '', '', '', '{{}}', '{{}}', '', '', '' FROM generate_series(1, {topics}) n;
INSERT INTO pooling_poolentry (pool_id, topic_id, docno, position)
SELECT {pool}, topic.id, 'd' || n, n FROM tracks_topic topic, generate_series(1, {per_topic}) n
WHERE topic.track_id = {track};
"""
TASKS = """
INSERT INTO assessment_topicassignment (batch_id, topic_id, assessor_id, is_withdrawn, seat, cursor)
SELECT {batch}, id, {first} + (id % {assessors}), false, 1, 0 FROM tracks_topic WHERE track_id = {track};
INSERT INTO assessment_task (batch_id, entry_id, assessor_id, seat, is_check, "order", status, accepted_at, expires_at,
                             submitted_at, skip_reason)
SELECT {batch}, id, {first} + (topic_id % {assessors}), 1, false, 'random', 'submitted', now(), now(), now(), ''
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


def make_track(slug: str, n_topics: int) -> dict[str, int]:
    """A track with a pool of a thousand units per topic, and its assessors."""
    from django.db import connection

    from accounts.models import User
    from assay.protocols.loader import parse_protocol, shipped_text
    from pooling.models import Pool
    from tracks.models import Assessor, StoredProtocol, Track

    text = shipped_text("arqmath-2020-task1")
    parsed = parse_protocol(text, name="arqmath-2020-task1.toml")
    fields = {"title": parsed.title, "text": text, "digest": parsed.digest}
    protocol, _ = StoredProtocol.objects.get_or_create(slug="arqmath-2020-task1", defaults=fields)
    olga, _ = User.objects.get_or_create(username="olga", defaults={"is_staff": True})
    users = [User.objects.get_or_create(username=f"assessor{n:02}")[0] for n in range(ASSESSORS)]
    track = Track.objects.create(slug=slug, name=slug, protocol=protocol)
    Assessor.objects.bulk_create(Assessor(track=track, user=user) for user in users)
    pool = Pool.objects.create(
        track=track, name="Pool", protocol=protocol, seed=1, status="ready", created_by=olga
    )
    ids = {"track": track.pk, "pool": pool.pk, "topics": n_topics, "per_topic": PER_TOPIC}
    with connection.cursor() as cursor:
        cursor.execute(TRACK.format(**ids))
    return ids | {"first": users[0].pk, "assessors": ASSESSORS}


def judge(ids: dict[str, int]) -> None:
    """A judgment of every unit; a tenth of them is a revision."""
    from django.db import connection

    from assessment.models import Batch

    ids["batch"] = Batch.objects.create(pool_id=ids["pool"], name="Main").pk
    is_tenth = "entry.position % 10 = 0"
    earlier = "(SELECT id FROM assessment_judgment earlier WHERE earlier.task_id = task.id)"
    with connection.cursor() as cursor:
        cursor.execute(TASKS.format(**ids))
        cursor.execute(JUDGMENTS.format(**ids, is_current=f"NOT {is_tenth}", replaces="NULL", which=""))
        cursor.execute("ANALYZE assessment_judgment, assessment_task, pooling_poolentry")
        cursor.execute("CREATE INDEX for_benchmark ON assessment_judgment (task_id)")
        cursor.execute(JUDGMENTS.format(**ids, is_current="true", replaces=earlier, which=f"AND {is_tenth}"))
        cursor.execute("DROP INDEX for_benchmark")
        cursor.execute("ANALYZE")
    connection.close()


def shown(words: str, n: int, each: Cost) -> None:
    print(
        f"{n:>9,}  {words:<24} {each.seconds:6.1f} s, {n / each.seconds:9,.0f} per second, {each.megabytes:5.0f} MB"
    )


def measure_export(n: int, folder: Path) -> Path:
    slug = f"of-{n}"
    judge(make_track(slug, max(1, round(n / 1.1 / PER_TOPIC))))
    manage = [sys.executable, Path(__file__).resolve().parents[1] / "manage.py"]
    path = folder / f"{n}.csv"
    costs = {
        "export, CSV": cost([*manage, "export_judgments", slug, path, "--usernames"]),
        "export, lines of JSON": cost([*manage, "export_judgments", slug, folder / f"{n}.jsonl", "--format", "jsonl"]),
        "plain csv and instances": cost([sys.executable, "-c", PLAIN.format(slug=slug)]),
    }  # fmt: skip
    for words, each in costs.items():
        shown(words, n, each)
    ratio = costs["export, CSV"].seconds / costs["plain csv and instances"].seconds
    print(f"{n:>9,}  export/plain = {ratio:.2f}")
    return path


def measure_import(n: int, path: Path, folder: Path) -> None:
    slug, part = f"import-{n}", folder / f"import-{n}.csv"
    with path.open(encoding="utf-8-sig", newline="") as file, part.open("w", newline="") as target:
        reader, writer = csv.reader(file), csv.writer(target)
        writer.writerows(islice(reader, n + 1))
    make_track(slug, n // PER_TOPIC + 1)
    manage = [sys.executable, Path(__file__).resolve().parents[1] / "manage.py"]
    shown("import, CSV", n, cost([*manage, "import_judgments", slug, part, "--by", "olga"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--judgments", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--import-rows", type=int, nargs="*", default=[20_000, 100_000])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)
        with database(folder):
            paths = [measure_export(n, folder) for n in sorted(options.judgments)]
            for n in sorted(options.import_rows):
                measure_import(n, paths[-1], folder)


if __name__ == "__main__":
    main()
