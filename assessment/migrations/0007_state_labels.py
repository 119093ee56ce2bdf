"""Call the states of batches and tasks "state", as all pages do. The database does not change."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("assessment", "0006_hidden_checks")]

    operations = [
        migrations.AlterField(
            model_name="batch",
            name="status",
            field=models.CharField(
                "state",
                choices=[("draft", "draft"), ("open", "open"), ("closed", "closed")],
                default="draft",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="task",
            name="status",
            field=models.CharField(
                "state",
                choices=[
                    ("accepted", "accepted"),
                    ("expired", "expired"),
                    ("skipped", "skipped"),
                    ("submitted", "submitted"),
                ],
                default="accepted",
                max_length=10,
            ),
        ),
    ]
