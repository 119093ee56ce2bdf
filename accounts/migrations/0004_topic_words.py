"""Each user chooses whether the judging page highlights the words of the topic."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_judging_settings")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="highlights_topic_words",
            field=models.BooleanField(
                default=False, help_text="The judging page highlights the words of the topic in the document."
            ),
        ),
    ]
