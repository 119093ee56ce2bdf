from django.db import migrations

KEEP_QRELS = """
CREATE FUNCTION scoring_keep_qrels() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'qrels % are kept: a change is a new version', OLD.qrels_id
        USING ERRCODE = 'integrity_constraint_violation';
END
$$;
CREATE TRIGGER keep_qrels BEFORE UPDATE OR DELETE ON scoring_qrelsentry
    FOR EACH ROW EXECUTE FUNCTION scoring_keep_qrels();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON scoring_qrelsentry
    FOR EACH STATEMENT EXECUTE FUNCTION assessment_refuse_truncate();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON scoring_qrels
    FOR EACH STATEMENT EXECUTE FUNCTION assessment_refuse_truncate();
"""
STOP_KEEPING = """
DROP TRIGGER refuse_truncate ON scoring_qrels;
DROP TRIGGER refuse_truncate ON scoring_qrelsentry;
DROP TRIGGER keep_qrels ON scoring_qrelsentry;
DROP FUNCTION scoring_keep_qrels();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("assessment", "0002_refuse_truncate"),
        ("scoring", "0002_measure_statistics"),
    ]

    operations = [
        migrations.RunSQL(KEEP_QRELS, STOP_KEEPING),
    ]
