"""Seconds and memory of `manage.py backup` and `restore`, compared with pg_dump and pg_restore of the same rows.

    python benchmarks/backup_speed.py [--rows 250000 1000000]

For each size the script stores rows as wide as posts, in a durable PostgreSQL in a temporary folder. Both archives are
compressed at level 1. Peak memory is that of the command. pg_restore gets an empty database, and so does
`manage.py restore`, which also runs the migrations; both create the indexes and foreign keys after the rows.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from import_speed import database

POSTS = """
    INSERT INTO corpus_document
           (collection_id, docno, kind, thread, title, body, tags, accepted, author_code, author_name)
    SELECT {collection}, n, 'question', n, 'Title of post ' || n,
           (SELECT string_agg(md5((n * 40 + i)::text), ' ') FROM generate_series(1, 30) i), '{{}}', '', '', ''
    FROM generate_series({first}, {last}) n
"""


POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Cost:
    seconds: float
    megabytes: float


def cost(command: Sequence[object], **environment: str) -> Cost:
    """Run a command; its time, and the most memory that it had."""
    begin, most = time.perf_counter(), 0.0
    process = subprocess.Popen(
        [str(word) for word in command], env=os.environ | environment, stdout=sys.stderr
    )
    while process.poll() is None:
        most = max(most, peak_of(process.pid))
        time.sleep(POLL_SECONDS)
    if process.returncode:
        raise SystemExit(f"{command[0]} failed")
    return Cost(time.perf_counter() - begin, most)


def peak_of(number: int) -> float:
    """Peak memory of a running process in MB. Unlike that of `wait4`, it does not begin with this script's own."""
    lines = Path(f"/proc/{number}/status").read_text().splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def url_of(name: str) -> str:
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()


def add_posts(n_before: int, n_rows: int) -> None:
    from django.db import connection

    from corpus.models import Collection

    collection, _ = Collection.objects.get_or_create(slug="big", defaults={"name": "Big", "hosts": []})
    with connection.cursor() as cursor:
        cursor.execute(POSTS.format(collection=collection.pk, first=n_before + 1, last=n_rows))
    connection.close()


def measure(n_rows: int, folder: Path) -> None:
    from server import paths

    programs = paths.postgres_binaries()
    assert programs is not None
    tool = programs / "bin"
    manage = [sys.executable, paths.ROOT / "manage.py"]
    dump, archive = folder / f"{n_rows}.dump", folder / f"{n_rows}.zip"
    for name in ("by_us", "by_postgres"):
        subprocess.run([str(tool / "psql"), "-q", "-d", url_of("assay"), "-c", f"DROP DATABASE IF EXISTS {name}",
                        "-c", f"CREATE DATABASE {name}"], check=True)  # fmt: skip
    costs = {
        "backup": cost([*manage, "backup", archive]),
        "pg_dump": cost([tool / "pg_dump", "-Fc", "-Z1", "-f", dump, url_of("assay")]),
        "restore": cost([*manage, "restore", archive], DATABASE_URL=url_of("by_us")),
        "pg_restore": cost([tool / "pg_restore", "--no-owner", "-d", url_of("by_postgres"), dump]),
    }
    sizes = {"backup": archive.stat().st_size, "pg_dump": dump.stat().st_size}
    for name, each in costs.items():
        size = f", {sizes[name] / 1e6:.0f} MB" if name in sizes else ""
        print(
            f"{n_rows:>9,} rows  {name:<10} {each.seconds:6.1f} s, {each.megabytes:4.0f} MB of memory{size}"
        )
    for ours, theirs in (("backup", "pg_dump"), ("restore", "pg_restore")):
        print(f"{n_rows:>9,} rows  {ours}/{theirs} = {costs[ours].seconds / costs[theirs].seconds:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[250_000, 1_000_000])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)
        with database(folder):
            n_before = 0
            for n_rows in sorted(options.rows):
                add_posts(n_before, n_rows)
                n_before = n_rows
                measure(n_rows, folder)


if __name__ == "__main__":
    main()
