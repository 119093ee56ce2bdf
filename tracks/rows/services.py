"""Import the rows of a table into a track whose protocol judges rows."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from assay.formats.rows import BadRows, TableRow, read_rows
from assay.formats.text import notes_kept
from tracks.imported_files import OnStored, RowReport, record, storing, topics_refused
from tracks.models import Row, Topic, Track
from web.pages import counted

AT_ONCE = 2_000
MAX_COMPLAINTS = 100


def import_rows(
    *, track: Track, data: bytes, name: str, on_stored: OnStored = lambda report: None
) -> RowReport:
    """Import the rows of a table.

    A row that the track has already stays as it is. A track without topics gets those of the table; its topics have
    codes only.

    Raises:
        BadRows: The table cannot be used, names an unknown topic, or has a row that differs from a row of the track;
            the message lists every error with its line.
        Refused: The protocol does not judge rows.
    """
    form = track.protocol.parsed.judging.form
    if form is None:
        raise topics_refused(f"{track.protocol.slug} judges no rows; its layout is not form.")
    with notes_kept() as notes:
        rows = read_rows(data, name, fields=form.fields)
    with storing(track, data) as (current, file):
        report = store_rows(track=current, rows=rows, data=data, name=name, file=file)
        report = replace(report, notes=notes)
        on_stored(report)
    return report


def store_rows(*, track: Track, rows: Sequence[TableRow], data: bytes, name: str, file: str) -> RowReport:
    """Store the rows of a table, which is stored as `file`, in a locked track. The caller has the transaction.

    Raises:
        BadRows: As `import_rows`.
    """
    topics = _topic_ids(track, rows, name)
    stored = Row.objects.filter(topic__track=track).values_list("topic__code", "docno", "fields")
    known = {(topic, docno): fields for topic, docno, fields in stored.iterator(chunk_size=AT_ONCE)}
    complaints = []
    for row in rows:
        before = known.get((row.topic, row.docno), row.fields)
        if before != row.fields:
            differing = ", ".join(key for key in row.fields if row.fields[key] != before.get(key))
            problem = f"{row.topic} {row.docno} is here already with another {differing}"
            complaints.append((row.line, f"{problem}; rows do not change, so give it another docno"))
    if complaints:
        raise BadRows(name, complaints)
    new = [row for row in rows if (row.topic, row.docno) not in known]
    Row.objects.bulk_create(
        (Row(topic_id=topics[row.topic], docno=row.docno, fields=row.fields) for row in new),
        batch_size=AT_ONCE,
    )
    n_topics = len({row.topic for row in rows})
    record(track, data, name, "rows", n_topics, file, is_private=True)
    n_new, n_known = len(new), len(rows) - len(new)
    rest = f"; {n_known:,} {'was' if n_known == 1 else 'were'} here already" if n_known else ""
    return RowReport(n_topics, f"{counted(n_new, 'new row')}{rest}.")


def _topic_ids(track: Track, rows: Iterable[TableRow], name: str) -> dict[str, int]:
    known: dict[str, int] = dict(track.topics.values_list("code", "pk"))
    line_of = {row.topic: row.line for row in reversed(list(rows))}
    missing = [code for code in line_of if code not in known]
    if missing and known:
        complaints = [(line_of[code], f"there is no topic {code} in {track}") for code in missing]
        raise BadRows(name, sorted(complaints)[:MAX_COMPLAINTS])
    made = Topic.objects.bulk_create(
        (Topic(track=track, code=code) for code in sorted(missing)), batch_size=AT_ONCE
    )
    return known | {topic.code: topic.pk for topic in made}
