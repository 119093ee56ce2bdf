"""Battles: ratings equal those of arena-rank, errors those of the formula, and files come back as they were."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from assay import samples
from assay.cli.main import main
from assay.errors import InputError
from assay.protocols.loader import parse_protocol
from assay_extensions.battles.drawing import draw, on_sides
from assay_extensions.battles.ratings import rate
from assay_extensions.battles.records import Battle, as_arena, as_ragdoll, as_tsv, read_battles

SAMPLE = str(samples.path("battles.tsv"))
CONNECTED = ["small", "eight", "no_tie"]


def battles(data: Path, name: str) -> list[Battle]:
    return read_battles((data / f"judges/battles/{name}.tsv").read_text(), name).battles


def answers_of(data: Path, name: str) -> dict[str, Any]:
    answers: dict[str, Any] = json.loads((data / "judges/battles/answers.json").read_text())[name]
    return answers


@pytest.mark.parametrize("name", CONNECTED)
def test_ratings_are_those_of_arena_rank_with_errors_by_topic(data: Path, name: str) -> None:
    known = answers_of(data, name)
    exact, arena = known["own_exact"], known["arena_rank"]
    [by_topic], [by_battle] = rate(battles(data, name)).groups, rate(battles(data, name), by="battle").groups

    for n, system in enumerate(sorted(exact)):
        assert by_topic.rating(n).value == pytest.approx(exact[system]["rating"], abs=1e-6)
        assert by_topic.rating(n).value == pytest.approx(arena[system]["rating"], abs=1e-3)
        assert by_battle.rating(n).error == pytest.approx(exact[system]["se_by_battle"], rel=1e-6)
        assert by_topic.rating(n).error == pytest.approx(
            exact[system]["se_by_topic_T_over_T_minus_1"], rel=1e-6
        )


@pytest.mark.parametrize("name", CONNECTED)
def test_difference_has_an_interval_of_its_own(data: Path, name: str) -> None:
    board = rate(battles(data, name), by="battle")
    [group], systems = board.groups, board.outcomes.systems

    for pair, known in answers_of(data, name)["own_differences"].items():
        difference = group.difference(*(systems.index(system) for system in pair.split(" - ")))
        assert difference.value == pytest.approx(known["difference"], abs=1e-6)
        assert difference.error == pytest.approx(known["se_by_battle"], rel=1e-6)


def test_wins_of_each_pair_are_counted(data: Path) -> None:
    board = rate(battles(data, "eight"))

    for pair, known in answers_of(data, "eight")["pairs"].items():
        first, second = (board.outcomes.systems.index(system) for system in pair.split(" / "))
        assert board.outcomes.wins[first, second] == known["first_wins"] + known["ties"] / 2


def test_system_that_never_lost_has_no_rating_unless_there_is_a_prior(data: Path) -> None:
    """arena-rank gives it 3869 with an interval of 0.002 each way."""
    given = battles(data, "never_lost")
    board, regular = rate(given), rate(given, prior=0.5)

    assert board.unrated == ["A"]
    assert math.isnan(board.groups[1].rating(0).value)
    [group] = regular.groups
    assert 1000 < group.rating(0).value < 2000
    assert group.rating(0).error > 1


def test_groups_that_never_met_have_ratings_of_their_own(data: Path) -> None:
    board = rate(battles(data, "two_islands"), by="battle")
    arena = answers_of(data, "two_islands")["arena_rank"]

    assert [[board.outcomes.systems[n] for n in group.members] for group in board.groups] == [
        ["A", "B", "C"],
        ["D", "E", "F"],
    ]
    for group in board.groups:
        for n, place in enumerate(group.members):
            known = arena[board.outcomes.systems[place]]["rating"]
            assert group.rating(n).value == pytest.approx(known, abs=1e-3)


def test_sides_are_those_of_ragdoll_for_sorted_systems(data: Path) -> None:
    rows = (data / "judges/battles/sides.tsv").read_text().splitlines()[1:]
    assert len(rows) == 24
    for row in rows:
        seed, first, second, topic, left, right = row.split("\t")
        assert on_sides(first, second, topic=topic, seed=seed) == (left, right), row


@pytest.mark.parametrize(("write", "has_assessors"), [(as_tsv, True), (as_ragdoll, True), (as_arena, False)])
def test_written_battles_are_read_back(write: Any, has_assessors: bool) -> None:
    given = [
        Battle("t1", "a", "b", "model_a", "ada"),
        Battle("t1", "b", "a", "tie", "bob"),
        Battle("t2", "a", "c", "both_bad", "ada"),
        Battle("t2", "a", "c", "model_b", "ada"),
    ]

    read = read_battles(write(given), "battles").battles

    assert read == (given if has_assessors else [each._replace(topic="", assessor="") for each in given])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "battles, line 1: the column model_a must be named once"),
        ("model_a\tmodel_b\twinner\n", "battles: it has no battles"),
        (
            "model_a,model_b,winner\na,b,A\n",
            "battles, line 2: winner is 'A'; expected model_a, model_b, tie, both_bad",
        ),
        ("model_a,model_b,winner\na,a,tie\n", "battles, line 2: a is on both sides"),
        (
            "model_a,model_b,winner\na,b\n",
            "battles, line 2: its number of columns differs from the first line",
        ),
        ('{"qid": "1"}\n[1]\n', "battles, line 1: model_a is empty"),
        ('{"judge_verdict": "A"\n', "battles, line 1: it is not a JSON object"),
    ],
)
def test_wrong_file_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_battles(text, "battles")

    assert str(error.value).startswith(message)


def test_failed_battles_are_counted_apart() -> None:
    failed = as_ragdoll([Battle("t1", "a", "b", "tie")]).replace("completed", "failed")

    read = read_battles(as_ragdoll([Battle("t1", "a", "b", "model_b")]) + failed, "battles")

    assert (len(read.battles), read.n_failed) == (1, 1)


def test_drawn_battles_connect_all_systems_of_a_topic() -> None:
    names = [f"s{n}" for n in range(7)]

    drawn = draw({"t1": names, "t2": names[:2], "t3": names[:1]}, per_system=4, seed="1")

    assert [sum(battle.topic == topic for battle in drawn) for topic in ("t1", "t2", "t3")] == [14, 1, 0]
    assert len({frozenset(battle[1:]) for battle in drawn if battle.topic == "t1"}) == 14
    assert {name for battle in drawn[:7] for name in battle[1:]} == set(names)
    assert drawn == draw({"t1": names, "t2": names[:2]}, per_system=4, seed="1")


def test_pairs_in_doubt_are_drawn_first(data: Path) -> None:
    board = rate(battles(data, "eight"))
    names = board.outcomes.systems

    def extra(chosen: Any) -> set[frozenset[str]]:
        return {frozenset(battle[1:]) for battle in draw({"t": names}, per_system=3, seed="1", board=chosen)}

    added = extra(board) - {frozenset(battle[1:]) for battle in draw({"t": names}, per_system=2, seed="1")}
    assert len(added) == 4
    assert frozenset(("S1", "S8")) not in added  # 268 points apart
    assert added != extra(None)


def lines_of(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> list[str]:
    assert main(["battles", *words]) == status
    return capsys.readouterr().out.splitlines()


def test_board_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    board = lines_of(capsys, "board", SAMPLE, "--table", "board")
    by_battle = lines_of(capsys, "board", SAMPLE, "--table", "board", "--by", "battle")
    consistent = lines_of(capsys, "board", SAMPLE, "--table", "consistency", "--format", "json")

    assert board[-4].split("\t")[:4] == ["lynx", "1", "1099.2712", "25.1977"]
    assert by_battle[-4].split("\t")[:4] == ["lynx", "1", "1099.2712", "49.2024"]
    assert json.loads("".join(consistent))["consistency"][0]["battles"] == 60


def test_board_says_what_it_cannot_rate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = [("t1", "a", "b"), ("t1", "b", "c"), ("t1", "c", "b"), ("t2", "a", "c"), ("t2", "b", "c")]
    never_lost, apart = tmp_path / "never_lost.tsv", tmp_path / "apart.tsv"
    never_lost.write_text(as_tsv([Battle(*row, "model_a") for row in rows]))
    pairs = [("t1", "a", "b"), ("t2", "b", "a"), ("t1", "c", "d"), ("t2", "d", "c")]
    apart.write_text(as_tsv([Battle(*pair, "model_a") for pair in pairs]))

    assert main(["battles", "board", str(never_lost), "--table", "board"]) == 0
    assert "both above and below them, by wins or ties: a; --prior 0.5 gives one" in capsys.readouterr().err
    assert main(["battles", "board", str(never_lost), "--prior", "0.5"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["battles", "board", str(apart)]) == 0
    assert "2 groups of systems that cannot be compared" in capsys.readouterr().err
    (tmp_path / "b.csv").write_text("model_a,model_b,winner\na,b,tie\n")
    assert main(["battles", "board", str(tmp_path / "b.csv")]) == 2
    assert "no battle has its topic; use --by battle" in capsys.readouterr().err
    assert main(["battles", "board", SAMPLE, "--prior", "-1"]) == 2


def test_battles_of_runs_are_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = []
    for name in "ab":
        files.append(str(tmp_path / f"{name}.jsonl"))
        Path(files[-1]).write_text(
            json.dumps({"run_id": name, "topic_id": "T1"})
            + "\n"
            + json.dumps({"metadata": {"run_id": name, "narrative_id": "T2"}})
            + "\n"
        )

    drawn = lines_of(capsys, "draw", *files)

    assert drawn[0] == "topic\tmodel_a\tmodel_b"
    assert [line.split("\t")[0] for line in drawn[1:]] == ["T1", "T2"]
    (tmp_path / "judged.tsv").write_text(
        as_tsv([Battle("T1", "a", "owls", "tie"), Battle("T2", "a", "b", "tie")])
    )
    assert main(["battles", "draw", *files, "--after", str(tmp_path / "judged.tsv")]) == 0
    assert "without an answer in the runs, which change nothing: owls\n" in capsys.readouterr().err
    assert main(["battles", "draw", files[0]]) == 2
    assert "no topic has the answers of two systems" in capsys.readouterr().err
    assert main(["battles", "draw", files[0], files[0]]) == 2
    assert "line 1: a answers T1 in" in capsys.readouterr().err


def test_battles_are_converted(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(capsys, "convert", SAMPLE, "--to", "arena")

    assert lines[:2] == ["model_a,model_b,winner", "moth,otter,model_a"]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("target = 6", "", "pool.target: the strategy battles needs a number of units above 0"),
        ("target = 6", "target = 6\n[pool.pairs]\nselection = 'all'", "pool.pairs: has no effect on battles"),
        ('"bradley-terry"', '"copeland"', "'copeland' needs 'bradley-terry' or 'votes'"),
        (
            'strategy = "battles"',
            'strategy = "answers"',
            "'answers' does not fit unit = 'generated-answer'; use battles",
        ),
        ("depth = 1", "", "the strategy battles needs a depth above 0"),
    ],
)
def test_protocol_of_battles_is_checked(old: str, new: str, complaint: str) -> None:
    text = samples.path("battles-lab.toml").read_text()
    assert old in text

    with pytest.raises(InputError, match=re.escape(complaint)):
        parse_protocol(text.replace(old, new), name="lab.toml")


def test_systems_of_a_tier_do_not_differ() -> None:
    strong = [Battle(f"t{n}", "good", name, "model_a") for n in range(40) for name in ("bad", "worse")]
    strong += [Battle(f"t{n}", "bad", "good", "model_a") for n in range(2)]
    even = [Battle(f"t{n}", "bad", "worse", "model_a" if n % 2 else "model_b") for n in range(40)]
    [group] = rate([*strong, *even]).groups

    by_name = dict(zip(("bad", "good", "worse"), group.tiers(), strict=True))

    assert by_name == {"good": "a", "bad": "b", "worse": "b"}


def test_errors_are_undefined_if_all_topics_are_alike() -> None:
    circle = [("a", "b"), ("b", "c"), ("c", "a")]
    board = rate([Battle(topic, *pair, "model_a") for topic in ("t1", "t2") for pair in circle])

    [group] = board.groups
    assert group.rating(0).value == pytest.approx(1000)
    assert math.isnan(group.rating(0).error)
    assert group.tiers() == ["", "", ""]
