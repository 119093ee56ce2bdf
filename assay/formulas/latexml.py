r"""LaTeX as Presentation and Content MathML by LaTeXML, many formulas at a time.

LaTeXML starts in one to two seconds and then needs about 40 ms for a formula, so it gets a document of 100 formulas.
A formula that breaks the document is found by trying again with ten, and then with one. A process may use a limited
amount of memory, processor time and disk; where it runs longer than it should, it is ended with all that it started. It
reads no files but its own: formulas are texts of strangers.

Two properties of ARQMath's conversion are left out on purpose. It kept only the first `math` element of a formula: here
all are kept, in one row. And it removed `share` elements, so that a < b < c lost an operand: here the operand is
copied.
"""

import copy
import os
import re
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from lxml import etree

from assay.errors import InputError
from assay.formulas.mathml import MATHML

PROGRAM: Final = "latexmlc"
BATCHES: Final = (100, 10, 1)
MEMORY: Final = 2_000_000  # kilobytes of address space
_SECONDS: Final = (15, 1)  # processor time of a process, and of each formula
_WALL: Final = 20  # a process may wait for the processor this many times longer
_WRITTEN: Final = 64_000_000  # bytes of a file that a process may write, such as its output
_LONGEST: Final = 2_000_000  # characters of a formula's MathML
_OPTIONS: Final = (
    "--preload=amsmath --preload=amsfonts --preload=guard.sty --pmml --cmml --profile=fragment --log=log -"
)
# LaTeXML looks for all files that TeX reads with this function.
_GUARD: Final = r"""
package LaTeXML::Package::Pool;
use LaTeXML::Package;
my ($own, $find) = ($INC{'LaTeXML/Package.pm'} =~ s/\.pm$//r, \&LaTeXML::Package::FindFile_aux);
no warnings 'redefine';
*LaTeXML::Package::FindFile_aux = sub {
  my $path = $find->(@_);
  return defined $path && $path =~ m{^\Q$own\E/[^/]+\.ltxml$} ? $path : undef; };
1;
"""
_XHTML: Final = "{http://www.w3.org/1999/xhtml}"
_M: Final = f"{{{MATHML}}}"
_NAMESPACES: Final[Any] = {None: MATHML}
_LABEL: Final = re.compile(r"Formula #(\d+):")
_LATE: Final = "LaTeXML did not end in time"
_ENDED: Final[dict[int, str]] = {  # by the signal that ends it at a limit
    signal.SIGXCPU: _LATE,
    signal.SIGKILL: _LATE,
    signal.SIGXFSZ: f"LaTeXML writes more than {_WRITTEN // 1_000_000} MB",
}
_MESSAGE: Final = re.compile(r"^(?:Error|Fatal):(.*)$", re.MULTILINE)


class Conversion(NamedTuple):
    """MathML of a formula; empty with the reason in `message` where there is none."""

    presentation: str = ""
    content: str = ""
    message: str = ""


class _Output(NamedTuple):
    """Paragraphs of formulas, and whether the formula after them broke the document."""

    paragraphs: list[etree._Element]
    message: str
    has_broken: bool = False


@cache
def version() -> str:
    """The version of the installed LaTeXML, such as 0.8.7. Raises `InputError` if it is not installed."""
    if shutil.which(PROGRAM) is None:
        raise InputError(
            f"LaTeXML is not installed: there is no {PROGRAM}. Install it (Debian, Ubuntu: apt-get install latexml), "
            "or use the converter latex2mathml, which makes Presentation MathML only."
        )
    result = subprocess.run([PROGRAM, "--VERSION"], capture_output=True, text=True, check=False)
    match = re.search(r"LaTeXML version ([\w.]+)", result.stdout + result.stderr)
    return match[1] if match else "unknown"


def convert(formulas: Sequence[str]) -> list[Conversion]:
    """The MathML of prepared formulas, in their order."""
    return list(_converted(formulas, 0))


def _converted(formulas: Sequence[str], level: int) -> Iterator[Conversion]:
    """Convert batches of a size. The formula that breaks the document is tried alone, and the others again."""
    position = 0
    while position < len(formulas):
        batch = formulas[position : position + BATCHES[level]]
        position += len(batch)
        if len(batch) == 1:
            yield _single(batch[0])
            continue
        output = _run(batch)
        yield from map(_conversion, output.paragraphs)
        n = len(output.paragraphs)
        if output.has_broken:
            yield _single(batch[n])
            position += n + 1 - len(batch)
        elif n < len(batch):
            yield from _converted(batch, next(at for at, size in enumerate(BATCHES) if size < len(batch)))


def _single(formula: str) -> Conversion:
    output = _run([formula])
    conversion = _conversion(output.paragraphs[0]) if output.paragraphs else Conversion()
    return conversion if any(conversion) else Conversion(message=output.message)


def _run(formulas: Sequence[str]) -> _Output:
    """The paragraphs of the formulas before the first one that breaks the document, if there is one.

    After several formulas there is a label without a formula, so that it shows if the last one breaks the document.
    """
    parts = [f"Formula \\#{n}: {{${formula}$}}" for n, formula in enumerate(formulas)]
    parts += [f"Formula \\#{len(formulas)}:"] * (len(formulas) > 1)
    output, errors = _process("\n\n".join(parts) + "\n", seconds=_SECONDS[0] + _SECONDS[1] * len(formulas))
    if output is None:
        return _Output([], errors)
    words = [" ".join(message.split())[:200] for message in _MESSAGE.findall(errors)]
    message = words[0] if words else "LaTeXML made no formula of it"
    try:
        page = etree.fromstring(
            output, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
        )
    except etree.LxmlError:
        return _Output([], message)
    labels = ((p, _LABEL.match(p.text or "")) for p in page.iter(f"{_XHTML}p"))
    labeled = [(p, int(label[1])) for p, label in labels if label]
    right = [p for n, (p, number) in enumerate(labeled) if number == n]
    if len(right) == len(parts) == len(labeled):
        return _Output(right[: len(formulas)], message)
    return _Output(right[:-1], message, has_broken=bool(right))


def _process(document: str, *, seconds: int) -> tuple[bytes | None, str]:
    """The output and the messages of LaTeXML; no output, and the reason, if it reached a limit."""
    limits = (
        f"ulimit -v {MEMORY}; ulimit -t {seconds}; ulimit -f {_WRITTEN // 512}; exec {PROGRAM} {_OPTIONS}"
    )
    # LaTeXML replaces the file of its log: as root, /dev/null itself. So the log goes to a folder of its own.
    with TemporaryDirectory(prefix="assay-latexml-") as folder:
        Path(folder, "guard.sty.ltxml").write_text(_GUARD)
        # Not pipes: the size of files is limited.
        output, errors = Path(folder, "output"), Path(folder, "errors")
        with (
            output.open("wb") as out,
            errors.open("wb") as err,
            subprocess.Popen(
                ["/bin/sh", "-c", limits], cwd=folder,
                stdin=subprocess.PIPE, stdout=out, stderr=err, start_new_session=True,
            ) as process,
        ):  # fmt: skip
            try:
                process.communicate(document.encode(), timeout=_WALL * seconds)
            except subprocess.TimeoutExpired:
                return None, _LATE
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # with all that it started
        if reason := _ENDED.get(-process.returncode):
            return None, reason
        return output.read_bytes(), errors.read_text(errors="replace")


def _conversion(paragraph: etree._Element) -> Conversion:
    """The MathML in the paragraph of a formula."""
    elements = [m for m in paragraph.iter(f"{_M}math") if not any(p.tag == m.tag for p in m.iterancestors())]
    try:
        contents = [element for math in elements for element in _taken_content(math)]
    except ValueError as error:
        return Conversion(message=str(error))
    # Text that is not in the formulas, as in `\\mbox{if $a$}`, which LaTeXML writes as text.
    everything = "".join(map(str, paragraph.itertext()))
    inside = sum(len("".join(map(str, math.itertext()))) for math in paragraph.iter(f"{_M}math"))
    if not elements or len(_LABEL.sub("", everything).strip()) > inside:
        text = _LABEL.sub("", " ".join(everything.split())).strip()
        if not text:
            return Conversion()
        words, outer = etree.Element(f"{_M}mtext", nsmap=_NAMESPACES), etree.Element(f"{_M}ci")
        words.text = text
        outer.append(copy.deepcopy(words))
        return Conversion(_written(text, [words], is_content=False), _written(text, [outer], is_content=True))
    # The presentation of a formula, without `semantics`.
    inner = (element for math in elements for element in math)
    presentation = [
        child for element in inner for child in (element if element.tag == f"{_M}semantics" else [element])
    ]
    alttext = " ".join(math.get("alttext", "") for math in elements)
    conversion = Conversion(
        _written(alttext, presentation, is_content=False),
        _written(alttext, contents, is_content=True),
    )
    is_long = max(map(len, conversion)) > _LONGEST
    return Conversion(message=f"the MathML is longer than {_LONGEST:,} characters") if is_long else conversion


def _taken_content(math: etree._Element) -> list[etree._Element]:
    """Take the Content MathML out of a formula, with a copy of the operand instead of each `share`."""
    taken = []
    for annotation in list(math.iter(f"{_M}annotation-xml", f"{_M}annotation")):
        parent = annotation.getparent()
        if annotation.get("encoding") == "MathML-Content":
            taken += list(annotation)
        if parent is not None:
            parent.remove(annotation)
    for content in taken:
        # A copy of the operand takes the place of each `share`; it may contain one, too.
        by_id = {element.get("id"): element for element in content.iter(etree.Element)}
        n, waiting = 0, deque(content.iter(f"{_M}share"))
        while waiting:
            share = waiting.popleft()
            source, parent = by_id.get(share.get("href", "").removeprefix("#")), share.getparent()
            if parent is None:
                continue
            if source is None:  # the id is missing in some formulas: the last operand of the relation before
                before = parent.getprevious()
                source = before[-1] if before is not None and len(before) else etree.Element(f"{_M}ci")
            operand = copy.deepcopy(source)
            n += sum(1 for _ in operand.iter())
            if n > _LONGEST // 100:
                raise ValueError("its operands are shared too often")
            operand.tail = None
            parent.replace(share, operand)
            waiting.extend(operand.iter(f"{_M}share"))
    return taken


def _written(alttext: str, elements: Sequence[etree._Element], *, is_content: bool) -> str:
    """A `math` element in the published form, without ids."""
    if not elements:
        return ""
    math = etree.Element(f"{_M}math", nsmap=_NAMESPACES)
    math.set("alttext", alttext)
    math.set(*(("encoding", "MathML-Content") if is_content else ("display", "inline")))
    outer = math if is_content else etree.SubElement(math, f"{_M}semantics")
    if len(elements) > 1:
        outer = etree.SubElement(outer, f"{_M}{'apply' if is_content else 'mrow'}")
    if is_content and len(elements) > 1:
        etree.SubElement(
            outer, f"{_M}csymbol", cd="ambiguous"
        ).text = "formulae-sequence"  # prose: allow a name of LaTeXML
    outer.extend(elements)
    for element in math.iter(etree.Element):
        for name in ("id", "xref"):
            if name in element.attrib:
                del element.attrib[name]
    etree.cleanup_namespaces(math)
    return etree.tostring(math, encoding="unicode", with_tail=False)
