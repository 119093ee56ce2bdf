"""Evaluate a run as trec_eval 10.0 does: `assay trec_eval [options] QRELS RUN`."""

import sys
from collections.abc import Sequence

from assay.trec_eval.catalog import MEASURES, NICKNAMES, parse_measures
from assay.trec_eval.evaluation import evaluate
from assay.trec_eval.files import read_zscores
from assay.trec_eval.options import NOTHING_COMMON, USAGE_LINE, Options, TrecEvalError, parse
from assay.trec_eval.output import lines_of

VERSION = "trec_eval version 10.0, as Assay computes it\n"
OPTIONS = """
options:
  -q                       also print the values of each topic
  -n                       do not print the values of all topics together
  -c                       average over all topics of QRELS; a topic missing from RUN counts 0 (otherwise: left out)
  -l LEVEL                 lowest grade that counts as relevant (default: 1)
  -J                       remove unjudged documents before computing
  -M DEPTH                 use only the first DEPTH documents of each topic
  -N NUMBER                number of documents in the collection, for utility
  -m MEASURE[.PARAMETERS]  measure, or nickname of several; repeat it for more (default: official)
  -R FORMAT                format of QRELS: qrels, qrels_jg (qrels of several groups of assessors), prefs
                           (preferences), qrels_prefs (qrels read as preferences)
  -Z FILE                  print Z scores; FILE has a topic, measure, mean and standard deviation per line
  -D LEVEL.TOPIC           evaluate only this topic
  -h, -v                   print this help, or the version

QRELS has a topic, 0, docno and grade per line. RUN has a topic, Q0, docno, rank, score and tag per line. Documents are
ordered by score, then by docno, both descending. A file may be compressed with gz, xz or zip, or be - for standard
input. A line that begins with # is a comment.

example:
  assay trec_eval -q -m map -m ndcg_cut.5 qrels.txt runs/abacus-trec.txt
"""


def main(words: Sequence[str]) -> int:
    """Run the command and return trec_eval's exit status: 0, or another one after an error."""
    try:
        output = _output(parse(words))
    except TrecEvalError as error:
        print(f"trec_eval: {error}", file=sys.stderr)  # noqa: T201
        return error.status
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()
    return 0


def _output(options: Options) -> bytes:
    if options.is_version:
        sys.stderr.write(VERSION)
        return b""
    measures = parse_measures(options.measures)
    if options.is_help:
        return _help(list(measures) if options.measures else []).encode()
    evaluation = evaluate(options, measures)
    if not evaluation.topics:
        raise TrecEvalError("no topic has both results and relevance information", status=NOTHING_COMMON)
    if evaluation.n_left_out:
        qrels, run = options.files
        sys.stderr.write(
            f"trec_eval: {evaluation.n_left_out} topics of {qrels} are not in {run} and are left out; "
            "-c counts them as 0\n"
        )
    zscores = None if options.zscores is None else read_zscores(options.zscores)
    return lines_of(
        evaluation, is_per_topic=options.is_per_topic, is_summed_up=options.is_summed_up, zscores=zscores
    )


def _help(names: list[str]) -> str:
    """The usage, and a line for each of the named measures, or for all."""
    lines = [f"{USAGE_LINE}\n{OPTIONS}\nmeasures:"]
    for name in names or MEASURES:
        default = ",".join(format(number, "g") for number in MEASURES[name].default)
        shown = f": {name}.{default}" if default else ""  # as -m accepts it
        lines.append(f"  {name:<24} {MEASURES[name].about}{shown}")
    if not names:
        lines.append("\nnicknames:")
        lines += [f"  {nickname:<24} {', '.join(measures)}" for nickname, measures in NICKNAMES.items()]
    return "\n".join(lines) + "\n"
