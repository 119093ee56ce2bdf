"""Make the run of a baseline: text retrieval, formula retrieval, or posts that are linked to topics.

The run is checked against the protocol. The same files give the same run.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import get_args

from assay.cli.formulas import note
from assay.cli.main import add, add_actions, add_seed, positive
from assay.errors import InputError
from assay.pools.files import read_docnos
from assay.protocols.loader import load_protocol
from assay.protocols.schema import Tokenizer
from assay.ranking import depth_of, line_form
from assay_extensions.baselines.commands.runs import (
    add_run_options,
    progress_bars,
    read_topic_rows,
    write_run_file,
)
from assay_extensions.baselines.formula_index import FormulaSource, build, index_files
from assay_extensions.baselines.formula_trees import KINDS as TREES
from assay_extensions.baselines.linked_posts import KINDS, LINKS, linked_posts, read_links, read_questions
from assay_extensions.baselines.postings import index_folder, states_of
from assay_extensions.baselines.tangent_s import check_unit, query_of, tangent_s, within
from assay_extensions.baselines.text import K1, B, TextIndex, text

EXAMPLE = "assay baseline bm25 --protocol arqmath-2020-task1 --topics topics.xml --collection documents.jsonl"
LINKED_EXAMPLE = (
    "assay baseline linked-posts --protocol arqmath-2020-task1 --topics topics.xml --collection documents.jsonl "
    "--links links.tsv --questions questions.tsv"
)

TANGENT_EXAMPLE = (
    "assay baseline tangent-s --protocol arqmath-2021-task2 --topics formula-topics.xml --formulas formulas-slt.tsv "
    "--topic-formulas topic-formulas-slt.tsv"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = add_actions(parser, "BASELINE")
    for name, words in (("tf-idf", "TF-IDF, as Terrier computes it"), ("bm25", "BM25")):
        example = EXAMPLE.replace("bm25", name)
        _add_text_options(actions.add_parser(name, help=f"text retrieval by {words}", example=example), name)
    _add_tangent_options(
        actions.add_parser(
            "tangent-s", help="formula retrieval by symbol layout and operator trees", example=TANGENT_EXAMPLE
        )
    )
    linked = actions.add_parser(
        "linked-posts", help="answers of questions of which a topic is a duplicate", example=LINKED_EXAMPLE
    )
    _add_input_options(linked, tag="linked-posts")
    _add_collection(linked)
    linked.add_argument(
        "--links",
        type=Path,
        metavar="FILE",
        help=f"TSV of question, linked question and kind (default: {LINKS} in the folder of a build)",
    )
    linked.add_argument(
        "--questions",
        type=Path,
        metavar="FILE",
        help="lines of topic and its question (default: the attribute thread of each topic)",
    )
    linked.add_argument(
        "--related", action="store_true", help="follow links to related questions too, not only to duplicates"
    )


def _add_input_options(parser: argparse.ArgumentParser, *, tag: str) -> None:
    add(parser, "--protocol")
    add(parser, "--topics", required=True)
    add(parser, "--processes")
    add_run_options(parser, tag=tag)


def _add_index(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--index",
        type=Path,
        metavar="FOLDER",
        help="folder that keeps the index for other runs; built if it is empty",
    )


def _add_collection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--collection",
        type=Path,
        required=True,
        metavar="PATH",
        help="folder that assay collection build made, or a file or folder of documents: Posts.xml, JSON lines, a "
        "table, or TREC; plain, gz, xz, bz2 or zip",
    )


def _add_tangent_options(parser: argparse.ArgumentParser) -> None:
    _add_input_options(parser, tag="tangent-s")
    add(parser, "--formulas", required=True)
    parser.add_argument(
        "--topic-formulas",
        type=Path,
        action="append",
        required=True,
        metavar="INDEX",
        help="formula index of the topics, or folder of indexes; repeat it for more files",
    )
    _add_index(parser)
    parser.add_argument(
        "--candidates",
        type=positive,
        metavar="N",
        help="distinct formulas of each kind of tree that are compared with that of a topic (default: 2000 if the "
        "protocol retrieves formulas, else 1000)",
    )
    parser.add_argument(
        "--pool",
        type=Path,
        metavar="FILE",
        help="only formulas of the posts that this pool of a question task has for the topic with the same number",
    )
    add_seed(parser)


def _add_text_options(parser: argparse.ArgumentParser, name: str) -> None:
    _add_input_options(parser, tag=name)
    _add_collection(parser)
    _add_index(parser)
    parser.add_argument(
        "--tokenizer",
        choices=get_args(Tokenizer),
        help="how text is cut into tokens (default: the protocol's)",
    )
    if name == "bm25":
        parser.add_argument(
            "--k1", type=_number, default=K1, metavar="X", help=f"saturation of frequencies (default: {K1})"
        )
        parser.add_argument(
            "--b", type=_share, default=B, metavar="X", help=f"weight of the length, 0 to 1 (default: {B})"
        )
    parser.set_defaults(**({} if name == "bm25" else {"k1": K1, "b": B}))


def _number(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1000:
        raise argparse.ArgumentTypeError(f"{word!r} is not a number from 0 to 1000")
    return value


def _share(word: str) -> float:
    value = _number(word)
    if value > 1:
        raise argparse.ArgumentTypeError(f"{word!r} is not a number from 0 to 1")
    return value


def run(arguments: argparse.Namespace) -> int:
    actions = {"linked-posts": _linked_posts, "tangent-s": _tangent_s}
    return actions.get(arguments.action, _text)(arguments)


def _text(arguments: argparse.Namespace) -> int:
    protocol = load_protocol(arguments.protocol)
    line_form(protocol)
    topics = read_topic_rows(arguments.topics, protocol)
    index = TextIndex(
        arguments.collection,
        protocol,
        folder=arguments.index,
        tokenizer=arguments.tokenizer,
        processes=arguments.processes,
        progress=progress_bars(arguments),
    )
    ranked = text(
        topics,
        index,
        model=arguments.action,
        depth=depth_of(protocol, arguments.depth),
        k1=arguments.k1,
        b=arguments.b,
    )
    reason = "no document has a token of theirs"
    codes = [topic.code for topic in topics]
    return write_run_file(
        ranked, arguments, protocol=protocol, topics=codes, reason=reason, skipped=index.skipped
    )


def _tangent_s(arguments: argparse.Namespace) -> int:
    protocol = load_protocol(arguments.protocol)
    line_form(protocol)
    check_unit(protocol)
    topics = read_topic_rows(arguments.topics, protocol)
    progress = progress_bars(arguments)
    of_topics = FormulaSource(index_files(arguments.topic_formulas), processes=0)
    strings = of_topics.strings()
    if not any(strings.values()):
        reasons = "; ".join(f"{n:,}: {reason}" for reason, n in of_topics.skipped.items())
        raise InputError(f"no formula of the topics has a tree ({reasons})")
    queries = [query_of(topic, strings, arguments.seed) for topic in topics]
    if arguments.pool:
        queries = within(queries, read_docnos(arguments.pool))
    source = FormulaSource(index_files(arguments.formulas), arguments.processes, progress)
    settings: dict[str, object] = {kind: states_of(source.files[kind]) for kind in TREES}
    with index_folder(arguments.index, settings, partial(build, source=source)) as folder:
        ranked = tangent_s(
            queries,
            folder,
            unit=protocol.unit,
            depth=depth_of(protocol, arguments.depth),
            n_candidates=arguments.candidates,
            processes=arguments.processes,
            progress=progress,
        )
        for kind in TREES:
            if not source.files[kind] or not strings[kind]:
                note(f"without {kind.upper()}: the formulas or those of the topics have none", arguments)
        return write_run_file(
            ranked,
            arguments,
            protocol=protocol,
            topics=[topic.code for topic in topics],
            reason="they have no formula with a tree, or no formula has symbols in common",
            skipped=source.skipped,
        )


def _linked_posts(arguments: argparse.Namespace) -> int:
    protocol = load_protocol(arguments.protocol)
    line_form(protocol)
    if protocol.unit != "answer":
        raise InputError(f"linked posts are answers, but {protocol.slug} retrieves {protocol.unit} units")
    topics = read_topic_rows(arguments.topics, protocol)
    links = arguments.links or arguments.collection / LINKS
    if not links.is_file():
        raise InputError(f"there is no {links}; name the table of links (--links)")
    kinds = KINDS if arguments.related else KINDS[:1]
    ranked = linked_posts(
        topics,
        arguments.collection,
        depth=depth_of(protocol, arguments.depth),
        links=read_links(links, kinds),
        questions=read_questions(arguments.questions) if arguments.questions else None,
        processes=arguments.processes,
        progress=progress_bars(arguments),
    )
    words = "linked questions" if arguments.related else "duplicates"
    return write_run_file(
        ranked,
        arguments,
        protocol=protocol,
        topics=[topic.code for topic in topics],
        reason=f"they have no {words} with answers in the collection",
    )
