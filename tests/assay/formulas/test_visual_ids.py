"""Visual ids equal those of a plain walk over rows, and the official ids of real formulas."""

import csv
import gzip
import io
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formulas.visual_ids import Keys, id_order, key_of, latex_key, report, visual_ids

Row = tuple[str, str, str, str]  # formula id, SLT string, LaTeX, visual id that it has


def keys(*rows: Row) -> Keys:
    return Keys.of((code, key_of(slt), latex_key(latex), visual) for code, slt, latex, visual in rows)


def ids(*rows: Row, above: int = 0) -> list[str]:
    return [visual.decode() for visual in visual_ids(keys(*rows), above=above).tolist()]


def without_ids(given: Keys) -> Keys:
    return Keys(given.formula, given.slt, given.latex, np.zeros(len(given), dtype="S1"))


def table(path: Path) -> list[dict[str, str]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter="\t"))


@pytest.fixture
def index(data: Path) -> Keys:
    """The real index of 1,000 formulas, with the SLT string of each LaTeX."""
    strings = {
        row["latex"]: row["tangent_slt_string"] for row in table(data / "slt" / "latex_mathml_slt.tsv.gz")
    }
    rows = table(data / "arqmath" / "formulas" / "formula_index_v2_sample.tsv")
    return keys(*((row["id"], strings[row["formula"]], row["formula"], row["visual_id"]) for row in rows))


@pytest.fixture
def id_map(data: Path) -> Keys:
    """The real map of 81,103 formulas, with the digest of each string."""
    rows = table(data / "arqmath" / "formulas" / "formula_id_visual_id.tsv.gz")
    return keys(*((row["formula_id"], row["sha1_of_tangent_slt"], "", row["visual_id_v2"]) for row in rows))


def test_clusters_of_the_real_index_equal_the_official_ones_except_one_known_inconsistency(
    index: Keys,
) -> None:
    made, official = visual_ids(without_ids(index)).tolist(), index.kept.tolist()
    pairs = set(zip(made, official, strict=True))
    merged = Counter(ours for ours, _ in pairs)
    split = Counter(theirs for _, theirs in pairs)

    assert (len(index), len(set(official)), len(set(made))) == (1000, 760, 759)
    assert max(split.values()) == 1
    assert [{theirs for mine, theirs in pairs if mine == ours} for ours, n in merged.items() if n > 1] == [
        {b"370700", b"1927327"}
    ]


def test_report_on_the_real_index_names_the_inconsistency(index: Keys) -> None:
    comparison = report(index)

    assert (
        comparison.split_ids,
        comparison.shared_strings,
        comparison.shared_latex,
        comparison.n_formulas,
    ) == (0, 1, 0, 2)
    assert [detail.visual for detail in comparison.details] == [b"1927327", b"370700"]


def test_report_on_the_real_id_map_has_the_known_numbers(id_map: Keys) -> None:
    comparison = report(id_map)

    assert (len(id_map), comparison.n_ids, comparison.n_strings) == (81_103, 40_592, 40_360)
    assert (comparison.split_ids, comparison.shared_strings) == (21, 236)


def test_clusters_of_the_real_id_map_equal_its_strings(id_map: Keys) -> None:
    made = visual_ids(without_ids(id_map)).tolist()
    split = defaultdict(set)
    for ours, theirs in zip(made, id_map.kept.tolist(), strict=True):
        split[theirs].add(ours)

    assert len(set(made)) == 40_360
    assert sum(len(ours) > 1 for ours in split.values()) == 21


def test_ids_of_the_index_are_kept_even_if_strings_disagree(id_map: Keys) -> None:
    assert visual_ids(id_map).tolist() == id_map.kept.tolist()


def test_formulas_without_an_id_join_the_id_of_their_string(id_map: Keys) -> None:
    is_shown = np.arange(len(id_map)) % 3 > 0
    kept = np.where(is_shown, id_map.kept, b"")

    made = visual_ids(Keys(id_map.formula, id_map.slt, id_map.latex, kept))

    known = set(id_map.slt[is_shown].tolist())
    is_known = np.array([key in known for key in id_map.slt.tolist()])
    several = {id_map.slt[detail.row] for detail in report(id_map).details if detail.n_ids > 1}
    is_other = is_known & (made != id_map.kept)
    assert not (is_shown & is_other).any()
    assert {*id_map.slt[is_other].tolist()} <= several
    assert set(made[~is_known].tolist()).isdisjoint(id_map.kept.tolist())


def test_numbers_follow_the_order_of_ids_shorter_ones_first() -> None:
    assert ids(("10", "[V!c]", "c", ""), ("9", "[V!b]", "b", ""), ("2", "[V!a]", "a", "")) == ["3", "2", "1"]


def test_formula_without_a_string_joins_the_last_string_of_its_latex() -> None:
    visual = ids(
        ("1", "", r"\frac 1 2", ""),
        ("2", "[1]", r"\frac12", ""),
        ("3", "", "\\frac\n1\t2", ""),
        ("4", "", "x", ""),
        ("5", "", " x", ""),
    )

    assert visual == ["1", "2", "2", "3", "3"]


def test_formula_without_keys_gets_no_id() -> None:
    assert ids(("1", "", "", ""), ("2", "", " \n", ""), ("3", "[V!a]", "", ""), ("4", "", "", "")) == [
        "",
        "",
        "1",
        "",
    ]


def test_formula_joins_the_most_frequent_id_of_its_string() -> None:
    visual = ids(
        ("1", "[V!a]", "a", "rare"),
        ("2", "[V!a]", "a", "usual"),
        ("3", "[V!a]", "a", "usual"),
        ("4", "[V!a]", "b", ""),
        ("5", "", "a", ""),
    )

    assert visual == ["rare", "usual", "usual", "usual", "usual"]


def test_of_equally_frequent_ids_the_first_is_joined() -> None:
    assert ids(("1", "[V!a]", "", "z"), ("2", "[V!a]", "", "b"), ("3", "[V!a]", "", ""))[2] == "z"


def test_new_numbers_are_above_all_kept_numbers() -> None:
    rows: list[Row] = [("1", "[V!a]", "", "17"), ("2", "[V!b]", "", "007x"), ("3", "[V!c]", "", "9" * 30)]

    assert ids(*rows, ("4", "[V!d]", "", ""))[3] == "18"
    assert ids(*rows, ("4", "[V!d]", "", ""), above=40)[3] == "41"


def test_no_formulas_give_no_ids() -> None:
    assert ids() == []
    assert report(keys()).details == []


def test_report_compares_latex_only_without_a_string() -> None:
    comparison = report(
        keys(
            ("1", "", "a", "1"),
            ("2", "", "a ", "2"),
            ("3", "[V!b]", "b", "3"),
            ("4", "", "b", "4"),
            ("5", "", "c", "1"),
        )
    )

    assert (comparison.split_ids, comparison.shared_strings, comparison.shared_latex) == (0, 0, 1)
    assert [
        (detail.visual, detail.row, detail.n, detail.is_slt, detail.n_ids) for detail in comparison.details
    ] == [
        (b"1", 0, 1, False, 2),
        (b"2", 1, 1, False, 2),
    ]


CODES = st.integers(min_value=1, max_value=200).map(str)
ROWS = st.lists(
    st.tuples(CODES, st.sampled_from(["", "", "[a]", "[b]", "[c]"]), st.sampled_from(["", "p", "q", "r"]),
              st.sampled_from(["", "", "", "5", "7", "x"])),
    unique_by=lambda row: row[0],
    max_size=25,
)  # fmt: skip


def plainly(rows: list[Row]) -> dict[str, str]:
    """The rule in its simplest form: row after row, with dictionaries."""
    rows = sorted(rows, key=lambda row: (len(row[0]), row[0]))
    usual: dict[tuple[str, str], list[str]] = defaultdict(list)
    for _, slt, latex, visual in rows:
        for key in [("slt", slt), ("latex", latex)] if visual else []:
            usual[key].append(visual)
    number = max([int(visual) for *_, visual in rows if visual.isdigit()], default=0)
    recorded: dict[tuple[str, str], str] = {}
    visual_of = {}
    for code, slt, latex, visual in rows:
        key = ("slt", slt) if slt else ("latex", latex)
        if visual or not key[1]:
            visual_of[code] = visual
            continue
        if key in usual:
            visual_of[code] = max(usual[key], key=usual[key].count)  # of several, the first
            continue
        if key not in recorded:
            number += 1
            recorded[key] = recorded["latex", latex] = str(number)
        visual_of[code] = recorded[key]
    return visual_of


@settings(max_examples=400, deadline=None)
@given(ROWS)
def test_ids_equal_those_of_a_plain_walk(rows: list[Row]) -> None:
    assert dict(zip([row[0] for row in rows], ids(*rows), strict=True)) == plainly(rows)


@settings(max_examples=100, deadline=None)
@given(ROWS, st.integers(min_value=1, max_value=5))
def test_ids_do_not_depend_on_parts_or_order(rows: list[Row], n_parts: int) -> None:
    whole = keys(*rows)
    shuffled = np.random.default_rng(len(rows)).permutation(len(rows))

    parts = [Keys.from_bytes(whole[shuffled[i::n_parts]].to_bytes()) for i in range(n_parts)]
    joined = Keys.joined(parts)

    expected = dict(zip(whole.formula.tolist(), visual_ids(whole).tolist(), strict=True))
    assert dict(zip(joined.formula.tolist(), visual_ids(joined).tolist(), strict=True)) == expected


def test_ids_are_ordered_as_numbers_and_then_by_bytes() -> None:
    codes = np.array([b"q_10", b"100", b"b", b"q_9", b"99", b"a"])

    assert codes[id_order(codes)].tolist() == [b"a", b"b", b"99", b"100", b"q_9", b"q_10"]
