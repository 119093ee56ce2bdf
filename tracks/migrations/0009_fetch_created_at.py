import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    """The column keeps its name, because the previous release uses it while this one is installed."""

    dependencies = [("tracks", "0008_skipped_points")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("fetch", "fetched_at", "created_at"),
                migrations.AlterField(
                    "fetch",
                    "created_at",
                    models.DateTimeField(db_column="fetched_at", db_default=django.db.models.functions.datetime.Now()),
                ),
            ]
        )
    ]
