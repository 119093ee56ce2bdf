"""The database itself refuses to delete a judgment, or to change anything of it but that it is no longer current."""

from django.db import migrations

CREATE = """
CREATE FUNCTION assessment_keep_judgment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'judgment % is kept: judgments are never deleted', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.is_current OR (to_jsonb(NEW) - 'is_current') IS DISTINCT FROM (to_jsonb(OLD) - 'is_current') THEN
        RAISE EXCEPTION 'judgment % is kept: a change is a new judgment that replaces it', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER keep_judgment BEFORE UPDATE OR DELETE ON assessment_judgment
    FOR EACH ROW EXECUTE FUNCTION assessment_keep_judgment();
"""
DROP = """
DROP TRIGGER keep_judgment ON assessment_judgment;
DROP FUNCTION assessment_keep_judgment();
"""


class Migration(migrations.Migration):
    dependencies = [("assessment", "0001_initial")]

    operations = [migrations.RunSQL(CREATE, DROP)]
