"""Wrong protocols of a new lab: `assay protocol check` names the line, what is wrong and what is accepted."""

from pathlib import Path

import pytest

from assay.cli.main import main

LAB = """\
slug = "our-lab"
title = "Our lab"
source = "Nothing has been published."
unit = "document"

[runs]
formats = ["columns", "trec-6"]
max_ranks = 1000

[runs.columns]
order = ["topic", "docno", "rank"]

[[runs.kind]]
key = "primary"
depth = 10

[pool]
strategy = "top-k"

[judging]
layout = "topic-document"

[[judging.grade]]
key = "highly"
value = 2
label = "Highly relevant"
definition = "It answers."

[[judging.grade]]
key = "related"
value = 1
label = "Related"
definition = '''
It is about
slug = "no key"
'''

[[judging.grade]]
key = "not"
value = 0
label = "Not relevant"
definition = "Anything else."

[qrels]
relevant_from = 1

[scoring]
relevant_from = 2
measures = ["nDCG@10", "RR(rel=2)@10"]
"""
# What is replaced by what, and the message after the name of the file.
WRONG = {
    "key": (
        "max_ranks",
        "max_rank",
        "line 8: runs.max_rank: unknown key; did you mean max_ranks? Allowed here:",
    ),
    "table": ("[judging]", "[judgin]", "line 20: judgin: unknown key; did you mean judging?"),
    "key of another table": (
        "[qrels]",
        '[qrels]\nmeasures = ["AP"]',
        "line 45: qrels.measures: unknown key; it belongs in [scoring]; allowed here: aggregate",
    ),
    "one bracket": (
        "[[runs.kind]]",
        "[runs.kind]",
        "line 13: runs.kind: expected a list of tables; write [[runs.kind]] with double brackets",
    ),
    "two brackets": (
        "[pool]",
        "[[pool]]",
        "line 17: pool: expected one table; write [pool] with single brackets",
    ),
    "one bracket again": (
        '[[judging.grade]]\nkey = "not"',
        '[judging.grade]\nkey = "not"',
        "line 38: not TOML: Cannot declare judging.grade twice at column 15 of '[judging.grade]'; a table occurs once",
    ),
    "quotation mark": (
        '"Our lab"',
        '"Our lab',
        "line 2: not TOML: Illegal character '\\n' at column 17 of 'title = \"Our lab'; text ends with the quotation",
    ),
    "no TOML": (LAB, "slug: our-lab", "line 1: not TOML: Expected '=' after a key"),
    "format": (
        '"trec-6"',
        '"trec"',
        "line 7: runs.formats[2]: 'trec' is not allowed; did you mean trec-6? Use",
    ),
    "tab": (
        '"rank"]',
        '"rank"]\nseparator = " "',
        "line 12: runs.columns.separator: ' ' is not allowed; did you mean white-space? Use white-space, tab",
    ),
    "column": (
        '"topic", "docno"',
        '"topic", "skip"',
        "line 11: runs.columns.order: docno is missing, the id of what a run retrieves",
    ),
    **{
        f"naming scheme {scheme}": (
            "max_ranks = 1000",
            f'max_ranks = 1000\n{more}tag_pattern = "{scheme}"',
            f"line {9 + bool(more)}: runs.tag_pattern: {message}",
        )
        for scheme, more, message in [
            ("{group}-1", "", "{group} is not a place; use {team}, {kind}, {topics}, {number}, {name}"),
            ("{team", "", "'{team' has no places, or a brace outside of one; use {team}"),
            ("{name}-{name}", "", "'{name}-{name}' has a place twice; use each once"),
            ("{team} {name}", "", "'{team} {name}' is not one word of at most 100 characters"),
            ("{team}-{topics}", "", "{topics} needs a phase with a split for each kind; leave it out"),
            ("{team}-{number}", "max_tag = 5\n", "the tag Owls-1 has 6 characters; use at most 5"),
        ]
    },
    "missing in the third grade": (
        'definition = "Anything else."',
        "",
        "line 38: judging.grade[3].definition: missing; this key is required",
    ),
    "empty definition": (
        '"It answers."',
        '" "',
        "line 27: judging.grade[1].definition: empty; tell assessors when to choose it",
    ),
    "empty label": (
        '"Related"',
        '""',
        "line 32: judging.grade[2].label: empty; write the text of the button",
    ),
    "negative grade": (
        "value = 0",
        "value = -2",
        "line 40: judging.grade[3].value: -2 is below 0; describe the choice as one of [[judging.non_answer]]",
    ),
    "one value twice": (
        "value = 1",
        "value = 2",
        "line 31: judging.grade[2].value: two grades have the same value, 2",
    ),
    "shortcut": (
        "value = 2",
        'value = 2\nshortcut = "Ctrl"',
        "line 26: judging.grade[1].shortcut: 'Ctrl' is not one key, such as 1 or x",
    ),
    "name of trec_eval": (
        '"nDCG@10"',
        '"ndcg_cut_10"',
        "line 49: scoring.measures[1]: 'ndcg_cut_10': there is no measure 'ndcg_cut_10'; did you mean nDCG@10? Use",
    ),
    "measure": (
        '"nDCG@10"',
        '"NDGC@10"',
        "line 49: scoring.measures[1]: 'NDGC@10': there is no measure 'NDGC'; did you mean nDCG@10? Use",
    ),
    "level of a measure": (
        "RR(rel=2)",
        "RR(rel=3)",
        "line 49: scoring.measures[2]: 'RR(rel=3)@10' counts from grade 3, but the highest grade of the qrels is 2",
    ),
    "forgotten level": (
        "RR(rel=2)",
        "MRR",
        "line 49: scoring.measures[2]: 'MRR@10' counts from grade 1, but a document is relevant from 2 on; write ",
    ),
    "measure of labels": (
        '"nDCG@10"',
        '"labelF(rel=2)"',
        "line 49: scoring.measures[1]: 'labelF(rel=2)' compares the labels of runs; it needs the column label in",
    ),
    "level of qrels": (
        "relevant_from = 1",
        "relevant_from = 3",
        "line 45: qrels.relevant_from: 3 is above the highest grade of the qrels, 2",
    ),
    "layout": (
        '"topic-document"',
        '"formula"',
        "line 21: judging.layout: 'formula' shows formulas, but unit is 'document'; use question-answer or",
    ),
    "citations": (
        '"topic-document"',
        '"citation"',
        "line 21: judging.layout: 'citation' shows passages, but unit is 'document'; use topic-document",
    ),
}


def check(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    (folder / "lab.toml").write_text(text)
    status = main(["protocol", "check", str(folder / "lab.toml")])
    output = capsys.readouterr()
    return status, output.err.replace(str(folder) + "/", "")


def test_lab_without_errors_is_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(tmp_path, LAB, capsys) == (0, "")
    assert check(tmp_path, LAB.replace("RR(rel=2)", "RR(rel=1)"), capsys) == (0, "")


@pytest.mark.parametrize("name", WRONG)
def test_wrong_protocol_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    old, new, message = WRONG[name]
    assert LAB.count(old) >= 1

    status, error = check(tmp_path, LAB.replace(old, new, 1), capsys)

    assert status == 2
    assert error.startswith(f"assay protocol check: lab.toml: {message}")
    assert error.count("\n") == 1


def test_all_errors_are_reported_in_the_order_of_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = LAB.replace("max_ranks = 1000", 'max_ranks = "many"').replace('unit = "document"\n', "")
    text = text.replace("value = 1\n", "").replace('strategy = "top-k"', 'strategy = "top"')

    _, error = check(tmp_path, text, capsys)

    assert [line.partition(", round")[0] for line in error.splitlines()] == [
        "assay protocol check: lab.toml: 4 errors",
        "  line 7: runs.max_ranks: expected a whole number, got 'many'",
        "  line 17: pool.strategy: 'top' is not allowed; did you mean top-k? Use top-k, distinct-units",
        "  line 28: judging.grade[2].value: missing; this key is required",
        "  unit: missing; this key is required",
    ]
