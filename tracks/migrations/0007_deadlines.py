"""Deadlines by kind of run. The closing time of a track becomes its deadline for all kinds, in UTC."""

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def move(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    tracks = apps.get_model("tracks", "Track").objects.filter(closes_at__isnull=False)
    deadlines = apps.get_model("tracks", "Deadline").objects
    deadlines.bulk_create(
        deadlines.model(track_id=pk, kind="", closes_at=closes_at)
        for pk, closes_at in tracks.values_list("pk", "closes_at")
    )


def move_back(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """A track becomes as it was; what it could not store, such as the deadline of a kind, must be deleted first."""
    deadlines = apps.get_model("tracks", "Deadline").objects
    more = deadlines.exclude(kind="", opens_at__isnull=True, grace_minutes=0)
    if more.exists():
        raise migrations.exceptions.IrreversibleError(
            f"{more.count()} deadlines have an opening time, a grace period or a kind of run. Delete those first."
        )
    for deadline in deadlines.filter(closes_at__isnull=False):
        apps.get_model("tracks", "Track").objects.filter(pk=deadline.track_id).update(
            closes_at=deadline.closes_at
        )


class Migration(migrations.Migration):
    keeps_data = True

    dependencies = [
        ("tracks", "0006_machines"),
    ]

    operations = [
        migrations.CreateModel(
            name="Deadline",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(blank=True, max_length=20)),
                ("opens_at", models.DateTimeField(blank=True, null=True)),
                ("closes_at", models.DateTimeField(blank=True, null=True)),
                (
                    "grace_minutes",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="Runs are accepted for this long after the closing time, and marked as late.",
                    ),
                ),
                ("zone", models.CharField(default="UTC", max_length=64)),
                (
                    "track",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="deadlines", to="tracks.track"
                    ),
                ),
            ],
            options={
                "ordering": ["kind"],
                "constraints": [
                    models.UniqueConstraint(fields=("track", "kind"), name="deadline_unique"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("opens_at__isnull", True),
                            ("closes_at__isnull", True),
                            ("closes_at__gt", models.F("opens_at")),
                            _connector="OR",
                        ),
                        name="deadline_closes_after_it_opens",
                    ),
                ],
            },
        ),
        migrations.RunPython(move, move_back),
        migrations.RemoveField(model_name="track", name="closes_at"),
    ]
