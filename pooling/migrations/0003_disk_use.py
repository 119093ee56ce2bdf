"""The disk use of each run and the limit of each team. Runs that exist get the sizes of their files."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def measure(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    runs = apps.get_model("pooling", "Run").objects
    for run in runs.only("original", "columns").order_by("pk").iterator():
        try:
            n_bytes = run.original.size + run.columns.size
        except OSError:  # a file that is missing uses nothing
            continue
        runs.filter(pk=run.pk).update(n_bytes=n_bytes)


class Migration(migrations.Migration):
    dependencies = [
        ("pooling", "0002_state_label"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="n_bytes",
            field=models.PositiveBigIntegerField(default=0, help_text="Of both files in the storage."),
        ),
        migrations.AddField(
            model_name="team",
            name="max_megabytes",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="In megabytes, for all runs of the team, also withdrawn ones. Empty: the limit of the site.",
                null=True,
                verbose_name="disk limit",
            ),
        ),
        migrations.RunPython(measure, migrations.RunPython.noop),
    ]
