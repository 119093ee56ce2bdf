"""Formulas per second from an archive of articles into the tables, and the memory for it, compared with a plain import.

    python benchmarks/articles_import_speed.py [--articles 20000] [--peer-articles 1000]

The script makes an archive (tar.gz) of articles in XHTML with 20 formulas each, as in NTCIR's articles of Wikipedia.
Then it runs the job of `manage.py import_collection` on a quarter of it, to show how memory grows with the number of
files, and on all of it. The comparison reads each file with lxml, and stores with `bulk_create`; it does not sanitize.
"""

import argparse
import io
import random
import sys
import tarfile
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from formula_import_speed import MATHML, assay, report
from import_speed import LATEX, database

FORMULAS = 20  # of an article
WORDS = (
    "the",
    "group",
    "acts",
    "on",
    "a",
    "field",
    "whose",
    "ring",
    "of",
    "integers",
    "has",
    "factorization",
)
CONTENT = (
    '<annotation-xml encoding="MathML-Content"><apply><eq/><ci>x</ci><cn>1</cn></apply></annotation-xml>'
)


def make_archive(path: Path, n_articles: int) -> None:
    rng = random.Random(7)
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for number in range(n_articles):
            name = f"Article_{number}"
            data = article(rng, name).encode()
            info = tarfile.TarInfo(f"wpmath{number // 20_000:07}/Articles/{name}.html")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def article(rng: random.Random, name: str) -> str:
    paragraphs = "".join(
        f"<p>{' '.join(rng.choices(WORDS, k=60))} {formula(rng, name, number)}</p>\n"
        for number in range(FORMULAS)
    )
    return f"<html><head><title>{name}</title></head><body><h1>{name}</h1>\n{paragraphs}</body></html>"


def formula(rng: random.Random, name: str, number: int) -> str:
    tex = rng.choice(LATEX).replace("<", "&lt;")
    markup = MATHML.format(tex=tex, n=number).replace("<math ", f'<math id="{name}:{number}" ', 1)
    tail = f'{CONTENT}<annotation encoding="application/x-tex">{tex}</annotation></semantics>'
    return markup.replace("</semantics>", tail)


def peer(path: Path) -> int:
    """A simple import: lxml and `bulk_create`, a thousand rows at a time. Returns the number of formulas."""
    from lxml import etree

    from corpus.models import Collection, Document, Formula

    collection = Collection.objects.create(slug=f"peer-{time.monotonic_ns()}", name="peer")
    documents: list[Document] = []
    formulas: list[Formula] = []
    n = 0
    with tarfile.open(path, "r|*") as archive:
        for member in archive:
            file = archive.extractfile(member)
            assert file is not None
            root, docno = etree.fromstring(file.read()), Path(member.name).stem
            for math in root.iter("{*}math"):
                latex = math.findtext(".//{*}annotation[@encoding='application/x-tex']") or ""
                code = str(math.get("id"))
                formulas.append(
                    Formula(collection=collection, code=code, post=docno, thread=docno, place=4, latex=latex)
                )
            body = etree.tostring(root, encoding="unicode")
            documents.append(
                Document(collection=collection, docno=docno, kind="document", thread=docno, body=body)
            )
            if len(formulas) >= 1000:
                n += len(Formula.objects.bulk_create(formulas))
                Document.objects.bulk_create(documents)
                formulas.clear()
                documents.clear()
    Document.objects.bulk_create(documents)
    return n + len(Formula.objects.bulk_create(formulas))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--articles", type=int, default=20_000)
    parser.add_argument("--peer-articles", type=int, default=1_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        sizes = {"whole": options.articles, "quarter": options.articles // 4, "few": options.peer_articles}
        for name, n_articles in sizes.items():
            make_archive(folder / f"{name}.tar.gz", n_articles)
        with database(folder):
            from django.db import connections

            connections.close_all()
            report("Assay, a quarter", folder / "quarter.tar.gz", assay("quarter"))
            ours = report("Assay, articles", folder / "whole.tar.gz", assay("whole"))
            report("Assay, the same articles again", folder / "whole.tar.gz", assay("whole"))
            theirs = report("lxml and bulk_create", folder / "few.tar.gz", peer)
            print(f"{ours / theirs:.1f} times as fast")


if __name__ == "__main__":
    main()
