"""Evaluate a run as trec_eval 10.0 does: `assay trec_eval [options] QRELS RUN`."""

import os
import sys
from collections.abc import Sequence

from assay.trec_eval.errors import NOTHING_COMMON, TrecEvalError
from assay.trec_eval.evaluation import evaluate
from assay.trec_eval.inputs.files import read_zscores
from assay.trec_eval.measures.catalog import MEASURES, NICKNAMES, asked_for
from assay.trec_eval.options import USE, Options, parse
from assay.trec_eval.output import lines_of

VERSION = "trec_eval version 10.0, as Assay computes it\n"
OPTIONS = """
  -q  values of each topic as well           -n  no values of all topics together
  -c  average over all topics of the qrels; one that the run has not counts 0 (else it is left out)
  -l LEVEL  grade from which a document is relevant (1)
  -J  unjudged documents are removed first   -M DEPTH  documents of a topic that count
  -N NUMBER  documents of the collection, for utility
  -m MEASURE[.PARAMETERS]  a measure, or a nickname of several; again for more (official)
  -R FORMAT  what QRELS is: qrels, qrels_jg (several judges), prefs (preferences), qrels_prefs (qrels as preferences)
  -Z FILE  Z scores: deviations from means of reference runs; lines of topic, measure, mean, standard deviation
  -D LEVEL.TOPIC  this topic only

QRELS: topic, 0, docno, grade. RUN: topic, Q0, docno, rank, score, tag; the order is by score, then docno, descending.
Either may be packed with gzip, or - for standard input. Lines that begin with # are comments.
"""


def main(words: Sequence[str]) -> int:
    """Run the command and give its exit status: 0, or trec_eval's for what was wrong."""
    try:
        printed = _printed(parse(words))
    except TrecEvalError as error:
        print(f"trec_eval: {error}", file=sys.stderr)  # noqa: T201
        return error.status
    try:
        sys.stdout.buffer.write(printed)
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # the reader has seen enough; nothing may be flushed at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _printed(options: Options) -> bytes:
    if options.is_version:
        sys.stderr.write(VERSION)
        return b""
    asked = asked_for(options.measures)
    if options.is_help:
        return _help(list(asked) if options.measures else []).encode()
    evaluation = evaluate(options, asked)
    if not evaluation.topics:
        raise TrecEvalError("no topic has both results and relevance information", status=NOTHING_COMMON)
    if evaluation.n_left_out:
        said = f"{evaluation.n_left_out} topics of {options.files[0]} are not in {options.files[1]} and are left out"
        sys.stderr.write(f"trec_eval: {said}; -c counts them as 0\n")
    zscores = None if options.zscores is None else read_zscores(options.zscores)
    return lines_of(
        evaluation,
        is_per_topic=options.is_per_topic,
        is_summed_up=options.is_summed_up,
        zscores=zscores,
    )


def _help(names: list[str]) -> str:
    """How the command is used, and what the named measures are, or all."""
    lines = [f"{USE}\n{OPTIONS}\nMeasures:"]
    lines += [f"  {name:<24} {MEASURES[name].about}{_default(name)}" for name in names or MEASURES]
    if not names:
        lines.append("\nNicknames:")
        lines += [f"  {nickname:<24} {', '.join(measures)}" for nickname, measures in NICKNAMES.items()]
    return "\n".join(lines) + "\n"


def _default(name: str) -> str:
    """What the parameters are if nobody gives any, in the way to give them."""
    numbers = MEASURES[name].default
    return f": {name}.{','.join(format(number, 'g') for number in numbers)}" if numbers else ""
