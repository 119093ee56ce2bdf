from django.db import migrations

# `assay.allow_truncate` is a parameter of a session; only the tests set it, because they empty all tables.
REFUSE_TRUNCATE = """
CREATE FUNCTION assessment_refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(current_setting('assay.allow_truncate', true), '') <> 'on' THEN
        RAISE EXCEPTION 'table % is kept: its rows are never deleted', TG_TABLE_NAME
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON assessment_judgment
    FOR EACH STATEMENT EXECUTE FUNCTION assessment_refuse_truncate();
"""
ALLOW_TRUNCATE = """
DROP TRIGGER refuse_truncate ON assessment_judgment;
DROP FUNCTION assessment_refuse_truncate();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("assessment", "0001_initial"),
    ]

    operations = [
        migrations.RunSQL(REFUSE_TRUNCATE, ALLOW_TRUNCATE),
    ]
