"""trec_eval's own C code, from the wheel of pytrec_eval-terrier, called as its main program calls it.

As a process: `python -m maintenance.benchmarks.trec_eval_c QRELS RUN`. It imports nothing of Assay and prints what
`trec_eval QRELS RUN` prints. Structures and functions are those of trec_eval.h of trec_eval 9.
"""

import sys
from ctypes import CDLL, POINTER, Structure, byref, c_char_p, c_double, c_long, c_void_p, cast, pointer
from importlib.util import find_spec

OFFICIAL = (
    "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank",
    "iprec_at_recall", "P",
)  # fmt: skip


class Settings(Structure):
    """EPI. The order of the fields is that of the C code."""

    _fields_ = [
        *((name, c_long) for name in ("query_flag", "summary_flag", "debug_level")),
        ("debug_query", c_char_p),
        *((name, c_long) for name in ("relation_flag", "average_complete_flag", "judged_docs_only_flag")),
        *((name, c_long) for name in ("num_docs_in_coll", "relevance_level", "max_num_docs_per_topic")),
        ("rel_info_format", c_char_p),
        ("results_format", c_char_p),
        ("zscore_flag", c_long),
        ("meas_arg", c_void_p),
    ]


class Value(Structure):
    _fields_ = [("name", c_char_p), ("value", c_double)]


class Values(Structure):
    """TREC_EVAL."""

    _fields_ = [
        ("qid", c_char_p),
        ("num_queries", c_long),
        ("values", POINTER(Value)),
        ("num_values", c_long),
        ("max_num_values", c_long),
    ]


class Ranking(Structure):
    """RESULTS, of a topic."""

    _fields_ = [("qid", c_char_p), ("run_id", c_char_p), ("format", c_char_p), ("content", c_void_p)]


class Judgments(Structure):
    """REL_INFO, of a topic."""

    _fields_ = [("qid", c_char_p), ("format", c_char_p), ("content", c_void_p)]


class Rankings(Structure):
    _fields_ = [("n", c_long), ("room", c_long), ("topics", POINTER(Ranking))]


class AllJudgments(Structure):
    _fields_ = [("n", c_long), ("room", c_long), ("topics", POINTER(Judgments))]


class Measure(Structure):
    """TREC_MEAS, whose functions are called by their addresses."""

    _fields_ = [
        ("name", c_char_p),
        ("explanation", c_char_p),
        *((name, c_void_p) for name in ("init", "calc", "acc", "average", "print_single", "print_final")),
        ("meas_params", c_void_p),
        ("eval_index", c_long),
    ]


def evaluate(qrels: str, run: str) -> None:
    """Print the official measures."""
    from ctypes import CFUNCTYPE, c_int, memmove, sizeof

    found = find_spec("pytrec_eval_ext")
    assert found is not None
    assert found.origin is not None
    code = CDLL(found.origin)
    settings = Settings(
        summary_flag=1, relation_flag=1, relevance_level=1, max_num_docs_per_topic=2**63 - 1,
        rel_info_format=b"qrels", results_format=b"trec_results",
    )  # fmt: skip
    judged, ranked = AllJudgments(), Rankings()
    if code.te_get_qrels(byref(settings), qrels.encode(), byref(judged)) != 1:
        raise SystemExit(f"trec_eval cannot read {qrels}")
    if code.te_get_trec_results(byref(settings), run.encode(), byref(ranked)) != 1:
        raise SystemExit(f"trec_eval cannot read {run}")
    measures = [Measure.in_dll(code, f"te_meas_{name}") for name in OFFICIAL]
    of_all, of_topic = Values(qid=b"all"), Values()
    call = {n: CFUNCTYPE(c_int, *[c_void_p] * n) for n in (3, 4, 5)}
    for measure in measures:
        call[3](measure.init)(*map(address, (settings, measure, of_all)))
    values = (Value * of_all.num_values)()
    memmove(values, of_all.values, sizeof(values))
    of_topic.values, of_topic.num_values = cast(values, POINTER(Value)), of_all.num_values
    topics = {judged.topics[n].qid: judged.topics[n] for n in range(judged.n)}
    for n in range(ranked.n):
        ranking = ranked.topics[n]
        if ranking.qid not in topics:
            continue
        of_topic.qid = ranking.qid
        for value in values:
            value.value = 0.0
        for measure in measures:
            both = address(topics[ranking.qid]), address(ranking)
            call[5](measure.calc)(address(settings), *both, address(measure), address(of_topic))
        for measure in measures:
            call[4](measure.acc)(*map(address, (settings, measure, of_topic, of_all)))
        of_all.num_queries += 1
    for measure in measures:
        call[4](measure.average)(*map(address, (settings, measure, judged, of_all)))
        call[3](measure.print_final)(*map(address, (settings, measure, of_all)))
    CDLL(None).fflush(None)


def address(structure: Structure) -> int | None:
    return cast(pointer(structure), c_void_p).value


if __name__ == "__main__":
    evaluate(*sys.argv[1:])
