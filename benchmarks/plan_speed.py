"""Seconds to share the topics of a batch, to show its plan, and to preview a change.

    python benchmarks/plan_speed.py [--topics 100] [--assessors 40] [--units 200]

Each unit has two judges. To compare the sharing with other code, copy this file into a checkout of it.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.judging_speed import make_pool, prepare
from server import embedded


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--assessors", type=int, default=40)
    parser.add_argument("--units", type=int, default=200, help="of each topic")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-plan-") as folder:
        var = Path(folder)
        var.chmod(0o711)
        server = embedded.Postgres(var / "postgres")
        server.start()
        try:
            prepare(var)
            measure(arguments)
        finally:
            server.stop()


def measure(arguments: argparse.Namespace) -> None:
    from django.test import Client
    from django.urls import reverse

    from accounts.models import User
    from assessment.assignments import services as assignment_services

    batch, people = make_draft(arguments)
    timed("share the topics", lambda: assignment_services.share(batch=batch, assessors=people))
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.create(username="organizer", is_staff=True))
    address = reverse("assessment:plan", args=[batch.pk])
    client.get(address)
    timed("show the plan", lambda: client.get(address))
    fields = {"action": "take", "person": people[0].pk, "heirs": [user.pk for user in people[1:]]}
    timed("preview taking everything from one person", lambda: client.post(address, fields))


def make_draft(arguments: argparse.Namespace) -> tuple[Any, list[Any]]:
    """A draft of a main batch, with the assessors of its track."""
    from assessment.batches import services as batch_services
    from pooling.models import PoolEntry
    from tracks.models import Assessor, StoredProtocol

    pool, people, topics = make_pool(max(arguments.topics, arguments.assessors))
    topics, people = topics[: arguments.topics], people[: arguments.assessors]
    Assessor.objects.exclude(user__in=people).delete()
    text = pool.protocol.text.replace("judges = 1", "judges = 2")
    StoredProtocol.objects.filter(pk=pool.protocol_id).update(text=text)
    pool.refresh_from_db()
    PoolEntry.objects.bulk_create(
        PoolEntry(pool=pool, topic=topic, docno=f"{topic.pk}-{n}", position=n)
        for topic in topics
        for n in range(arguments.units)
    )
    return batch_services.create(pool=pool, name="Plan", by=None), people


def timed(label: str, call: Callable[[], object]) -> None:
    start = time.perf_counter()
    call()
    print(f"{time.perf_counter() - start:8.2f} s  {label}")


if __name__ == "__main__":
    main()
