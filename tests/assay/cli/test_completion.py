"""`assay completion`: what real shells complete."""

import subprocess
from pathlib import Path

import pytest

from assay.cli.main import COMMANDS, main

COMPLETE = """\
source ./assay.bash
COMP_WORDS=({words}) COMP_CWORD={index}
_assay
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder with the script of bash and a file."""
    main(["completion", "bash"])
    (tmp_path / "assay.bash").write_text(capsys.readouterr().out)
    (tmp_path / "runs.tsv").touch()
    return tmp_path


def completed(folder: Path, *words: str) -> list[str]:
    """The completions that bash offers for the last word."""
    quoted = " ".join(f"'{word}'" for word in words)
    script = COMPLETE.format(words=quoted, index=len(words) - 1)
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands(folder: Path) -> None:
    assert completed(folder, "assay", "") == list(COMMANDS)
    assert completed(folder, "assay", "pre") == ["preview", "preferences"]
    assert completed(folder, "assay", "x") == []


def test_bash_completes_options_of_the_command(folder: Path) -> None:
    assert completed(folder, "assay", "evaluate", "--q") == ["--qrels", "--quiet"]
    assert completed(folder, "assay", "tiers", "run.tsv", "--pe") == ["--permutations"]
    assert completed(folder, "assay", "evaluate", "--pairs") == []


def test_bash_completes_files(folder: Path) -> None:
    assert completed(folder, "assay", "evaluate", "ru") == ["runs.tsv"]
    assert completed(folder, "assay", "trec_eval", "-q", "ru") == ["runs.tsv"]


def test_bash_completes_actions(folder: Path) -> None:
    assert completed(folder, "assay", "qrels", "sp") == ["split"]
    assert completed(folder, "assay", "protocol", "s") == ["schema", "show"]
    assert completed(folder, "assay", "completion", "z") == ["zsh"]


def test_bash_registers_the_completion(folder: Path) -> None:
    done = subprocess.run(
        ["bash", "--norc", "-c", "source ./assay.bash; complete -p assay"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "complete -o filenames -F _assay assay\n"


def test_zsh_uses_the_completion_of_bash(capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "zsh"])
    zsh = capsys.readouterr().out
    main(["completion", "bash"])

    assert zsh.endswith(capsys.readouterr().out)
    assert "bashcompinit" in zsh


def test_fish_completes_commands_options_and_actions(capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "fish"])

    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("complete -c assay -n ") for line in lines)
    assert (
        "complete -c assay -n __fish_use_subcommand -a tiers -d 'rank runs, with confidence intervals and tiers'"
        in lines
    )
    assert "complete -c assay -n '__fish_seen_subcommand_from evaluate' -l qrels" in lines
    assert "complete -c assay -n '__fish_seen_subcommand_from qrels' -a anonymize" in lines


def test_other_shells_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["completion", "tcsh"])

    assert ended.value.code == 2
    assert "assay completion: argument shell: invalid choice: 'tcsh'" in capsys.readouterr().err
