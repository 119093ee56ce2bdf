"""The previous release can live with the tables of this one. `test_program.py` runs one on those of a next one."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, models
from django.db.migrations import Migration
from django.db.migrations import operations as ops
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ModelState, ProjectState

from config import settings
from maintenance.benchmarks import harness
from maintenance.upgrades import problems
from server.paths import ROOT


def migration(*operations: Any, **attributes: Any) -> Migration:
    made = Migration("0002_new", "jobs")
    made.operations = list(operations)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def before() -> ProjectState:
    """The models before that migration: a job with a title."""
    state = ProjectState()
    fields = [
        ("id", models.BigAutoField(primary_key=True)),
        ("title", models.CharField(max_length=200, null=True)),
        ("total", models.IntegerField(db_default=0)),
    ]
    state.add_model(ModelState("jobs", "Job", fields))
    return state


def test_every_migration_can_be_applied_while_the_previous_release_runs(db: None) -> None:
    """Mark the second step of a change that takes two by `second_step = True`, and say which release was the first."""
    loader = MigrationLoader(connection)
    own = [each for each in loader.disk_migrations.values() if each.app_label in settings.OWN_APPS]

    breaking = [
        problem
        for each in own
        if not each.initial
        for problem in problems(each, loader.project_state((each.app_label, each.name), at_end=False))
    ]

    assert breaking == []


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (ops.RemoveField("Job", "title"), "still uses it"),
        (ops.RenameField("Job", "title", "name"), "still uses it"),
        (ops.DeleteModel("Job"), "still uses it"),
        (ops.AddField("Job", "name", models.CharField(max_length=9, default="")), "stores rows without it"),
        (ops.AlterField("Job", "title", models.CharField(max_length=200)), "no longer accepts null"),
        (ops.AlterField("Job", "title", models.CharField(max_length=99, null=True)), "at most 99 characters"),
        (ops.AlterField("Job", "title", models.IntegerField(null=True)), "from CharField to IntegerField"),
        (ops.AlterField("Job", "total", models.IntegerField()), "relies on the default of the database"),
        (ops.AlterField("Job", "total", models.IntegerField(db_default=0, unique=True)), "becomes unique"),
        (ops.RunSQL("SELECT 1"), "nobody can tell"),
        (
            ops.AddConstraint(
                "Job", models.CheckConstraint(condition=models.Q(total__gte=0), name="positive")
            ),
            "may store rows that break it",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, ops.base.Operation) else None,
)
def test_what_the_previous_release_cannot_bear_is_named_until_it_is_a_second_step(
    operation: Any, reason: str
) -> None:
    (problem,) = problems(migration(operation), before())

    assert "jobs.0002_new" in problem
    assert reason in problem
    assert problems(migration(operation, second_step=True), before()) == []


@pytest.mark.parametrize(
    "operations",
    [
        [ops.AddField("Job", "name", models.CharField(max_length=9, null=True))],
        [ops.AddField("Job", "name", models.CharField(max_length=9, db_default=""))],
        [ops.AlterField("Job", "title", models.TextField(null=True))],
        [
            ops.CreateModel("Note", [("id", models.BigAutoField(primary_key=True))]),
            ops.AddField("Note", "text", models.TextField()),
        ],
    ],
)
def test_what_only_adds_is_accepted(operations: Iterator[Any]) -> None:
    assert problems(migration(*operations), before()) == []


def run(*arguments: str) -> str:
    command = [sys.executable, "-m", "maintenance.benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_every_case_is_in_the_readme() -> None:
    listed = {line.split()[0] for line in run("--list").splitlines()}

    table = re.findall(
        r"^\| `([\w-]+)", (ROOT / "maintenance/benchmarks/README.md").read_text(), re.MULTILINE
    )

    assert listed == set(table)


def test_small_case_prints_its_figures_and_their_ratio_to_a_peer() -> None:
    output = run("significance", "--runs", "3", "--topics", "10", "--repeats", "1", "--permutations", "100")

    assert re.search(r"paired randomization, 3 pairs .* SciPy .* ratio [\d.]+", output)
    assert "of 3 pairs by the randomized test" in output


def test_ratio_above_one_means_that_ours_is_better(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(harness.FIGURES, str(tmp_path / "figures"))

    harness.figure("pooling", 2, "s", {"peer": 3})
    harness.figure("judging", 2, "judgments/s", {"peer": 1})

    assert re.findall(r"ratio ([\d.]+)", capsys.readouterr().out) == ["1.50", "2.00"]
    lines = (tmp_path / "figures").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [["pooling", 2], ["judging", 2]]
