from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("assessment", "0011_machine_batches"),
    ]

    operations = [
        migrations.AddField(
            model_name="task",
            name="return_reason",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Why an organizer returned the task after it was submitted.",
                max_length=500,
            ),
        ),
    ]
