"""Decodes topic files that are not in UTF-8."""

import re

from assay.errors import BadFile
from assay.formats.documents.sources import BOM

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_DECLARATION = re.compile(rb"""\s*+<\?xml\b[^<>]*?encoding\s*=\s*["']([\w.:-]{1,20})["'][^<>]*\?>""")
_DECLARED = re.compile(rb"""\sencoding\s*+=\s*+["'][\w.:-]++["']""")
# The codecs that XML may declare. Others of Python need more than linear time, or decode no text.
_KNOWN = re.compile(
    r"(?:iso-?8859-\d{1,2}|latin-?1|windows-\d{4}|cp\d{4}|koi8-[ru]|gb2312|gbk|gb18030|big5|euc-jp|euc-kr|shift_jis)"
)
FALLBACK = "windows-1252"  # Latin-1 with more letters


def in_utf8(data: bytes, name: str) -> bytes:
    """A file in UTF-8 that begins with a mark of UTF-16 or declares another encoding. Lines keep their numbers.

    Raises `BadFile` if it is not in the encoding that it declares.
    """
    if data.startswith(_UTF16):
        text = _decoded(data, "utf-16", name)
        return (
            _DECLARED.sub(b"", text.encode(), count=1) if text.lstrip().startswith("<?xml") else text.encode()
        )
    declaration = _DECLARATION.match(data.removeprefix(BOM), 0, 1000)
    encoding = declaration[1].decode().lower() if declaration else ""
    if not _KNOWN.fullmatch(encoding):
        return data
    return _DECLARED.sub(b"", _decoded(data, encoding, name).encode(), count=1)


def _decoded(data: bytes, encoding: str, name: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        raise BadFile(
            f"{name}, line {line}: not {encoding.upper()}, which the file begins with or declares."
        ) from None
    except LookupError:
        raise BadFile(f"{name} declares the encoding {encoding}, which is not known; use UTF-8.") from None


def text_of(data: bytes, name: str) -> tuple[str, str]:
    """The text of a file, and what its reader should know: it is read as Windows-1252 if it is not UTF-8.

    Raises `BadFile` if it is in neither encoding.
    """
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
    try:
        return data.decode(FALLBACK), f"line {line} is not UTF-8, so the file was read as Windows-1252"
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        raise BadFile(
            f"{name}, line {line}: neither UTF-8 nor Windows-1252 (byte 0x{data[fault.start]:02x})."
        ) from None
