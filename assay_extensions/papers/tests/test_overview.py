"""The tables of overview papers, from runs, topics and scores."""

import json
from dataclasses import replace

import pytest

from assay.protocols.loader import load_protocol
from assay.protocols.schema import RunQuestion
from assay.tables.paper import Column, Group, PaperTable, Value, as_file, as_latex, number, rows_of, words
from assay_extensions.papers.facts import PaperRun, PaperTopic, PaperTrack
from assay_extensions.papers.overview import overview_tables, results_table

MEASURES = ("nDCG'", "AP(rel=2)'", "judged@10")


def run(team: str, tag: str, value: float, kind: str = "primary", **stated: str) -> PaperRun:
    means = dict.fromkeys(MEASURES, value)
    return PaperRun(
        team,
        tag,
        kind,
        stated.get("pooled_as", ""),
        stated.get("made", "automatic"),
        "both",
        means,
        kind == "baseline",
    )


def track(name: str, *runs: PaperRun) -> PaperTrack:
    topics = {
        "A.1": PaperTopic({"Category": "PROOF"}, {0: 4, 2: 1}),
        "A.2": PaperTopic({"Category": "concept"}),
        "A.3": PaperTopic({}, {0: 2, 3: 2}),
    }
    organizations = {"Ours": f"University of {name}"}
    return PaperTrack(name, load_protocol("arqmath-2020-task1"), runs, MEASURES, 2, topics, organizations)


OLD = track(
    "2020",
    run("ours", "A", 0.3),
    run("Theirs", "b", 0.4),
    run("Org", "tf", 0.1, "baseline", pooled_as="primary"),
)
NEW = track(
    "2021", run("Ours", "a", 0.5), run("Ours", "c", 0.6, "alternate", made="manual"), run("Theirs", "d", 0.2),
)  # fmt: skip


def named(tables: list[PaperTable], name: str) -> PaperTable:
    return next(table for table in tables if table.name == name)


def test_runs_are_counted_by_team_kind_and_data() -> None:
    rows = rows_of(named(overview_tables([OLD, NEW]), "runs"))

    # automatic primary, alternate; manual primary, alternate; text, math, both; all
    assert rows[0] == ["2020", "Baselines", *"10000011"]
    assert ["2021", "Ours", *"10010022"] in rows
    assert rows[-1] == ["2021", "Total", *"20010033"]


def test_participants_are_teams_of_any_spelling_without_those_of_baselines() -> None:
    rows = rows_of(named(overview_tables([OLD, NEW]), "participants"))

    assert rows == [
        ["Ours", "University of 2021", "1", "2"], ["Theirs", "", "1", "1"], ["Total", "", "2", "3"]
    ]  # fmt: skip


def test_topics_are_counted_by_category_and_assessment() -> None:
    rows = rows_of(named(overview_tables([OLD]), "topics"))

    assert rows == [
        ["", "All topics", "3", "2"], ["Category", "Concept", "1", "0"], ["Category", "Proof", "1", "1"],
        ["Category", "No label", "1", "1"],
    ]  # fmt: skip


def test_results_are_by_team_with_tracks_side_by_side() -> None:
    table = results_table([OLD, NEW], digits=3)

    assert [heading.label for heading in table.over] == ["", "2020 (2 topics)", "2021 (2 topics)"]
    assert [group.title for group in table.groups] == ["Baselines", "Ours", "Theirs"]
    rows = [[cell.text for cell in row] for group in table.groups for row in group.rows]
    assert rows == [
        ["tf", "Both", "(✓)", "", "0.100", "0.100", "", ""],
        ["c", "Both", "", "✓", "", "", "0.600", "0.600"],
        ["a", "Both", "✓", "", "0.300", "0.300", "0.500", "0.500"],
        ["d", "Both", "✓", "", "", "", "0.200", "0.200"],
        ["b", "Both", "✓", "", "0.400", "0.400", "", ""],
    ]
    best = [cell.text for group in table.groups for row in group.rows for cell in row if cell.is_best]
    assert best == ["0.100", "0.100", "0.600", "0.600", "0.400", "0.400"]


def test_results_have_the_answers_to_the_chosen_public_questions() -> None:
    questions = tuple(
        RunQuestion(key, f"{key}?", public=key != "secret") for key in ("models", "gpu", "secret")
    )
    protocol = replace(NEW.protocol, runs=replace(NEW.protocol.runs, questions=questions))
    long = run("Ours", "a", 0.5)._replace(answers={"models": "word " * 30, "gpu": "none"})
    asking = replace(NEW, protocol=protocol, runs=(long,))

    everything, chosen = (results_table([OLD, asking], questions=keys) for keys in ((), ["gpu"]))

    assert [column.label for column in everything.columns][:5] == ["Run", "Data", "Models", "Gpu", "P"]
    row = next(row for row in rows_of(everything) if row[:2] == ["Ours", "a"])
    assert row[3:5] == ["word " * 16 + "…", "none"]
    assert [column.label for column in chosen.columns][:4] == ["Run", "Data", "Gpu", "P"]
    assert "Gpu: gpu? " in chosen.caption
    assert "secret" not in everything.caption


def test_best_run_is_compared_with_the_strongest_baseline() -> None:
    baselines = [run("Org", "tf", 0.1, "baseline"), run("Org", "best", 0.4, "baseline")]
    rows = rows_of(
        named(overview_tables([track("2020", run("Ours", "a", 0.5), *baselines)], digits=2), "gains")
    )

    assert rows[0] == ["nDCG'", "best", "0.40", "Ours: a", "0.50", "25.0"]


def test_oracles_and_manual_baselines_may_be_left_out_of_the_comparison() -> None:
    baselines = [
        run("Org", "linked", 0.4, "baseline")._replace(is_oracle=True),
        run("Org", "by hand", 0.3, "baseline")._replace(made="manual"),
        run("Org", "tf", 0.2, "baseline"),
    ]
    tables = overview_tables([track("2020", run("Ours", "a", 0.5), *baselines)], baselines="automatic")

    assert rows_of(named(tables, "gains"))[0][1:] == ["tf", "0.2000", "Ours: a", "0.5000", "150.0"]
    assert "strongest automatic baseline without oracles" in named(tables, "gains").caption


def test_measures_may_be_chosen_and_other_kinds_are_named() -> None:
    other = track("cQA", run("Ours", "a", 0.5, "evaluation"), run("Ours", "b", 0.4, "alternate"))

    table = results_table([other], measures=["judged@10"])

    assert [column.label for column in table.columns] == ["Run", "Data", "Kind", "M", "judged@10"]
    assert [row[3] for row in rows_of(table)] == ["evaluation", "alternate"]


TABLE = PaperTable(
    "results",
    "Results",
    "Results; 50% of them.",
    (
        Column("Run"),
        Column("nDCG'", "2020 & 2021", is_number=True, is_measure=True),
        Column("P", "2020 & 2021", is_number=True),
        Column("all distinct units", "AP'", is_number=True, is_over_measure=True),
    ),
    (
        Group("Ours", ((Value("a_1"), number(0.50001)._replace(is_best=True), number(None), number(1234)),)),
        Group("Théirs", ((*words("=1+1"), number(-0.25), number(0.125, 2), number(0)),)),
    ),
    "team",
)


def test_latex_has_shared_headings_groups_and_bold_values() -> None:
    lines = as_latex(TABLE).splitlines()

    assert lines[0] == r"% needs \usepackage{amssymb, array, booktabs, graphicx}"
    assert lines[2] == r"\caption{Results; 50\% of them.}"
    body = lines[lines.index(r"\toprule") + 1 :]
    assert body[:3] == [
        r"\multicolumn{1}{c}{} & \multicolumn{2}{c}{2020 \& 2021} & \multicolumn{1}{c}{AP$^\prime$} \\",
        r"\cmidrule(lr){2-3} \cmidrule(lr){4-4}",
        r"Run & nDCG$^\prime$ & P & \shortstack[r]{all distinct\\units} \\",
    ]
    assert body[4:6] == [
        r"\multicolumn{4}{l}{\textbf{Ours}} \\",
        r"\quad a\_1 & \textbf{0.5000} &  & 1,234 \\",
    ]
    assert r"\quad =1+1 & $-$0.2500 & 0.12 & 0 \\" in body
    assert lines[5:7] == [
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%", r"\begin{tabular}{lrrr}"
    ]  # fmt: skip
    assert body[-2:] == [r"\end{tabular}}", r"\end{table}"]


def test_words_of_a_table_without_numbers_break_into_lines() -> None:
    columns = (Column("Rule"), Column("One"), Column("Two"))

    latex = as_latex(PaperTable("t", "T", "C.", columns, (Group("", (words("Pool", "top-k", "top-k"),)),)))

    width = r"\dimexpr0.74\linewidth/2-2\tabcolsep\relax"
    assert rf"\begin{{tabular}}{{l*{{2}}{{>{{\raggedright\arraybackslash}}p{{{width}}}}}}}" in latex


def test_file_has_a_heading_and_a_cell_for_each_column() -> None:
    text = as_file(TABLE, "csv")

    assert text.splitlines() == [
        "team,Run,2020 & 2021: nDCG',2020 & 2021: P,AP': all distinct units",
        "Ours,a_1,0.5000,,1234",
        "Théirs,'=1+1,-0.2500,0.12,0",
    ]
    assert as_file(TABLE, "tsv").splitlines()[1] == "Ours\ta_1\t0.5000\t\t1234"
    assert json.loads(as_file(TABLE, "json")) == [
        {
            "team": "Ours",
            "Run": "a_1",
            "2020 & 2021: nDCG'": 0.50001,
            "2020 & 2021: P": None,
            "AP': all distinct units": 1234,
        },
        {
            "team": "Théirs",
            "Run": "=1+1",
            "2020 & 2021: nDCG'": -0.25,
            "2020 & 2021: P": 0.125,
            "AP': all distinct units": 0,
        },
    ]


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ('50% $x_1$ #2 ~^ "q"', r"50\% \$x\_1\$ \#2 \textasciitilde{}\textasciicircum{} {\char34}q{\char34}"),
        ("[9cm]*", "{[}9cm{]}{*}"),
        ("a--b ``c''", r"a-{}-b {\char96}{\char96}c'{}'"),
        ("evil\u202egnp\x1b\nnext", "evilgnp next"),
        ("Universität Łódź ✓", r"Universität Łódź $\checkmark$"),
    ],
)
def test_names_of_strangers_are_only_printed(name: str, printed: str) -> None:
    table = PaperTable("t", "T", "C.", (Column("Run"),), (Group("", (words(name),)),))

    assert rf"{printed} \\" in as_latex(table)


def test_other_scripts_need_another_engine() -> None:
    table = PaperTable("t", "T", "C.", (Column("Run"),), (Group("", (words("数学"),)),))

    assert "use XeLaTeX or LuaLaTeX" in as_latex(table)
    assert "XeLaTeX" not in as_latex(TABLE)
