"""Choose topics among candidates: show their distributions, draw a sample by quotas, write accepted ones as topics.

Candidates are questions in lines of JSON, as building a collection writes them. The same file, settings and seed
give the same sample to the byte, here and on a site.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tqdm import tqdm

from assay.candidates.conditions import Labels, meets, parse_conditions
from assay.candidates.distributions import tables
from assay.candidates.reader import Candidate, CandidateLines
from assay.candidates.samples import (
    MOST_PER_TOPIC,
    Record,
    Settings,
    as_record,
    draw,
    parse_stratum,
    read_record,
)
from assay.candidates.topics import FIRST, codes_from, topics_of
from assay.cli.main import add, add_actions, add_seed, whole_number
from assay.cli.tables import add_table_options, print_tables, write_output
from assay.digests import sha256_of
from assay.errors import InputError, plural
from assay.formats.compression import ANY_SIZE, opened, read_file, unpack
from assay.formats.topics.reader import read_labels
from assay.formats.topics.writer import as_xml

EXAMPLE = 'assay candidates sample candidates.jsonl --seed 7 --quota "8: duplicates=1.." --quota 2 --output sample.json'
SHOW_EXAMPLE = "assay candidates show candidates.jsonl --where score=5.. --where formulas=1.."
TOPICS_EXAMPLE = "assay candidates topics sample.json candidates.jsonl --first A.201 --output chosen.xml"
# The column of a label file that says which candidates become topics
DECISION, ACCEPTED = "decision", "accepted"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = add_actions(parser)
    show = actions.add_parser("show", help="print how candidates are distributed", example=SHOW_EXAMPLE)
    _add_candidates(show)
    _add_where(show)
    add_table_options(show)
    sample = actions.add_parser("sample", help="draw candidates by quotas with a seed", example=EXAMPLE)
    _add_candidates(sample)
    _add_where(sample)
    sample.add_argument(
        "--quota",
        action="append",
        default=[],
        metavar="N:CONDITIONS",
        help="topics wanted of the candidates that meet the conditions, such as 89:linked=1.. or 11 for the "
        "others; repeat it for each stratum. A candidate belongs to the first stratum that it fits",
    )
    sample.add_argument(
        "--per-topic",
        type=whole_number(1, MOST_PER_TOPIC),
        default=1,
        metavar="N",
        help="candidates to draw for each topic of a quota, if there are so many (default: 1)",
    )
    sample.add_argument(
        "--again",
        type=Path,
        metavar="FILE",
        help="take all settings from an earlier sample, and make it again",
    )
    add_seed(sample)
    add(sample, "--output", "--quiet")
    topics = actions.add_parser(
        "topics", help="write the candidates of a sample as topics in XML", example=TOPICS_EXAMPLE
    )
    topics.add_argument(
        "sample", type=Path, metavar="SAMPLE", help="file that `assay candidates sample` wrote"
    )
    _add_candidates(topics)
    topics.add_argument(
        "--first",
        default=FIRST,
        metavar="CODE",
        help="code of the first topic; the others count up (default: A.1)",
    )
    topics.add_argument(
        "--questions",
        type=Path,
        metavar="FILE",
        help="write lines of topic and its candidate to FILE, as assay baseline linked-posts reads them; participants "
        "must not see it",
    )
    add(topics, "--output", "--quiet")


def _add_candidates(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "candidates",
        metavar="CANDIDATES",
        help="candidates in lines of JSON; plain, gz, xz, bz2 or zip; - for standard input",
    )
    parser.add_argument(
        "--labels",
        metavar="FILE",
        help="labels of candidates, which conditions may name: CSV with the id in the first column. The candidates "
        f"whose column {DECISION} is {ACCEPTED} become topics; without this column, all do",
    )


def _add_where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="CONDITIONS",
        help="use only candidates that meet the conditions, such as score=5.., tags=calculus|limits, duplicates=0, "
        "date=2020-01-01.., text=prime; repeat it for more",
    )


def run(arguments: argparse.Namespace) -> int:
    actions: Mapping[str, Callable[[argparse.Namespace], int]] = {
        "show": _show,
        "sample": _sample,
        "topics": _topics,
    }
    return actions[arguments.action](arguments)


def _labels(arguments: argparse.Namespace) -> tuple[Labels, list[str], str]:
    """The labels by candidate, their names, and the digest of their file; nothing without one."""
    if not arguments.labels:
        return {}, [], ""
    data = read_file(arguments.labels)
    rows = read_labels(data, arguments.labels)
    return rows, list(dict.fromkeys(name for row in rows.values() for name in row)), sha256_of(data)


@contextmanager
def _candidates(
    arguments: argparse.Namespace, *, has_text: bool, only: Callable[[str], bool] = lambda docno: True
) -> Iterator[CandidateLines]:
    """The candidates of the file, with a progress bar on a terminal."""
    with opened(arguments.candidates, ANY_SIZE) as file:
        blocks = tqdm(
            unpack(file, ANY_SIZE, name=arguments.candidates),
            desc="reading",
            unit="block",
            disable=arguments.quiet or None,
            leave=False,
        )
        yield CandidateLines(blocks, arguments.candidates, has_text=has_text, only=only)


def _show(arguments: argparse.Namespace) -> int:
    labels, names, _ = _labels(arguments)
    where = [condition for text in arguments.where for condition in parse_conditions(text, names)]
    with _candidates(arguments, has_text=any(condition.name == "text" for condition in where)) as candidates:
        chosen = (candidate for candidate in candidates if meets(candidate, where, labels))
        return print_tables(tables(chosen), arguments)


def _sample(arguments: argparse.Namespace) -> int:
    labels, names, labels_sha256 = _labels(arguments)
    earlier: Record | None = None
    if arguments.again is not None:
        if arguments.quota or arguments.where:
            raise InputError(
                "--again takes all settings from the earlier sample; leave out --quota and --where"
            )
        earlier = read_record(arguments.again.read_bytes(), str(arguments.again), names)
        settings = earlier.settings
    elif arguments.quota:
        strata = tuple(parse_stratum(text, names) for text in arguments.quota)
        where = tuple(condition for text in arguments.where for condition in parse_conditions(text, names))
        settings = Settings(arguments.seed, strata, where, arguments.per_topic)
    else:
        raise InputError("give the wanted numbers of topics with --quota, or an earlier sample with --again")
    with _candidates(arguments, has_text=settings.needs_text) as candidates:
        sample = draw(candidates, settings, labels)
    used = labels_sha256 if settings.needs_labels else ""
    if earlier and (earlier.sha256, earlier.labels_sha256) != (candidates.sha256, used):
        which = "candidates are" if earlier.sha256 != candidates.sha256 else "labels are"
        raise InputError(f"the {which} not those of {arguments.again}: the SHA-256 differs")
    data = as_record(sample, sha256=candidates.sha256, labels_sha256=used)
    write_output(data, arguments.output)
    if not arguments.quiet:
        parts = f"{plural(sample.n, 'candidate')} ({' + '.join(map(str, sample.drawn))})"
        print(f"{len(sample.rows)} of {parts}; sha256 {sha256_of(data)}", file=sys.stderr)  # noqa: T201
    return 0


def _topics(arguments: argparse.Namespace) -> int:
    labels, names, _ = _labels(arguments)
    rows = read_record(arguments.sample.read_bytes(), str(arguments.sample)).rows
    is_decided = DECISION in names
    wanted = {
        row.id: place
        for place, row in enumerate(rows)
        if not is_decided or labels.get(row.id, {}).get(DECISION) == ACCEPTED
    }
    with _candidates(arguments, has_text=True, only=wanted.__contains__) as candidates:
        chosen: list[Candidate] = [candidate for candidate in candidates if candidate.id in wanted]
    if missing := set(wanted) - {candidate.id for candidate in chosen}:
        raise InputError(
            f"{arguments.candidates} lacks {plural(len(missing), 'candidate')} of the sample, such as {min(missing)}"
        )
    chosen.sort(key=lambda candidate: wanted[candidate.id])
    topics = topics_of(chosen, codes=codes_from(arguments.first))
    write_output(as_xml(topics), arguments.output)
    if arguments.questions:
        arguments.questions.write_text("".join(f"{topic.code}\t{topic.thread}\n" for topic in topics))
    if not arguments.quiet:
        print(plural(len(topics), "topic"), file=sys.stderr)  # noqa: T201
    return 0
