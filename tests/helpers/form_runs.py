"""Runs of formulas, NTCIR results and BOLT citations: good ones, and many that must be refused, with code and line."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from tests.helpers.runs import run_bytes, zipped

FORMULA_TOPICS = ["B.1", "B.2"]
NTCIR_TOPICS = ["M-1", "M-2"]
BOLT_TOPICS = ["T1", "T2"]


class Case(NamedTuple):
    """A run that must get an error with this code; `line` 0: the error has no line."""

    code: str
    line: int
    make: Callable[[], bytes]


# ---- formulas: Query_Id Formula_Id Post_Id Rank Score Run_Number


def formula_lines(n: int = 3) -> list[str]:
    return [
        f"{topic}\t{900 + rank}\t{40 + rank // 2}\t{rank}\t{8 - rank / 4}\tours"
        for topic in FORMULA_TOPICS
        for rank in range(1, n + 1)
    ]


def formula_run(line: int = 0, text: str = "") -> bytes:
    """The good run; if `line` is given (from 1), with that line replaced."""
    lines = formula_lines()
    if line:
        lines[line - 1] = text
    return run_bytes(lines)


# ---- NTCIR's results XML


HIT = '<hit xref="{0}" score="{1}" rank="{2}"/>'
NTCIR_HITS = [("Ring:1", "0.9", "1"), ("Field_(mathematics):2", "0.8", "2"), ("Gauß,_Carl:0", "0.7", "3")]


def ntcir_run(old: str = "", new: str = "") -> bytes:
    """The good run, one element per line; the first occurrence of `old` is replaced by `new`."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<results xmlns="http://ntcir-math.nii.ac.jp/">',
        '<run runtag="ours" runtime="23" run_type="automatic">',
    ]
    for topic in NTCIR_TOPICS:
        lines += [
            f'<result for="{topic}" runtime="2">',
            *(HIT.format(*hit) for hit in NTCIR_HITS),
            "</result>",
        ]
    return replaced("\n".join([*lines, "</run>", "</results>"]) + "\n", old, new)


def replaced(text: str, old: str, new: str) -> bytes:
    assert old in text
    return text.replace(old, new, 1).encode()


# ---- BOLT's submission XML


def bolt_run(old: str = "", new: str = "") -> bytes:
    """The good run, one element per line; the first occurrence of `old` is replaced by `new`."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        (
            '<bolt-ir-submission team="Owls" date="2014-5-1" eval="P3" subtask="citations" run="evaluation" '
            'contact="o@o.org">'
        ),
    ]
    for topic in BOLT_TOPICS:
        lines.append(f'<response number="{topic}">')
        lines += [
            f'<cite score="0.{9 - n}" thread="bolt-eng-DF-1:{n}" post="p{n}" offset="{10 * n}" length="20">'
            f"The owls of the harbor sing at {n} o'clock.</cite>"
            for n in range(3)
        ]
        lines.append("</response>")
    return replaced("\n".join([*lines, "</bolt-ir-submission>"]) + "\n", old, new)


SECOND_RUN = '</result></run><run runtag="b">'
DTD = '<!DOCTYPE results SYSTEM "r.dtd">'
LAUGHS = (
    '<?xml version="1.0"?>\n<!DOCTYPE results [\n<!ENTITY a "ha">\n'
    + "".join(
        f'<!ENTITY {new} "{f"&{old};" * 10}">\n' for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "]>\n<results>&i;</results>\n"
).encode()
FETCHING = b'<!DOCTYPE results [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<results>&x;</results>\n'

FORMULA_CASES = {
    "post left out": Case("columns", 2, lambda: formula_run(2, "B.1\t902\t2\t7.5\tours")),
    "seven columns": Case("columns", 2, lambda: formula_run(2, "B.1\t902\t41\t2\t7.5\tours\tx")),
    "repeated formula": Case("repeated", 3, lambda: formula_run(3, "B.1\t901\t41\t3\t7.25\tours")),
    "repeated formula, another post": Case(
        "repeated", 3, lambda: formula_run(3, "B.1\t901\t77\t3\t7.25\tours")
    ),
    "score and rank exchanged": Case("rank", 2, lambda: formula_run(2, "B.1\t902\t41\t7.5\t2\tours")),
    "score not a number": Case("score", 1, lambda: formula_run(1, "B.1\t901\t40\t1\thigh\tours")),
    "infinite score": Case("score", 1, lambda: formula_run(1, "B.1\t901\t40\t1\tinf\tours")),
    "unknown topic": Case("unknown-topic", 4, lambda: formula_run(4, "B.9\t901\t40\t1\t9\tours")),
    "two tags": Case("several-tags", 1, lambda: formula_run(6, "B.2\t903\t41\t3\t7.25\ttheirs")),
    "long formula id": Case("name-too-long", 1, lambda: formula_run(1, f"B.1\t{'9' * 401}\t40\t1\t9\tours")),
    "long post id": Case("name-too-long", 1, lambda: formula_run(1, f"B.1\t901\t{'9' * 401}\t1\t9\tours")),
    "only a header": Case("empty", 0, lambda: b"Query_Id\tFormula_Id\tPost_Id\tRank\tScore\tRun_Number\n"),
    "XML": Case("form", 0, ntcir_run),
}
NTCIR_CASES = {
    "hit without xref": Case("attribute", 5, lambda: ntcir_run('xref="Ring:1" ')),
    "empty xref": Case("attribute", 5, lambda: ntcir_run('xref="Ring:1"', 'xref=" "')),
    "neither score nor rank": Case("score", 5, lambda: ntcir_run('score="0.9" rank="1"', 'score="" rank=""')),
    "some without score": Case("score", 6, lambda: ntcir_run('score="0.8" ')),
    "score a word": Case("score", 5, lambda: ntcir_run('score="0.9"', 'score="high"')),
    "score infinite": Case("score", 5, lambda: ntcir_run('score="0.9"', 'score="INF"')),
    "score with a comma": Case("score", 5, lambda: ntcir_run('score="0.9"', 'score="0,9"')),
    "rank a word": Case("rank", 6, lambda: ntcir_run('rank="2"', 'rank="second"')),
    "repeated hit": Case("repeated", 6, lambda: ntcir_run("Field_(mathematics):2", "Ring:1")),
    "result without topic": Case("attribute", 4, lambda: ntcir_run('for="M-1" ')),
    "unknown topic": Case("unknown-topic", 5, lambda: ntcir_run('for="M-1"', 'for="M-7"')),
    "blank in an id": Case("blank-in-name", 5, lambda: ntcir_run('"Ring:1"', '"Ring theory:1"')),
    "line end in an id": Case("blank-in-name", 5, lambda: ntcir_run('"Ring:1"', '"Ring&#10;:1"')),
    "long id": Case("name-too-long", 5, lambda: ntcir_run("Ring:1", "R" * 401)),
    "run without tag": Case("attribute", 3, lambda: ntcir_run('runtag="ours" ')),
    "two runs": Case(
        "several-tags",
        5,
        lambda: ntcir_run(
            '</result>\n<result for="M-2"', '</result></run><run runtag="b">\n<result for="M-2"'
        ),
    ),
    "hit outside a result": Case(
        "element", 4, lambda: ntcir_run('<result for="M-1"', '<hit xref="a"/><result for="M-1"')
    ),
    "no hit": Case("empty", 0, lambda: b"<results/>\n"),
    "another first element": Case("root", 1, lambda: b"<html><body/></html>x".replace(b"html", b"page")),
    "BOLT's form": Case("root", 2, bolt_run),
    "cut off": Case("xml", 6, lambda: ntcir_run()[: ntcir_run().index(b"Field")]),
    "tags crossed": Case("xml", 8, lambda: ntcir_run("</result>", "</run>")),
    "bare ampersand": Case("xml", 5, lambda: ntcir_run("Ring:1", "Ring&co:1")),
    "unknown entity": Case("xml", 5, lambda: ntcir_run("Ring:1", "Ring&eacute;:1")),
    "unknown entity with a DTD": Case(
        "entity",
        14,
        lambda: ntcir_run("<results ", '<!DOCTYPE results SYSTEM "r.dtd"><results ').replace(
            b"</run>", b"&e;</run>"
        ),
    ),
    "control character": Case("xml", 5, lambda: ntcir_run("Ring:1", "Ring\x01:1")),
    "Latin-1": Case("xml", 7, lambda: ntcir_run().decode().encode("latin-1")),
    "unknown encoding": Case("encoding", 0, lambda: ntcir_run("UTF-8", "UTF-99")),
    "encoding of several bytes": Case("encoding", 0, lambda: ntcir_run("UTF-8", "EUC-JP")),
    "declaration not first": Case("xml", 2, lambda: b"\n" + ntcir_run()),
    "a billion laughs": Case("doctype", 2, lambda: LAUGHS),
    "a file to fetch": Case("doctype", 1, lambda: FETCHING),
    "elements without end": Case("xml", 1, lambda: b"<results>" + b"<a>" * 500),
    "a tag without end": Case(
        "xml", 2, lambda: b"<results>\n<run runtag='" + b"x" * 900_000 + b"'/></results>"
    ),
    "a comment without end": Case("xml", 2, lambda: b"<results>\n<!--" + b"x" * 900_000 + b"--></results>"),
    "zip of two": Case("zip-files", 0, lambda: zipped(("a.xml", ntcir_run()), ("b.xml", ntcir_run()))),
}
BOLT_CASES = {
    "lines": Case("form", 0, formula_run),
    "nothing": Case("empty", 0, lambda: b" \n\n"),
    "NTCIR's form": Case("root", 2, ntcir_run),
    **{
        f"submission without {key}": Case("attribute", 2, partial(bolt_run, f" {key}=", f" x{key}="))
        for key in ("team", "date", "eval", "subtask", "run", "contact")
    },
    **{
        f"citation without {key}": Case("attribute", 4, partial(bolt_run, f" {key}=", f" x{key}="))
        for key in ("thread", "post", "offset", "length", "score")
    },
    "response without number": Case("attribute", 3, lambda: bolt_run(' number="T1"')),
    "unknown topic": Case("unknown-topic", 4, lambda: bolt_run('number="T1"', 'number="T7"')),
    "score above 1": Case("score-range", 4, lambda: bolt_run('score="0.9"', 'score="1.01"')),
    "score below 0": Case("score-range", 4, lambda: bolt_run('score="0.9"', 'score="-0.1"')),
    "score a word": Case("score", 4, lambda: bolt_run('score="0.9"', 'score="best"')),
    "offset negative": Case("offset", 4, lambda: bolt_run('offset="0"', 'offset="-1"')),
    "offset with a point": Case("offset", 4, lambda: bolt_run('offset="0"', 'offset="1.0"')),
    "offset in other digits": Case("offset", 4, lambda: bolt_run('offset="0"', 'offset="٣"')),
    "length zero": Case("offset", 4, lambda: bolt_run('length="20"', 'length="0"')),
    "length a word": Case("offset", 4, lambda: bolt_run('length="20"', 'length="all"')),
    "length of ten digits": Case("offset", 4, lambda: bolt_run('length="20"', 'length="1000000000"')),
    "passage of 251": Case("passage-too-long", 4, lambda: bolt_run("The owls of", "x" * 300)),
    "no passage": Case("passage", 4, lambda: bolt_run("The owls of the harbor sing at 0 o'clock.", " \n ")),
    **{
        f"field {key}": Case("forbidden-field", 4, partial(bolt_run, "<cite ", f'<cite {key}="yes" '))
        for key in ("rel", "chksrc", "trans", "dialect")
    },
    "field as an element": Case("forbidden-field", 4, lambda: bolt_run("The owls", "<rel>yes</rel>The owls")),
    "field of the response": Case(
        "forbidden-field", 3, lambda: bolt_run("<response ", '<response dialect="x" ')
    ),
    "citation twice": Case(
        "repeated",
        5,
        lambda: bolt_run(
            'thread="bolt-eng-DF-1:1" post="p1" offset="10"', 'thread="bolt-eng-DF-1:0" post="p0" offset="00"'
        ),
    ),
    "citation outside a response": Case(
        "element", 3, lambda: bolt_run('<response number="T1">', '<cite/><response number="T1">')
    ),
    "another element": Case("element", 4, lambda: bolt_run("The owls", "<b>The</b> owls")),
    "a tag as the condition": Case("condition", 2, lambda: bolt_run('run="evaluation"', 'run="owls-1"')),
    "blank in a thread": Case("blank-in-name", 4, lambda: bolt_run("bolt-eng-DF-1:0", "bolt eng")),
    "a citation too many": Case(
        "too-many-ranks",
        1004,
        lambda: bolt_run(
            '<response number="T1">',
            '<response number="T1">'
            + "".join(
                f'\n<cite score="0.5" thread="t" post="p" offset="{n}" length="2">Owls {n}.</cite>'
                for n in range(998)
            ),
        ),
    ),
}
