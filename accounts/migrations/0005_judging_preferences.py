from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0004_logins"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="grade_submits",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="A grade submits, where nothing else is asked.",
                verbose_name="a grade submits",
            ),
        ),
        migrations.AddField(
            model_name="user",
            name="shows_time_left",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text="The judging page shows the time left for a task.",
                verbose_name="time left",
            ),
        ),
    ]
