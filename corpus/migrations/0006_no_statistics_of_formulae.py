"""No statistics of the formulae themselves: nothing is searched by them, and comparing long texts takes long.

Each import analyses its tables, and so does the server meanwhile. `-1` is what columns have otherwise.
"""

from django.db import migrations

_COLUMN = "ALTER TABLE {} ALTER COLUMN {} SET STATISTICS {}"
COLUMNS = (("corpus_formulamathml", "content"), ("corpus_formula", "latex"))


class Migration(migrations.Migration):
    dependencies = [
        ("corpus", "0005_assessor_groups"),
    ]

    operations = [
        migrations.RunSQL(_COLUMN.format(table, column, 0), _COLUMN.format(table, column, -1))
        for table, column in COLUMNS
    ]
