"""Moves the statistics of each measure out of the leaderboards, which every page of scores loads.

The way back puts the same values into the leaderboards again. Nothing is lost in either direction.
"""

from typing import Any

import django.contrib.postgres.fields
import django.db.models.deletion
import numpy as np
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from assay.statistics.significance import PairTest, packed_pairs, unpacked_pairs
from assay.statistics.tukey import letters, tiers


def split(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    boards = apps.get_model("scoring", "Leaderboard").objects
    rows = apps.get_model("scoring", "MeasureStatistics").objects
    for pk in list(boards.order_by("pk").values_list("pk", flat=True)):
        board = boards.get(pk=pk)
        by_measure = board.statistics.pop("measures", {})
        rows.bulk_create(
            rows.model(leaderboard_id=pk, measure=measure, **_columns(values))
            for measure, values in by_measure.items()
        )
        boards.filter(pk=pk).update(statistics=board.statistics)


def _columns(values: dict[str, Any]) -> dict[str, Any]:
    test = PairTest.from_json(values["tukey"]) if values["tukey"] else None
    n_runs = len(values["low"])
    return {
        "low": values["low"],
        "high": values["high"],
        "tier": letters(tiers(test), n_runs) if test else [""] * n_runs,
        "means": test.means.tolist() if test else [],
        "critical": test.critical if test else None,
        "n_permutations": test.n_permutations if test else 0,
        "pairs": packed_pairs(test.p) if test else None,
    }


def join(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    boards = apps.get_model("scoring", "Leaderboard").objects
    rows = apps.get_model("scoring", "MeasureStatistics").objects
    for pk in list(boards.order_by("pk").values_list("pk", flat=True)):
        board = boards.get(pk=pk)
        if "level" not in board.statistics:  # no run or no topic was scored
            continue
        measures = {row.measure: _as_json(row, board.seed) for row in rows.filter(leaderboard_id=pk)}
        boards.filter(pk=pk).update(statistics={**board.statistics, "measures": measures})


def _as_json(row: Any, seed: int) -> dict[str, Any]:
    values = {"low": row.low, "high": row.high, "tukey": None}
    if row.pairs is not None:
        means = np.array(row.means, dtype=np.float64)
        p = unpacked_pairs(bytes(row.pairs), len(means))
        test = PairTest("tukey", means, p, p, row.n_permutations, seed, critical=row.critical)
        values["tukey"] = test.as_json()
    return values


class Migration(migrations.Migration):

    keeps_data = True  # also when it is reversed

    dependencies = [("scoring", "0001_initial")]

    operations = [
        migrations.AlterField(
            model_name='leaderboard',
            name='statistics',
            field=models.JSONField(default=dict, help_text='What the statistics of all measures share, and the evaluations in the order of their arrays.'),
        ),
        migrations.CreateModel(
            name='MeasureStatistics',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('measure', models.CharField(max_length=50)),
                ('low', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), size=None)),
                ('high', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), size=None)),
                ('tier', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), help_text='Runs that share a letter do not differ significantly.', size=None)),
                ('means', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), help_text='Over the topics of the test; empty without a test.', size=None)),
                ('critical', models.FloatField(help_text='Larger differences of means are significant at 0.05.', null=True)),
                ('n_permutations', models.PositiveIntegerField(help_text='0 without a test.')),
                ('pairs', models.BinaryField(help_text='p-values of all pairs, from packed_pairs of the library; empty without a test.', null=True)),
                ('leaderboard', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='by_measure', to='scoring.leaderboard')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('leaderboard', 'measure'), name='measure_statistics_unique')],
            },
        ),
        migrations.RunPython(split, join),
    ]
