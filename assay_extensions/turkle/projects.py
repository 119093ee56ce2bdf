"""Projects of Turkle, or labs that were made of another tool's projects, among the files of one upload.

The content says what a file is: a template is HTML, or JSON as `turkle-client projects retrieve` prints it; a CSV file
is the rows of a batch or its results; `lab.toml`, `rows.csv` and `judgments.csv` are a lab. In a zip file, each folder
with a template or a lab is a project. Results belong to the batch from which Turkle made their name, or else to the one
whose rows they have.
"""

import json
import lzma
import re
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import islice
from pathlib import Path, PurePosixPath

from assay.errors import InputError
from assay.formats.compression import EMPTY_ZIP, ZIP, Unreadable, check_directory, files_in
from assay.formats.judgments.cells import choice_of
from assay.formats.judgments.reader import JudgmentsError, open_judgments
from assay.formats.judgments.rows import JudgmentRow
from assay.formats.judgments.turkle import INPUT
from assay.formats.moving import JUDGMENTS_FILE, LAB_FILE, ROWS_FILE, judgments_csv, rows_csv
from assay.formats.rows import TableRow, read_rows
from assay.formats.text import decoded
from assay.protocols.loader import parse_protocol
from assay.protocols.questions import WrongAnswer, check_answers, questions_for
from assay.protocols.schema import JudgingRules, Protocol
from assay_extensions.turkle.moves import Line, Table, move, read_table

MAX_FILES, MAX_BYTES = 1_000, 128 << 20  # of an upload, unpacked
MAX_DIRECTORY = 1 << 20  # bytes of the list of files of a zip
MAX_PROBLEMS = 100
RESULTS_NAME = re.compile(r"(.+)-Batch_\d+_results")  # as Turkle names the results of a batch
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, UnicodeDecodeError),
    *(EOFError, NotImplementedError, RuntimeError),
)
UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # JSON can write them
TEMPLATES = (".html", ".htm")
LAB_FILES = (LAB_FILE, ROWS_FILE, JUDGMENTS_FILE)
ACCEPTED = "accepted: a template in HTML, batches and results in CSV, or lab.toml, rows.csv and judgments.csv"


@dataclass
class ProjectFiles:
    """The files of a project. `title` is that in the results, or the name of the folder; `name` that of the folder."""

    name: str
    title: str
    template: str = ""
    template_name: str = ""
    batches: dict[str, Table] = field(default_factory=dict)
    results: dict[str, Table] = field(default_factory=dict)
    lab: dict[str, bytes] = field(default_factory=dict)  # by name, if it is a lab

    @property
    def n_lines(self) -> int:
        """The number of its rows and judgments, as far as it is known before they are read."""
        tables = [*self.batches.values(), *self.results.values()]
        return sum(len(table.lines) for table in tables) + sum(
            data.count(b"\n") for name, data in self.lab.items() if name.endswith(".csv")
        )

    @property
    def slug(self) -> str:
        """A short name that the project could have."""
        return slug_of_words(self.title) or slug_of_words(self.name) or "project"


@dataclass(frozen=True)
class Lab:
    """A project as the files of a lab, with their content. `problems` are errors of judgments, each with its place.

    `places` has the file and the line of each judgment, as they were given.
    """

    name: str
    text: str
    rows_csv: bytes
    judgments_csv: bytes
    protocol: Protocol
    rows: list[TableRow]
    judgments: list[JudgmentRow]
    places: Sequence[str]
    notes: list[str]
    problems: list[str]


Report = Callable[[int, str], None]  # with the number of lines that are done, and the step


def silent(_done: int, _step: str) -> None:
    """Report nothing."""


def slug_of_words(words: str) -> str:
    """Words as a short name; nothing if they have no letter or digit of ASCII.

    >>> slug_of_words("Is it relevant?")
    'is-it-relevant'
    """
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:100].strip("-")


def projects_in(files: Mapping[str, bytes]) -> list[ProjectFiles]:
    """The projects in files, by name. A zip file is read as its files.

    Raises:
        InputError: A file is of no known kind, or belongs to no project or to several.
    """
    folders: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
    for name, data in unpacked(files):
        path = PurePosixPath(name)
        folders[str(path.parent) if path.parent != PurePosixPath() else ""][path.name] = data
    if not folders:
        raise InputError(f"no files; {ACCEPTED}")
    whole = next(iter(files)) if len(files) == 1 else ""
    return [_project(folder, of, Path(whole).stem) for folder, of in sorted(folders.items())]


def unpacked(files: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """The files of an upload with their paths, those of a zip file too.

    Raises:
        InputError: They are too many or too large, two have the same path, or a zip file is damaged.
    """
    left, seen = MAX_BYTES, set()
    for name, data in files.items():
        contents = [(name, data)]
        if data.startswith((ZIP, EMPTY_ZIP)):
            try:
                check_directory(BytesIO(data), MAX_DIRECTORY)
                with zipfile.ZipFile(BytesIO(data)) as archive:
                    members = [member for member in files_in(archive) if not _is_hidden(member)]
                    left -= sum(member.file_size for member in members)
                    _check_size(name, left, len(members))
                    contents = [(member.filename, archive.read(member)) for member in members]
            except Unreadable as error:
                raise InputError(str(error.named(name))) from None
            except BROKEN as error:
                raise InputError(f"{name}: a damaged or encrypted zip file: {error}") from None
        else:
            left -= len(data)
        for path, content in contents:
            if path in seen:
                raise InputError(f"{path}: a second file of this name; give each project a folder of its own")
            seen.add(path)
            yield path, content
    _check_size("the files", left, len(files))


def _is_hidden(member: zipfile.ZipInfo) -> bool:
    parts = PurePosixPath(member.filename).parts
    return any(part.startswith((".", "__MACOSX")) for part in parts)


def _check_size(name: str, left: int, n_files: int) -> None:
    if left < 0:
        raise InputError(f"{name}: more than {MAX_BYTES >> 20} MB, unpacked; import fewer projects at a time")
    if n_files > MAX_FILES:
        raise InputError(f"{name}: {n_files:,} files; at most {MAX_FILES:,} are accepted")


def _project(folder: str, files: Mapping[str, bytes], otherwise: str) -> ProjectFiles:
    name = PurePosixPath(folder).name or otherwise
    project = ProjectFiles(folder, name)
    if LAB_FILE in files:
        if others := sorted(set(files) - set(LAB_FILES)):
            raise InputError(f"{_path(folder, others[0])}: not a file of a lab; use {', '.join(LAB_FILES)}")
        if ROWS_FILE not in files:
            raise InputError(f"{_path(folder, LAB_FILE)}: {ROWS_FILE} is missing in its folder")
        project.lab = {_path(folder, name): data for name, data in files.items()}
        return project
    tables: list[Table] = []
    for member, data in sorted(files.items()):
        path = _path(folder, member)
        text, suffix = _text(data, path), PurePosixPath(member).suffix.lower()
        title, html = _client_template(text, path) if suffix in {".json", ".jsonl"} else ("", text)
        if suffix in TEMPLATES or title or (suffix != ".csv" and text.lstrip().startswith("<")):
            if project.template_name:
                problem = (
                    f"a second template; the first is {project.template_name}; give each project a folder"
                )
                raise InputError(f"{path}: {problem}")
            project.template, project.template_name, project.title = html, path, title or project.title
        elif suffix == ".csv":
            tables.append(read_table(text, path))
        else:
            raise InputError(f"{path}: not a file of a project; {ACCEPTED}")
    _sort(project, tables)
    titles = [line.cells.get("Title", "") for table in project.results.values() for line in table.lines[:1]]
    project.title = next(filter(None, [*titles, project.title, *project.batches]), "Turkle")
    return project


def _path(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _text(data: bytes, name: str) -> str:
    text = decoded(data, name).text
    if (place := text.find("\0")) >= 0:
        line = text.count("\n", 0, place) + 1
        raise InputError(f"{name}: line {line}: a NUL character; save it as plain text in UTF-8")
    return text


def _client_template(text: str, name: str) -> tuple[str, str]:
    """Title and template of a project as Turkle's client prints it."""
    try:
        project = json.loads(text)
    except (ValueError, RecursionError):
        project = None
    html = project.get("html_template") if isinstance(project, dict) else None
    if not isinstance(project, dict) or not isinstance(html, str):
        raise InputError(
            f"{name}: line 1: expected one project with html_template, as turkle-client prints it"
        )
    title = str(project.get("name") or PurePosixPath(name).stem)
    if UNSTORABLE.search(title + html):
        raise InputError(f"{name}: line 1: a NUL character or half of a surrogate pair, which no text has")
    return title, html


def _sort(project: ProjectFiles, tables: Iterable[Table]) -> None:
    """Find the batch of each file of results."""
    where = f"the folder {project.name}" if project.name else "the files"
    if not project.template_name:
        raise InputError(f"{where}: no template; {ACCEPTED}")
    of_kind: dict[bool, list[Table]] = {True: [], False: []}
    for table in tables:
        of_kind[table.is_results].append(table)
    if not of_kind[True] and not of_kind[False]:
        raise InputError(f"{project.template_name}: no batch with it; add its input or its results as CSV")
    stems = {PurePosixPath(table.name).stem: table for table in of_kind[False]}
    project.batches = stems
    for table in of_kind[True]:
        name = _batch_of(table, stems)
        if name in project.results:
            raise InputError(f"{table.name}: results of the batch {name}, as {project.results[name].name} is")
        project.results[name] = table


def _batch_of(results: Table, batches: Mapping[str, Table]) -> str:
    """The name of the batch of results: by the name that Turkle gives them, or by their rows; without any, their own.

    Results that are of no batch belong to the one with their columns, so that a wrong row is named.
    """
    stem = PurePosixPath(results.name).stem
    match = RESULTS_NAME.fullmatch(stem)
    own = match[1] if match else stem
    if not batches or own in batches:
        return own
    with_columns = [name for name, table in batches.items() if set(table.columns) == set(results.inputs)]
    wanted = {_row(line, INPUT) for line in results.lines}
    with_rows = [name for name in with_columns if wanted <= {_row(line) for line in batches[name].lines}]
    candidates = with_rows or with_columns
    if len(candidates) == 1 or (candidates and not with_rows):
        return candidates[0]
    if candidates:
        names = ", ".join(candidates)
        raise InputError(
            f"{results.name}: results of any of {names}; name the file BATCH-Batch_1_results.csv"
        )
    columns = ", ".join(results.inputs)
    raise InputError(
        f"{results.name}: line 1: no batch has the columns {columns}; add its input or rename the file"
    )


def _row(line: Line, prefix: str = "") -> tuple[tuple[str, str], ...]:
    cells = line.cells.items()
    return tuple(sorted((name.removeprefix(prefix), text) for name, text in cells if name.startswith(prefix)))


def lab_of(project: ProjectFiles, *, slug: str = "", title: str = "", report: Report = silent) -> Lab:
    """The lab that a project becomes, without its tables after that.

    The protocol of Turkle's projects gets the slug and the title.

    Args:
        report: is called with the number of lines that are done, of `n_lines`, in each of two steps.

    Raises:
        InputError: Files contradict each other, or the protocol has an error.
    """
    if project.lab:
        path = _path(project.name, LAB_FILE)
        text = _text(project.lab[path], path)
        rows = project.lab[_path(project.name, ROWS_FILE)]
        name = _path(project.name, ROWS_FILE)
        judgments = project.lab.get(_path(project.name, JUDGMENTS_FILE), b"")
        return _lab(project, text, rows, judgments, name=name, report=report)
    moved = move(
        project.template,
        name=project.template_name,
        slug=slug or project.slug,
        title=title or project.title,
        batches=project.batches,
        results=project.results,
        report=lambda n: report(n, "reading"),
    )
    name = ", ".join(table.name for table in (project.batches or project.results).values())
    rows, judgments = rows_csv(moved).encode(), judgments_csv(moved).encode() if moved.judgments else b""
    for used in (project.batches, project.results, moved.rows, moved.judgments):
        used.clear()  # a large project needs the memory
    lab = _lab(project, moved.protocol, rows, judgments, moved.places, name=name, report=report)
    return replace(lab, notes=moved.notes)


def _lab(
    project: ProjectFiles,
    text: str,
    rows_data: bytes,
    judgments_data: bytes,
    given: Sequence[str] = (),
    *,
    name: str,
    report: Report,
) -> Lab:
    """A lab of its files. `given` are the places of its judgments, and `name` the file of its rows."""
    path = project.template_name or _path(project.name, LAB_FILE)
    protocol = parse_protocol(text, name=path)
    form = protocol.judging.form
    if form is None:
        raise InputError(f"{path}: the protocol judges no rows; its layout is {protocol.judging.layout}")
    rows = read_rows(rows_data, name, fields=form.fields)
    file = _path(project.name, JUDGMENTS_FILE)
    judgments: list[JudgmentRow] = []
    try:
        for row in open_judgments(BytesIO(judgments_data), file).rows if judgments_data else ():
            judgments.append(row)
            report(len(rows) + len(judgments), "checking")
    except JudgmentsError as error:
        if not given:
            raise
        # Each judgment is one line below the header
        lines = [f"{given[complaint.line - 2]}: {complaint.message}" for complaint in error.complaints]
        raise InputError("\n".join(lines)) from None
    places = given or [f"{file}: line {row.line}" for row in judgments]
    problems = list(
        islice(_problems(protocol.judging, rows, zip(places, judgments, strict=True)), MAX_PROBLEMS)
    )
    return Lab(project.name, text, rows_data, judgments_data, protocol, rows, judgments, places, [], problems)


def _problems(
    rules: JudgingRules, rows: Iterable[TableRow], judgments: Iterable[tuple[str, JudgmentRow]]
) -> Iterator[str]:
    units = {(row.topic, row.docno): row.fields for row in rows}
    place_of: dict[tuple[str, ...], str] = {}
    judges: Counter[tuple[str, ...]] = Counter()
    for place, row in judgments:
        if (row.topic, row.docno) not in units:
            yield f"{place}: {row.topic} {row.docno} is no row of the table"
        try:
            fields = units.get((row.topic, row.docno), {})
            questions = questions_for(rules, lengths={name: len(text) for name, text in fields.items()})
            choice = choice_of(row, rules)
            check_answers(rules, questions, choice=choice.key, answers=row.answers, needs_all=False)
        except (ValueError, WrongAnswer) as error:
            yield f"{place}: {error}"
        key = (row.batch, row.assessor, row.topic, row.docno)
        if not row.assessor:
            yield f"{place}: no worker is named"
        elif row.is_current and place_of.setdefault(key, place) != place:
            yield f"{place}: {row.assessor} judged this row already, in {place_of[key]}"
        elif row.is_current and row.kind in {"", "main"}:
            judges[row.batch, row.topic, row.docno] += 1
            if judges[row.batch, row.topic, row.docno] == rules.judges + 1:
                problem = "this row has more assignments than MaxAssignments or the protocol's judges allow"
                yield f"{place}: {problem}, {rules.judges}"
