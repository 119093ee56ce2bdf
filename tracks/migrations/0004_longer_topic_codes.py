from django.db import migrations, models

NATURAL = (
    r"regexp_replace(regexp_replace(code, '([0-9]+)', '00000000000000000000\1', 'g'), '[0-9]*([0-9]{20})', '\1', 'g')"
)


def drop_natural_code(apps, schema_editor):
    schema_editor.execute("ALTER TABLE tracks_topic DROP COLUMN natural_code")


def add_natural_code(apps, schema_editor):
    schema_editor.execute(
        f'ALTER TABLE tracks_topic ADD COLUMN natural_code text COLLATE "C" GENERATED ALWAYS AS ({NATURAL}) STORED'
    )


class Migration(migrations.Migration):
    """PostgreSQL does not change a column from which another one is generated, so that one is made again.

    All of it is one transaction: the previous release never sees the table without it.
    """

    dependencies = [("tracks", "0003_code_names")]

    operations = [
        migrations.RunPython(drop_natural_code, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="topic",
            name="code",
            field=models.CharField(db_collation="C", max_length=400),
        ),
        migrations.RunPython(add_natural_code, migrations.RunPython.noop),
    ]
