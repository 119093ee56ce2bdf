"""Votes on pairs of documents: their files, the pairs to judge next, and the values of documents."""

from itertools import combinations
from math import isnan
from pathlib import Path

import numpy as np
import pytest

from assay import samples
from assay.cli.main import main
from assay.errors import InputError
from assay.pools.next_pairs import Tournament, all_pairs, candidates, n_wins
from assay.preferences.values import Comparisons
from assay.preferences.votes import TIE, Vote, parse_votes, read_votes

QRELS, VOTES = str(samples.path("qrels.txt")), str(samples.path("votes.txt"))


def votes_of(text: str) -> list[Vote]:
    """Votes on topic 1 such as `a>b`, `a=b` (a tie) and `a-b` (both are useless), with the first on the left."""
    winners = {">": 0, "=": None, "-": None}
    votes = []
    for word in text.split():
        first, sign, second = tuple(word)
        winner = first if winners[sign] == 0 else {"=": "tie", "-": "bad"}[sign]
        votes.append(Vote("1", first, second, winner))
    return votes


def judged(pairs: list[tuple[str, str]], topic: str = "1") -> list[Vote]:
    """Votes of somebody who prefers the greater docno."""
    return [Vote(topic, left, right, max(left, right)) for left, right in pairs]


class TestVotes:
    def test_each_wrong_line_is_named(self) -> None:
        text = "1 a b a\n1 a a a\n1 a b c\n1 a\n\n# a note\n1 tie b b\n1 a b b ann\n1 a b a ann\n"

        with pytest.raises(InputError) as error:
            parse_votes(text, "votes.txt")

        assert str(error.value).splitlines() == [
            "votes.txt, line 2: a is on both sides",
            "votes.txt, line 3: c is not preferred to anything: use a, b, tie or bad",
            "votes.txt, line 4: expected topic, left, right, preferred document and perhaps assessor, got 2 columns",
            "votes.txt, line 7: tie and bad cannot be names of documents",
            "votes.txt, line 9: ann voted on a and b in line 8 already",
        ]

    def test_several_votes_on_a_pair_without_assessors_are_those_of_several_people(self) -> None:
        votes = parse_votes("1 a b a\n1 b a a\n1 a b b\n1 a c a\n2 a b a\n", "votes.txt")

        assert [vote.assessor for vote in votes] == ["1", "2", "3", "1", "1"]

    def test_a_file_without_votes_is_refused(self) -> None:
        with pytest.raises(InputError, match="it has no votes"):
            parse_votes("# nothing yet\n", "votes.txt")

    def test_the_other_order_is_another_vote(self) -> None:
        assert len(parse_votes("1 a b a\n1 b a a\n1 a b a ann\n", "votes.txt")) == 3


class TestPairs:
    def test_candidates_are_the_best_and_those_level_with_the_last(self) -> None:
        assert candidates({"a": 1, "b": 3, "c": 2, "d": 2, "e": 0}, 2) == ["b", "c", "d"]
        assert candidates({"a": 0}, 2) == []

    def test_each_document_meets_enough_others_and_none_twice(self) -> None:
        grades = {f"d{n:02}": 1 for n in range(30)}

        plan = Tournament(seed=3).plan("1", grades, [])

        n_partners = {docno: sum(docno in pair for pair in plan.pairs) for docno in grades}
        assert not plan.is_last
        assert set(n_partners.values()) <= {7, 8}
        assert len({frozenset(pair) for pair in plan.pairs}) == len(plan.pairs)

    def test_pairs_and_sides_follow_from_the_seed(self) -> None:
        grades = {f"d{n:02}": 1 for n in range(30)}

        first, again, other = (Tournament(seed=seed).plan("1", grades, []).pairs for seed in (3, 3, 4))

        assert first == again
        assert {frozenset(pair) for pair in first} != {frozenset(pair) for pair in other}
        assert 0 < sum(left < right for left, right in first) < len(first)

    def test_rounds_follow_until_the_best_are_known(self) -> None:
        grades, tournament = {f"d{n:02}": 1 for n in range(30)}, Tournament()
        votes: list[Vote] = []
        rounds: list[int] = []
        while (plan := tournament.plan("1", grades, votes)).pairs:
            rounds.append(len(plan.remaining))
            votes += judged(plan.pairs)

        new = tournament.grades("1", grades, votes)

        assert plan.is_last
        assert rounds[0] == 30
        assert sorted(rounds, reverse=True) == rounds
        assert rounds[-1] <= 9 or len(rounds) > 1
        assert sorted(new, key=new.__getitem__)[-5:] == ["d25", "d26", "d27", "d28", "d29"]
        assert sum(grade > 100 for grade in new.values()) == 5
        assert len(votes) < 30 * 29 / 2 / 2

    def test_grades_stay_until_every_pair_of_the_last_round_is_judged(self) -> None:
        grades = dict.fromkeys("abc", 1)
        votes = votes_of("a>b b>c")

        assert Tournament().grades("1", grades, votes) == grades
        assert Tournament().grades("1", grades, [*votes, Vote("1", "a", "c", TIE)]) == {
            "a": 102,
            "b": 102,
            "c": 101,
        }

    def test_a_round_that_removes_nobody_is_the_end(self) -> None:
        grades = {f"d{n:02}": 1 for n in range(12)}
        tournament = Tournament()
        ties = [Vote("1", left, right, TIE) for left, right in tournament.plan("1", grades, []).pairs]

        plan = tournament.plan("1", grades, ties)

        assert plan.is_stuck
        assert not plan.pairs
        assert tournament.grades("1", grades, ties) == grades

    def test_more_votes_win_a_pair(self) -> None:
        assert n_wins(votes_of("a>b b>a a>b c=a"), [("a", "b"), ("a", "c")]) == {"a": 1}

    def test_all_pairs_without_a_vote(self) -> None:
        pairs = all_pairs("1", ["a", "b", "c"], votes_of("b>a"), seed=1)

        assert {frozenset(pair) for pair in pairs} == {frozenset("ac"), frozenset("bc")}


class TestValues:
    def test_bradley_terry_values_are_those_of_choix(self) -> None:
        """Made with choix 0.4.1, ilsr_pairwise_dense(wins, tol=1e-14); a tie is half a win for each."""
        strengths = Comparisons(votes_of("a>b b>c c>a a>d d>b c=d a>b")).strengths()

        assert strengths.log == pytest.approx([0.7563076126, -0.7563076126, 0, 0], abs=1e-9)
        assert not strengths.is_regularized

    def test_interval_of_two_documents_is_that_of_their_odds(self) -> None:
        """log(s_a / s_b) = log 3, with the variance 1/3 + 1/1; each document has half of it."""
        strengths = Comparisons(votes_of("a>b a>b a>b b>a")).strengths()

        half = 1.959963984540054 * (1 / 3 + 1) ** 0.5 / 2
        assert strengths.log == pytest.approx([np.log(3) / 2, -np.log(3) / 2])
        assert strengths.high - strengths.log == pytest.approx([half, half])

    def test_a_document_that_never_loses_has_a_finite_value(self) -> None:
        strengths = Comparisons(votes_of("a>b a>c b>c c>b")).strengths()

        assert strengths.is_regularized
        assert np.isfinite(strengths.high).all()
        assert strengths.log.argmax() == 0

    def test_copeland_counts_pairs_and_needs_all_of_a_document(self) -> None:
        assert Comparisons(votes_of("a>b b>a a>b a=c b-c")).copeland().tolist() == [1.5, 0.0, 0.5]
        assert np.isnan(Comparisons(votes_of("a>b b>c")).copeland()).tolist() == [True, False, True]

    def test_circular_triads_are_those_of_kendall(self) -> None:
        """Two circles among five documents; at most (125 - 5) / 24 = 5."""
        comparisons = Comparisons(votes_of("a>b b>c c>a a>d b>d c>d d>e a>e b>e e>c"))
        wins = np.nan_to_num(comparisons.outcomes == 1).sum(axis=1)

        consistency = comparisons.consistency()

        assert consistency.circular == 5 * 4 * 9 / 12 - (wins**2).sum() / 2
        assert consistency.circular == 3
        assert consistency.zeta == pytest.approx(1 - 3 / 5)
        assert (consistency.judged, consistency.pairs, consistency.triads) == (10, 10, 10)

    def test_zeta_needs_every_pair_decided(self) -> None:
        assert isnan(Comparisons(votes_of("a>b b>c a=c")).consistency().zeta)

    def test_repeats_in_the_other_order_are_compared(self) -> None:
        votes = [*votes_of("a>b b>c c>a"), Vote("1", "b", "a", "a"), Vote("1", "c", "b", "c")]

        consistency = Comparisons(votes).consistency()

        assert (consistency.repeated, consistency.repeated_alike) == (2, 1)
        assert consistency.left == pytest.approx(4 / 5)


class TestCommand:
    def test_pairs_are_judged_until_qrels_have_winners(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        votes = tmp_path / "votes.txt"
        votes.write_text("")
        assert main(["preferences", "pairs", "--qrels", QRELS]) == 0
        printed = capsys.readouterr()
        pairs = [tuple(line.split("\t")) for line in printed.out.splitlines()]
        assert "A.1: round 1 (the last), 4 documents, 6 pairs to judge" in printed.err
        assert {topic for topic, *_ in pairs} == {"A.1", "A.2", "A.3", "A.4", "A.5"}
        votes.write_text(
            "".join(f"{topic} {left} {right} {max(left, right)}\n" for topic, left, right in pairs)
        )

        assert main(["preferences", "pairs", "--qrels", QRELS, "--votes", str(votes), "--quiet"]) == 0
        assert capsys.readouterr().out == ""
        assert main(["preferences", "qrels", "--qrels", QRELS, "--votes", str(votes)]) == 0
        grades = {
            tuple(line.split()[::2]): int(line.split()[3]) for line in capsys.readouterr().out.splitlines()
        }
        assert grades["A.1", "23"] == 3 + 100 + 3
        assert grades["A.1", "12"] == 0

    def test_all_and_seed_change_the_pairs(self, capsys: pytest.CaptureFixture[str]) -> None:
        printed = []
        for options in ([], ["--all", "--k", "2"], ["--seed", "5"]):
            assert main(["preferences", "pairs", "--qrels", QRELS, "--quiet", *options]) == 0
            printed.append(capsys.readouterr().out)
        assert len(set(printed)) == 3
        assert len(printed[1]) < len(printed[0])

    def test_figures_of_a_tournament_change_it(self, capsys: pytest.CaptureFixture[str]) -> None:
        options = ["--k", "1", "--partners", "2", "--few", "3"]
        assert main(["preferences", "pairs", "--qrels", QRELS, *options]) == 0
        assert "A.3: round 1 (the last)" in capsys.readouterr().err
        with pytest.raises(SystemExit):
            main(["preferences", "pairs", "--qrels", QRELS, "--k", "0"])
        assert main(["preferences", "pairs", "--qrels", QRELS, "--few", "7"]) == 2
        assert "--k must be less than --partners, and --partners less than --few" in capsys.readouterr().err

    def test_votes_on_unknown_documents_are_refused(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        votes = tmp_path / "votes.txt"
        votes.write_text("A.1 23 nowhere 23\n")

        assert main(["preferences", "pairs", "--qrels", QRELS, "--votes", str(votes)]) == 2

        assert f"{votes}: topic A.1: nowhere is not in {QRELS}" in capsys.readouterr().err

    @pytest.mark.parametrize("measure", ["prefs_simp", "prefs_pair"])
    def test_converted_votes_are_read_by_trec_eval(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], measure: str
    ) -> None:
        path = str(tmp_path / "prefs.txt")
        run = str(samples.path("runs/abacus-trec.txt"))

        assert main(["preferences", "convert", "--votes", VOTES, "--to", "trec_eval", "--output", path]) == 0
        assert main(["trec_eval", "-q", "-R", "prefs", "-m", measure, path, run]) == 0

        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert [topic for _, topic, _ in lines] == ["A.1", "A.2", "all"]

    def test_graph_has_winners_and_losers(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["preferences", "convert", "--votes", VOTES, "--to", "pgc"]) == 0

        lines = capsys.readouterr().out.splitlines()
        assert lines[:2] == ["A.1\t23\t11", "A.1\t21\t11"]
        assert len(lines) == len(read_votes(VOTES)) - 1  # without the tie

    def test_values_are_printed_for_each_topic(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["preferences", "values", "--votes", VOTES, "--table", "consistency"]) == 0

        rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
        assert rows[0][:4] == ["topic", "judged", "pairs", "circular"]
        assert rows[2][:6] == ["A.2", "3", "3", "1", "1", "0.0000"]


def test_every_pair_of_few_documents_is_asked_at_once() -> None:
    grades = dict.fromkeys("abcdefg", 2)

    plan = Tournament().plan("1", grades, [])

    assert plan.is_last
    assert {frozenset(pair) for pair in plan.pairs} == {
        frozenset(pair) for pair in combinations("abcdefg", 2)
    }
