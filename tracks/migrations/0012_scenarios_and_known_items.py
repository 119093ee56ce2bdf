"""Scenario and criteria of a topic; and its known item, which was its formula id until now and visible to everyone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracks", "0011_assessors_end")]

    operations = [
        migrations.AddField(
            model_name="topic",
            name="scenario",
            field=models.TextField(blank=True, db_default="", help_text="Who asks, and what for."),
        ),
        migrations.AddField(
            model_name="topic",
            name="criteria",
            field=models.TextField(blank=True, db_default="", help_text="What makes a document relevant."),
        ),
        migrations.AddField(
            model_name="topic",
            name="known_item",
            field=models.TextField(
                blank=True,
                db_collation="C",
                db_default="",
                help_text="Of a known-item task: docno of the only relevant document. Only organizers see it.",
            ),
        ),
        migrations.RunSQL(
            """
            UPDATE tracks_topic topic SET known_item = formula_id
            FROM tracks_track track JOIN tracks_storedprotocol protocol ON protocol.id = track.protocol_id
            WHERE topic.track_id = track.id AND protocol.text ~ 'strategy *= *"known-item"'
            """,
            migrations.RunSQL.noop,
        ),
    ]
