"""Make `assay/samples/campaign.zip` again: the campaign of the sample files, as the site archives it.

    python -m maintenance.sample_archive

It starts an empty PostgreSQL of its own, runs the campaign with the services of the site, and archives the track.
"""

import csv
import os
import tempfile
from io import BytesIO
from pathlib import Path

from server import embedded, paths

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "assay" / "samples"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs under another account if this one is root
        var = Path(folder)
        os.environ |= {
            "ASSAY_VAR": folder,
            "DATABASE_URL": paths.database_url(var / "postgres"),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "LOG_LEVEL": "ERROR",
        }
        server = embedded.Postgres(var / "postgres")
        server.start()
        try:
            import django

            django.setup()
            from django.core.management import call_command

            from accounts.models import User
            from tracks.models import Organizer, Track
            from tracks.protocols import services as protocol_services
            from tracks.topics import services as topic_services
            from tracks.tracks import services as track_services

            call_command("migrate", verbosity=0)
            organizer = User.objects.create(username="organizer", is_staff=True)
            protocol = protocol_services.store(text=(SAMPLES / "protocol.toml").read_text(), by=organizer)
            track = Track.objects.create(
                slug="math-example",
                name="Math example",
                description="The campaign of the sample files of Assay.",
                protocol=protocol,
            )
            Organizer.objects.create(track=track, user=organizer)
            data = (SAMPLES / "topics.jsonl").read_bytes()
            topic_services.import_topics(track=track, data=data, name="topics.jsonl")
            track = track_services.open_for_runs(track=track)
            _submit(track, organizer)
            _judge(track, organizer)
            archive = SAMPLES / "campaign.zip"
            archive.unlink(missing_ok=True)
            call_command("archive_track", track.slug, str(archive), "--by", "organizer", "--names")
        finally:
            server.stop()


def _submit(track, organizer) -> None:  # type: ignore[no-untyped-def]  # Django is not set up when this is read
    from assay.formats.declaration import Declaration
    from participation.teams import services as team_services
    from pooling.runs import services as run_services

    with (SAMPLES / "manifest.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    teams = {
        name: team_services.create(track=track, name=name) for name in sorted({row["team"] for row in rows})
    }
    for row in rows:
        declared = Declaration(kind=row["kind"], tag=row["tag"], pooled_as=row["pooled_as"])
        with (SAMPLES / row["file"]).open("rb") as file:
            run_services.submit(
                track=track,
                team=teams[row["team"]],
                by=organizer,
                file=file,
                file_name=Path(row["file"]).name,
                declared=declared,
            )


def _judge(track, organizer) -> None:  # type: ignore[no-untyped-def]
    """Build the pool, judge it as ines did, freeze the qrels and score the runs."""
    from accounts.models import User
    from assessment.imports import services as import_services
    from jobs import services as jobs
    from pooling.pools import services as pool_services
    from scoring.leaderboards import services as leaderboard_services
    from scoring.qrels import services as qrels_services
    from tracks.assessors import services as assessor_services

    for name in ("ines", "marek"):
        assessor_services.add(track=track, user=User.objects.create(username=name))
    pool = pool_services.request(track=track, name="Pool", seed=7, depth={}, by=organizer)
    assert pool.job is not None
    jobs.run(pool.job.pk)
    data = (SAMPLES / "judgments.csv").read_bytes()
    names = {"ines": "ines", "marek": "marek"}
    import_services.import_file(
        track=track, name="judgments.csv", file=BytesIO(data), assessors=names, by=organizer
    )
    pool.refresh_from_db()
    qrels = qrels_services.freeze_judgments(pool=pool, by=organizer)
    board = leaderboard_services.request(qrels=qrels, by=organizer)
    assert board.job is not None
    jobs.run(board.job.pk)


if __name__ == "__main__":
    main()
