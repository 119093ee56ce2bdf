"""Refusals of the commands of a track. `tests/test_program.py` has a whole campaign by commands."""

from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tests.scoring.conftest import Scene

BY = ["--by", "olga"]


REFUSALS = (
    (["freeze_qrels", "none", "--pool", "Pool", *BY], "There is no track none"),
    (["freeze_qrels", "arq", "--pool", "Pool", "--by", "mia"], "There is no organizer mia"),
    (["freeze_qrels", "arq", "--pool", "None", *BY], "ARQ has no pool named None"),
    (["freeze_qrels", "arq", "--pool", "Pool 1", *BY], "judg"),
    (["score_runs", "arq", *BY], "ARQ has no qrels"),
    (["score_runs", "arq", "--version-of-qrels", "9", *BY], "ARQ has no version 9 of qrels"),
    (["release_leaderboard", "arq", "public", *BY], "ARQ has no leaderboard"),
    (["release_leaderboard", "arq", "public", "--leaderboard", "9", *BY], "ARQ has no leaderboard 9"),
    (["track_status", "none", "open"], "There is no track none"),
    (["create_track", "x", "--name", "X", "--protocol", "none", *BY], "There is no protocol none"),
    (["create_track", "x", "--name", "X", "--protocol", "no.toml", *BY], "no.toml cannot be read"),
    (
        ["create_track", "arq", "--name", "X", "--protocol", "arqmath-2020-task1", *BY],
        "Another track has this short name",
    ),
    (
        [
            "create_track",
            "x",
            "--name",
            "X",
            "--protocol",
            "arqmath-2020-task1",
            "--collection",
            "no",
            *BY,
        ],
        "There is no collection no",
    ),
    (["add_people", "arq", "no.txt", *BY], "no.txt cannot be read"),
    (["add_people", "arq", "{bad}", *BY], "line 1|e-mail"),
)


def test_commands_say_what_is_wrong(scene: Scene, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text("Pat; no address; assessor\n")

    for words, reason in REFUSALS:
        with pytest.raises(CommandError, match=reason):
            call_command(*[str(bad) if word == "{bad}" else word for word in words])
