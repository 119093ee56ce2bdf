"""The columns of Turkle's results, and of Mechanical Turk's, which look the same.

`Input.*` are the columns of the tasks, `Answer.*` the fields of the form. Their names depend on the project, so usual
ones are recognized and others have to be named.
"""

from collections.abc import Sequence

from assay.formats import names

INPUT, ANSWER = "input.", "answer."
USERNAME, WORKER = "Turkle.Username", "WorkerId"
FIXED = {"accepted_at": "AcceptTime", "judged_at": "SubmitTime", "seconds": "WorkTimeInSeconds"}
USUAL = {
    "topic": (INPUT, (*names.QRELS["topic"].names, "topicid", "topic_code", "topic_number")),
    "docno": (INPUT, (*names.QRELS["docno"].names, "document", "document_id", "answer_id", "postid")),
    "grade": (ANSWER, (*names.QRELS["grade"].names, "rating", "label", "judgment", "choice", "answer")),
    "comment": (ANSWER, ("comment", "comments", "note", "notes", "remark", "remarks")),
}


def is_turkle(header: Sequence[str]) -> bool:
    """Whether these are the columns of Turkle's results."""
    has_worker = USERNAME in header or WORKER in header
    return has_worker and any(name.lower().startswith(ANSWER) for name in header)


def turkle_columns(header: Sequence[str]) -> dict[str, str]:
    """The column of each field, where the header has a usual name for it."""
    lower = {name.lower(): name for name in header}
    columns = {of_field: column for of_field, column in FIXED.items() if column in header}
    columns["assessor"] = USERNAME if USERNAME in header else WORKER
    for of_field, (prefix, usual) in USUAL.items():
        column = next((lower[prefix + name] for name in usual if prefix + name in lower), None)
        if column is not None:
            columns[of_field] = column
    return columns
