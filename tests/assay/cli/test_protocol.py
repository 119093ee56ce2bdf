"""`assay protocol`: the shipped protocols, and protocol files of your own."""

from pathlib import Path

import pytest

from assay import samples
from assay.cli.main import main
from assay.protocols.loader import shipped_slugs, shipped_text

Captured = pytest.CaptureFixture[str]


def test_list_has_slug_and_title_of_every_shipped_protocol(capsys: Captured) -> None:
    assert main(["protocol", "list"]) == 0

    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert [slug for slug, _ in lines] == shipped_slugs()
    assert all(title for _, title in lines)


def test_show_describes_a_protocol_in_words(capsys: Captured) -> None:
    assert main(["protocol", "show", "arqmath-2020-task1"]) == 0

    title, _, *facts = capsys.readouterr().out.splitlines()
    assert title.startswith("ARQMath")
    assert any(line.startswith("Pool: ") for line in facts)


def test_show_describes_a_file(capsys: Captured) -> None:
    assert main(["protocol", "show", str(samples.path("protocol.toml"))]) == 0

    assert capsys.readouterr().out.startswith("Answers to mathematical questions on math.example.org\n\n")


def test_show_states_how_each_set_of_qrels_gets_its_grades(tmp_path: Path, capsys: Captured) -> None:
    text = samples.path("arguments-lab.toml").read_text()
    only = 'key = "quality"\ntitle = "Quality"\nonly = ["relevant", "stance:pro"]\nmin_relevant = 3\n'
    path = tmp_path / "lab.toml"
    path.write_text(text.replace('key = "quality"\ntitle = "Quality"\n', only))

    assert main(["protocol", "show", str(path)]) == 0

    [qrels] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Qrels: ")]
    for words in (
        (
            "Quality from the question quality: 2 for High, 1 for Sufficient, 0 for Low, only if Relevant or “Which "
            "side does it take?” Pro; 0 for all others. They have no topic with fewer than 3 units of grade 1 or more."
        ),
        "Stance taken from the question stance: 1 for Pro, 1 for Con, 0 for Neutral; others are left out.",
        (
            "Good arguments for it: 2 if “Which side does it take?” Pro and “How well is it written?” High; "
            "1 if “Which side does it take?” Pro; 0 for all others."
        ),
    ):
        assert words in qrels


@pytest.mark.parametrize("slug", shipped_slugs())
def test_show_prints_the_toml_of_a_shipped_protocol(slug: str, capsys: Captured) -> None:
    assert main(["protocol", "show", slug, "--toml"]) == 0

    assert capsys.readouterr().out == shipped_text(slug)


def test_show_prints_the_toml_of_a_file(capsys: Captured) -> None:
    path = samples.path("protocol.toml")

    assert main(["protocol", "show", str(path), "--toml"]) == 0

    assert capsys.readouterr().out == path.read_text()


def test_check_accepts_a_copy_of_a_shipped_protocol(tmp_path: Path, capsys: Captured) -> None:
    copy = tmp_path / "copy.toml"
    copy.write_text(shipped_text("trec-adhoc"))

    assert main(["protocol", "check", str(copy)]) == 0

    assert capsys.readouterr().out.startswith(f"{copy}: no errors (")


def test_check_names_what_is_wrong_and_checks_every_file(tmp_path: Path, capsys: Captured) -> None:
    good, unknown, broken = (tmp_path / f"{name}.toml" for name in ("good", "unknown", "broken"))
    text = shipped_text("trec-adhoc")
    good.write_text(text)
    unknown.write_text(text.replace("[pool]", "[pool]\ndepht = 3"))
    broken.write_text("title = \n")

    status = main(["protocol", "check", str(unknown), str(broken), str(good)])

    captured = capsys.readouterr()
    assert status == 2
    assert captured.out.startswith(f"{good}: no errors (")
    first, second = captured.err.splitlines()
    assert first.startswith("assay protocol check: unknown.toml: line 27: pool.depht: ")
    assert "depth" in first
    assert second.startswith("assay protocol check: broken.toml: ")


@pytest.mark.parametrize("action", ["show", "check"])
@pytest.mark.parametrize("name", ["none", "none.toml", "runs.csv", "."])
def test_a_protocol_that_does_not_exist_is_one_line(
    action: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    (tmp_path / "runs.csv").write_text("file,team\n")
    monkeypatch.chdir(tmp_path)

    assert main(["protocol", action, name]) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"assay protocol {action}: no protocol '{name}'; ")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("name", ["none", "none.toml"])
def test_the_toml_of_a_protocol_that_does_not_exist_is_one_line(name: str, capsys: Captured) -> None:
    assert main(["protocol", "show", name, "--toml"]) == 2

    assert capsys.readouterr().err.count("\n") == 1


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "latin.toml"
    path.write_bytes(b'title = "\xe9"\n')

    assert main(["protocol", "check", str(path)]) == 2

    assert "not UTF-8 (byte 10)" in capsys.readouterr().err
