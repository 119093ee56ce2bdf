"""Nothing is rewritten at the end of an import: accepted answers are known from their questions, votes from their job."""

from django.db import migrations, models

ACCEPTED = """
    UPDATE corpus_document answer SET is_accepted = true FROM corpus_document question
    WHERE question.accepted <> '' AND answer.collection_id = question.collection_id
    AND answer.docno = question.accepted AND answer.thread = question.docno AND answer.kind = 'answer'
"""
OTHER_VOTES = """
    DELETE FROM corpus_votecount USING corpus_document document, corpus_collection collection
    WHERE document.id = document_id AND collection.id = document.collection_id AND counted_by <> votes_counted_by
"""


class Migration(migrations.Migration):
    dependencies = [("corpus", "0001_initial")]

    operations = [
        migrations.RunSQL(migrations.RunSQL.noop, ACCEPTED),
        migrations.RemoveField("document", "is_accepted"),
        migrations.RunSQL("DELETE FROM corpus_votecount WHERE n = 0", migrations.RunSQL.noop),
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.RemoveConstraint("votecount", "vote_type_unique"),
        migrations.RemoveField("votecount", "n_counting"),
        migrations.AddField(
            "collection",
            "votes_counted_by",
            models.BigIntegerField(
                default=0, editable=False, help_text="The job whose counts of votes are valid."
            ),
        ),
        migrations.AddField(
            "votecount",
            "counted_by",
            models.BigIntegerField(default=0, editable=False, help_text="The job that counted the votes."),
        ),
        migrations.RunSQL(migrations.RunSQL.noop, OTHER_VOTES),
        migrations.AddConstraint(
            "votecount",
            models.UniqueConstraint(
                fields=["document", "vote_type", "counted_by"], name="vote_type_unique"
            ),
        ),
    ]
