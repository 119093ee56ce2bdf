"""Posts of a forum keep their source."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("corpus", "0005_images")]

    operations = [
        migrations.AlterField(
            model_name="document",
            name="kind",
            field=models.CharField(
                choices=[
                    ("question", "question"),
                    ("answer", "answer"),
                    ("document", "document"),
                    ("thread", "thread"),
                    ("post", "post"),
                ],
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="document",
            name="source",
            field=models.TextField(
                blank=True,
                db_default="",
                help_text=(
                    "Of a post of a forum: what its file contains between its tags, of which citations count characters."
                ),
            ),
        ),
    ]
