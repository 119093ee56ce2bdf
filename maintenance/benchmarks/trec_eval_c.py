"""trec_eval's own C code, from the wheel of pytrec_eval-terrier, called as its main program calls it.

As a process: `python -m maintenance.benchmarks.trec_eval_c QRELS RUN`. It imports nothing of Assay and prints what
`trec_eval QRELS RUN` prints. Structures and functions are those of trec_eval.h of trec_eval 9.
"""

import ctypes
import sys

import pytrec_eval_ext

OFFICIAL = (
    "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank",
    "iprec_at_recall", "P",
)  # fmt: skip


class Settings(ctypes.Structure):
    """EPI. The order of the fields is that of the C code."""

    _fields_ = [
        *((name, ctypes.c_long) for name in ("query_flag", "summary_flag", "debug_level")),
        ("debug_query", ctypes.c_char_p),
        *(
            (name, ctypes.c_long)
            for name in ("relation_flag", "average_complete_flag", "judged_docs_only_flag")
        ),
        *(
            (name, ctypes.c_long)
            for name in ("num_docs_in_coll", "relevance_level", "max_num_docs_per_topic")
        ),
        ("rel_info_format", ctypes.c_char_p),
        ("results_format", ctypes.c_char_p),
        ("zscore_flag", ctypes.c_long),
        ("meas_arg", ctypes.c_void_p),
    ]


class Value(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_double)]


class Values(ctypes.Structure):
    """TREC_EVAL."""

    _fields_ = [
        ("qid", ctypes.c_char_p),
        ("num_queries", ctypes.c_long),
        ("values", ctypes.POINTER(Value)),
        ("num_values", ctypes.c_long),
        ("max_num_values", ctypes.c_long),
    ]


class Ranking(ctypes.Structure):
    """RESULTS, of a topic."""

    _fields_ = [
        ("qid", ctypes.c_char_p),
        ("run_id", ctypes.c_char_p),
        ("format", ctypes.c_char_p),
        ("content", ctypes.c_void_p),
    ]


class Judgments(ctypes.Structure):
    """REL_INFO, of a topic."""

    _fields_ = [("qid", ctypes.c_char_p), ("format", ctypes.c_char_p), ("content", ctypes.c_void_p)]


class Rankings(ctypes.Structure):
    _fields_ = [("n", ctypes.c_long), ("room", ctypes.c_long), ("topics", ctypes.POINTER(Ranking))]


class AllJudgments(ctypes.Structure):
    _fields_ = [("n", ctypes.c_long), ("room", ctypes.c_long), ("topics", ctypes.POINTER(Judgments))]


class Measure(ctypes.Structure):
    """TREC_MEAS, whose functions are called by their addresses."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("explanation", ctypes.c_char_p),
        *(
            (name, ctypes.c_void_p)
            for name in ("init", "calc", "acc", "average", "print_single", "print_final")
        ),
        ("meas_params", ctypes.c_void_p),
        ("eval_index", ctypes.c_long),
    ]


def evaluate(qrels: str, run: str) -> None:
    """Print the official measures."""
    code = ctypes.CDLL(pytrec_eval_ext.__file__)
    settings = Settings(
        summary_flag=1, relation_flag=1, relevance_level=1, max_num_docs_per_topic=2**63 - 1,
        rel_info_format=b"qrels", results_format=b"trec_results",
    )  # fmt: skip
    judged, ranked = AllJudgments(), Rankings()
    if code.te_get_qrels(ctypes.byref(settings), qrels.encode(), ctypes.byref(judged)) != 1:
        raise SystemExit(f"trec_eval cannot read {qrels}")
    if code.te_get_trec_results(ctypes.byref(settings), run.encode(), ctypes.byref(ranked)) != 1:
        raise SystemExit(f"trec_eval cannot read {run}")
    measures = [Measure.in_dll(code, f"te_meas_{name}") for name in OFFICIAL]
    of_all, of_topic = Values(qid=b"all"), Values()
    call = {n: ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * n) for n in (3, 4, 5)}
    for measure in measures:
        call[3](measure.init)(*map(address, (settings, measure, of_all)))
    values = (Value * of_all.num_values)()
    ctypes.memmove(values, of_all.values, ctypes.sizeof(values))
    of_topic.values, of_topic.num_values = ctypes.cast(values, ctypes.POINTER(Value)), of_all.num_values
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
    ctypes.CDLL(None).fflush(None)


def address(structure: ctypes.Structure) -> int | None:
    return ctypes.cast(ctypes.pointer(structure), ctypes.c_void_p).value


if __name__ == "__main__":
    evaluate(*sys.argv[1:])
