"""Formulas may be in a document that is not part of a thread."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("corpus", "0006_forum_posts")]

    operations = [
        migrations.AlterField(
            model_name="formula",
            name="place",
            field=models.SmallIntegerField(
                choices=[(0, "title"), (1, "question"), (2, "answer"), (3, "comment"), (4, "document")]
            ),
        ),
    ]
