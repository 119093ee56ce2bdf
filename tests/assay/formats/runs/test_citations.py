"""Citations against the posts that they cite, by the command `assay check`, on the sample files."""

from pathlib import Path

import pytest

from assay import samples
from assay.cli.main import main

RUN = samples.path("runs/bolt-owls.xml").read_text()
OWL = 'thread="bolt-eng-DF-1-101" post="p2" offset="80" length="27">I love the song of the owl.'


def checked(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    run = tmp_path / "run.xml"
    run.write_text(text)
    posts = str(samples.path("bolt-threads.xml"))

    status = main(["check", "--protocol", "bolt-ir-p3", "--posts", posts, str(run)])

    return status, capsys.readouterr().out


def test_the_sample_cites_what_its_posts_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """English with entities and tags inside, and translations from Arabic and Chinese."""
    status, printed = checked(tmp_path, RUN, capsys)

    assert status == 0
    assert "accepted, 0 errors, 0 warnings" in printed


@pytest.mark.parametrize(
    ("new", "message", "note"),
    [
        (OWL.replace("p2", "p9"), "line 4: the post is not in the collection", "bolt-eng-DF-1-101:p9"),
        (
            OWL.replace('"80"', '"250"'),
            "line 4: the citation is not inside its post",
            "characters 250 to 276 of a post of 221",
        ),
        (
            OWL.replace('"80"', '"81"'),
            "line 4: the passage differs from its post",
            "the post has “love the song of the owl.”",
        ),
        (
            OWL.replace("love", "like"),
            "line 4: the passage differs from its post",
            "I love the song of the owl.",
        ),
    ],
)
def test_wrong_spans_and_texts_are_errors_with_their_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], new: str, message: str, note: str
) -> None:
    status, printed = checked(tmp_path, RUN.replace(OWL, new), capsys)

    assert status == 1
    assert message in printed
    assert note in printed


def test_original_is_the_text_of_the_post_in_any_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    passage, words = "Owls eat rats, which is good for the warehouse.", "猫头鹰吃老鼠，对仓库很好。"
    element = f"<relspan>{passage}</relspan><original> {words}\n</original>"

    status, _ = checked(tmp_path, RUN.replace(passage, element), capsys)
    assert status == 0
    status, _ = checked(tmp_path, RUN.replace('length="13">', f'length="13" original="{words}">'), capsys)
    assert status == 0
    status, printed = checked(tmp_path, RUN.replace(passage, element.replace("老鼠", "米饭")), capsys)
    assert status == 1
    assert "line 13: the original differs from its post" in printed
    assert f"the post has “{words}”" in printed


def test_white_space_counts_once_and_a_translation_is_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = RUN.replace("I love the song", "I love\n   the song").replace("I am afraid", "He is afraid")

    assert checked(tmp_path, text, capsys)[0] == 0


def test_a_file_that_is_not_a_forum_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "posts.xml"
    wrong.write_text("<html/>")

    assert main(["check", "--protocol", "bolt-ir-p3", "--posts", str(wrong), str(wrong)]) == 2
    assert "posts.xml: The file is a web page." in capsys.readouterr().err
