"""Articles and paragraphs in XHTML with MathML, as NTCIR's MathIR tasks have them; and archives of files."""

import io
import tarfile
import zipfile
from collections.abc import Mapping

WILDCARD = '<mws:qvar xmlns:mws="http://search.mathweb.org/ns" name="y"/>'


def math(latex: str, presentation: str, *, own_id: str = "", display: str = "inline") -> str:
    """A formula as in the articles of Wikipedia: presentation, Content MathML and LaTeX."""
    name = f' id="{own_id}"' if own_id else ""
    return f"""<math display="{display}"{name}>
 <semantics>
  {presentation}
  <annotation-xml encoding="MathML-Content"><apply><csymbol cd="ambiguous">power</csymbol></apply></annotation-xml>
  <annotation encoding="application/x-tex">
   {latex}
  </annotation>
 </semantics>
</math>"""


def article(title: str, *parts: str) -> str:
    """An XHTML file with a paragraph for each part."""
    paragraphs = "\n".join(f"<p>{part}</p>" for part in parts)
    return f"""<?xml version="1.0" encoding="utf-8"?>
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>{title}</title><script src="x.js"/></head>
<body><h1>{title}</h1>
{paragraphs}
</body></html>"""


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def tarred(files: Mapping[str, str | bytes], *, compression: str = "gz") -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode=f"w:{compression}") as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return target.getvalue()
