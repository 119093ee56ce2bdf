"""Tables ready to print."""

import json

import pytest

from assay.papers.tables import Column, Group, PaperTable, Value, as_file, as_latex, number, words

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
