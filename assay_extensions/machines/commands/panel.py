"""Combine the judgments of several judges into those of a panel.

Each file has the judgments of one member, as assay judge writes them. The output has the units that all members
judged: with `median`, the middle grade, the lower one of two; with `majority`, the grade of more than half of the
members, and no judgment if there is none; with `mean`, the grade with the highest mean probability, which needs the
evidence of each member. The files of the members do not change.
"""

import argparse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from assay.cli.main import add
from assay.errors import InputError, plural
from assay.formats.compression import read_file
from assay.formats.judgments.cells import choice_of
from assay.formats.judgments.reader import parse_judgments
from assay.protocols.loader import load_protocol
from assay.protocols.schema import Grade, JudgingRules
from assay.structure import WrongStructure, strict_json
from assay_extensions.machines.model.evidence import evidence_of
from assay_extensions.machines.work.answers import Answer
from assay_extensions.machines.work.output import Output
from assay_extensions.machines.work.panel import WAYS, entropy, majority, median, most_probable
from assay_extensions.machines.work.units import Unit

EXAMPLE = (
    "assay panel judgments-words.jsonl qrels-marek.txt --by median --protocol arqmath-2020-task1 --assessor panel "
    "--output panel.jsonl"
)
Key = tuple[str, str]  # topic and docno


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("members", nargs="+", metavar="JUDGMENTS", help="the judgments of each member")
    add(parser, "--protocol")
    parser.add_argument(
        "--by", choices=WAYS, default="median", help="how the grades become one (default: median)"
    )
    parser.add_argument("--assessor", required=True, metavar="NAME", help="the name of the panel")
    parser.add_argument(
        "--output", required=True, type=Path, metavar="FILE", help="judgments of the panel: .jsonl or .csv"
    )
    parser.add_argument(
        "--table",
        type=Path,
        metavar="FILE",
        help="also write the grades of each member and their entropy, as TSV",
    )


def run(arguments: argparse.Namespace) -> int:
    if len(arguments.members) < 2:
        raise InputError("a panel has at least two members; give a file of judgments for each")
    if arguments.output.exists() and arguments.output.stat().st_size:
        raise InputError(f"{arguments.output}: the file exists; name another one")
    resolved = [Path(path).resolve() for path in arguments.members]
    twice = [path for n, path in enumerate(arguments.members) if resolved[n] in resolved[:n]]
    if twice:
        raise InputError(f"{twice[0]}: the file is given twice; give each member once")
    rules = load_protocol(arguments.protocol).judging
    members = [_grades(path, rules) for path in arguments.members]
    units = [key for key in members[0] if all(key in member for member in members)]
    if not units:
        raise InputError("no unit is judged by all members")
    shares = [_probabilities(path, rules) for path in arguments.members] if arguments.by == "mean" else []
    by_value = {grade.value: grade for grade in rules.grades}
    n_equal = n_without = 0
    disagreement, counts, rows = (
        0.0,
        Counter[int](),
        ["topic\tdocno\t" + "\t".join(arguments.members) + "\tentropy"],
    )
    with Output(arguments.output, assessor=arguments.assessor, batch="") as output:
        for key in units:
            grades = [member[key] for member in members]
            bits = entropy(grades)
            disagreement, n_equal = disagreement + bits, n_equal + (bits == 0)
            rows.append("\t".join([*key, *map(str, grades), f"{bits:.6f}"]))
            if arguments.by == "mean":
                grade: int | None = most_probable([share[key] for share in shares])
            else:
                grade = median(grades) if arguments.by == "median" else majority(grades)
            if grade is None:
                n_without += 1
                continue
            counts[grade] += 1
            answer = Answer(by_value[grade], "", None, {})
            label = rules.label_of(by_value[grade].key, key[1])
            output.add(Unit(*key, 0), answer, label=label, left="", seconds=0.0)
    if arguments.table:
        arguments.table.write_text("\n".join(rows) + "\n")
    by_grade = ", ".join(f"{grade}: {counts[grade]:,}" for grade in sorted(counts))
    print(  # noqa: T201
        f"{plural(len(units), 'unit')} of {len(members)} members; {by_grade}; {n_without:,} without a majority\n"
        f"all members agree on {n_equal:,}; mean entropy {disagreement / len(units):.6f} bits"
    )
    return 0


def _grades(path: str, rules: JudgingRules) -> dict[Key, int]:
    """The grades in a file of one member; other choices are left out.

    Raises InputError: the file has judgments of several assessors.
    """
    file = parse_judgments(read_file(path), path)
    if len({row.assessor for row in file.rows}) > 1:
        raise InputError(f"{path}: it has judgments by several assessors; give a file for each member")
    chosen = (((row.topic, row.docno), choice_of(row, rules)) for row in file.rows)
    return {key: choice.value for key, choice in chosen if isinstance(choice, Grade)}


def _probabilities(path: str, rules: JudgingRules) -> Mapping[Key, Mapping[int, float]]:
    """The probabilities of each grade, from the evidence of a member.

    Raises InputError: there is no evidence, or it lacks the probabilities of a unit.
    """
    values = {grade.key: grade.value for grade in rules.grades}
    file, shares = Path(path).with_suffix(".evidence.jsonl"), dict[Key, Mapping[int, float]]()
    try:
        lines = file.read_text("utf-8").splitlines()
    except FileNotFoundError:
        raise InputError(f"--by mean needs {file}, with the probabilities of the grades") from None
    for number, line in enumerate(lines, 1):
        try:
            row = strict_json(line)
            given = evidence_of(row["evidence"]).probabilities
            key = row["topic"], row["docno"]
            if row["choice"] and given is None:
                raise ValueError('no probabilities; the judge file needs answer = "probabilities"')
            shares[key] = {values[grade]: share for grade, share in (given or {}).items()}
        except (ValueError, RecursionError, KeyError, TypeError, WrongStructure) as error:
            raise InputError(f"{file}: line {number}: {error}") from None
    return shares
