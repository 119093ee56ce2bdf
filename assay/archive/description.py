"""The files of an archive that describe it: a README, a BibTeX entry, and metadata for search engines and for a DOI."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from assay.archive.files import CHECKSUMS
from assay.archive.records import (
    CITATION,
    DATACITE,
    FORMULAS,
    INDEX,
    JUDGMENTS,
    METADATA,
    NUGGETS,
    README,
    TOPICS,
    Index,
    QrelsRecord,
)
from assay.errors import plural

CROISSANT = "http://mlcommons.org/croissant/1.0"
# fmt: off
CR = (  # the terms of Croissant that its specification recommends to name
    "citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format",
    "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex",
    "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
)
# fmt: on
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in CR},
}
# The types of the columns of qrels; others are text. A column named 0 means nothing.
COLUMNS_OF_QRELS = {"grade": "sc:Integer", "probability": "sc:Float"}
TYPES = {
    ".bib": "application/x-bibtex",
    ".json": "application/json",
    ".jsonl": "application/jsonlines",
    ".md": "text/markdown",
    ".toml": "application/toml",
    ".tsv": "text/tab-separated-values",
}
WORDS = {
    README: "this text",
    CITATION: "how to cite the collection",
    METADATA: "the same for programs: schema.org/Dataset with the fields of Croissant",
    DATACITE: "the same for the registration of a DOI: the fields of DataCite",
    CHECKSUMS: f"`sha256sum -c {CHECKSUMS}` checks every file",
    INDEX: "what is in the archive: the track, its runs, pools, qrels and leaderboards",
    "protocols/": "the protocol, as Assay reads it",
    TOPICS: "the topics, one JSON object per line; texts are HTML",
    "guidelines/": "the published versions of the guidelines of judging",
    "runs/": f"the runs, byte by byte as they were submitted; {INDEX} has team, tag and kind",
    "interaction/": "the data of the sessions of each team, as they were uploaded",
    "documents/": f"the public documents of teams; {INDEX} has their teams and titles",
    FORMULAS: "the formulas of the runs: post, thread, place and id of the visually distinct formula",
    "pools/": "each pool: pool.tsv (topic, docno, position), contributions.tsv (topic, docno, team, run, rank)",
    NUGGETS: "the frozen lists of nuggets, one JSON object per version of a topic",
    JUDGMENTS: "every judgment, also those that were replaced later, one JSON object per line",
    "qrels/": "the versions of the qrels: topic, 0, docno, grade, as trec_eval reads them; "
    f"{INDEX} names the columns of those with subtopics, strata or preferences",
    "phases/": "the scores of each run and topic of a phase whose runs were scored when they were submitted",
    "leaderboards/": "the scores of each run and topic; leaderboard.tsv is the table of the site; analyses/ has the "
    "analyses with their seeds",
    "extensions/": "what extensions of Assay add, in a folder for each",
}
KEYWORDS = ["information retrieval", "evaluation", "test collection", "relevance judgments"]
ORCID = re.compile(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]")


class Author(NamedTuple):
    """An author of a test collection. `orcid` is an iD such as 0000-0002-1825-0097, or empty."""

    name: str
    orcid: str


def author(line: str) -> Author:
    """The author in a line: a name, and the ORCID iD if it ends in one.

    Raises:
        ValueError: The iD has another check digit, or there is no name.
    """
    text = line.strip().removesuffix(")")
    orcid = text[-19:]
    if not ORCID.fullmatch(orcid):
        return Author(line.strip(), "")
    name = text[:-19].removesuffix("orcid.org/").removesuffix("https://").rstrip(" \t,;(")
    if not name:
        raise ValueError(f"{orcid} comes without a name")
    rest = 0
    for digit in orcid.replace("-", "")[:-1]:
        rest = (rest + int(digit)) * 2 % 11
    if orcid[-1] != "0123456789X"[(12 - rest) % 11]:  # ISO 7064, MOD 11-2
        raise ValueError(f"{orcid} is no ORCID iD: its last digit does not fit the others")
    return Author(name, orcid)


def title(index: Index) -> str:
    return f"{index.track.name}: topics, runs, relevance judgments and scores"


def organizers(index: Index) -> str:
    """The author of a collection whose archive names nobody."""
    return f"The organizers of {index.track.name}"


def abstract(index: Index) -> str:
    return index.track.description.strip() or f"The test collection of {index.track.name}."


def readme(index: Index, names: Iterable[str]) -> str:
    """A description for people. `names` are the other files."""
    track, names = index.track, sorted({*names, README, CHECKSUMS})
    machines = [
        f"{assessor.machine.name} {assessor.machine.version}"
        for assessor in index.assessors
        if assessor.machine
    ]
    n_by_link = sum(assessor.is_by_link for assessor in index.assessors)
    judged_by = "under their names" if index.has_names else "under code names"
    facts = [
        f"Protocol: {track.protocol}",
        f"Topics: {index.n_topics:,}; runs: {len(index.runs):,}; teams: {len(index.teams):,}",
        f"Pools: {len(index.pools):,}",
        f"Judgments: {index.n_judgments:,}; assessors: {len(index.assessors) - len(machines):,}, {judged_by}, "
        + ("with their comments" if index.has_comments else "without comments"),
        f"Assessors who came by a link, without an account: {n_by_link:,}" if n_by_link else "",
        f"Machines that judged: {', '.join(machines)}" if machines else "",
        f"Versions of the qrels: {len(index.qrels):,}; leaderboards: {len(index.leaderboards):,}",
        *(
            f"Version {qrels.version} of the qrels: {note}"
            for qrels in index.qrels
            if (note := _judged_by(qrels))
        ),
        f"Collection: {track.collection}; its documents are not in the archive" if track.collection else "",
        f"License: {index.license}" if index.license else "",
    ]
    files = [
        f"| `{name}` | {words} |"
        for name, words in WORDS.items()
        if any(other == name or other.startswith(name) for other in names)
    ]
    lines = [
        f"# {track.name}",
        "",
        *([*track.description.strip().splitlines(), ""] if track.description.strip() else []),
        *(f"- {fact}." for fact in facts if fact),
        "",
        f"Archived by Assay {index.assay} on {index.created_at[:10]}. `assay archive verify FILE` checks the archive:",
        "it builds the pools and computes the scores again and compares them with the files.",
        "",
        "| file | content |",
        "|---|---|",
        *files,
        "",
    ]
    return "\n".join(lines)


def bibtex(index: Index) -> str:
    names = [author(line).name for line in index.authors]
    entry = {
        "author": " and ".join(map(braced, names)) or braced(organizers(index)),
        "title": f"{{{braced(title(index))}}}",
        "year": index.created_at[:4],
        "howpublished": f"Archive made with Assay {index.assay}",
    }
    if index.url:
        entry["url"] = braced(index.url)
    if index.doi:
        entry["doi"] = braced(index.doi)
    key = re.sub(r"[^A-Za-z0-9]+", "", f"{index.track.slug}{index.created_at[:4]}")
    fields = "".join(f"  {name:<12} = {{{value}}},\n" for name, value in entry.items())
    return f"@misc{{{key},\n{fields}}}\n"


def braced(text: str) -> str:
    """Text that BibTeX and LaTeX print as it is."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {character: f"\\{character}" for character in "{}&%$#_"}
    return "".join(special.get(character, character) for character in text)


def _judged_by(qrels: QrelsRecord) -> str:
    """The machine or the people whose grades these are, with their agreement; empty if the qrels do not have it."""
    agreement = qrels.report.get("agreement")
    if qrels.machine or not agreement:
        return _machine_note(qrels) if qrels.machine else ""
    n, interval = agreement["assessors"], agreement["interval"]
    judges = f"judged by {plural(n, 'person,people')}, {plural(agreement['units'], 'unit')} by several"
    if agreement["alpha"] is None:
        return f"{judges}; agreement not measured"
    alpha = f"{judges}; {agreement['measure']} alpha {agreement['alpha']:.3f}"
    is_known = interval and None not in interval
    return f"{alpha}, 95 %: {interval[0]:.3f} to {interval[1]:.3f}" if is_known else alpha


def _machine_note(qrels: QrelsRecord) -> str:
    return f"the grades of the machine {qrels.machine_name}, and not of people"


def metadata(index: Index, sums: dict[str, str]) -> str:
    """JSON-LD for https://schema.org/Dataset with the fields of Croissant 1.0. `sums`: SHA-256 by file."""
    track = index.track
    dataset: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": track.slug,
        "conformsTo": CROISSANT,
        "alternateName": track.name,
        "description": abstract(index),
        "keywords": KEYWORDS,
        "dateCreated": track.created_at,
        "datePublished": index.created_at[:10],
        "version": "1.0.0",
        "isAccessibleForFree": True,
        "citeAs": bibtex(index),
    }
    if index.license:
        dataset["license"] = index.license
    if index.url:
        dataset["url"] = index.url
    if index.doi:
        dataset["identifier"] = f"https://doi.org/{index.doi}"
    if index.authors:
        dataset["creator"] = [
            {"@type": "sc:Person", "name": name} | ({"@id": f"https://orcid.org/{orcid}"} if orcid else {})
            for name, orcid in map(author, index.authors)
        ]
    if machines := sorted({qrels.machine_name for qrels in index.qrels if qrels.machine}):
        dataset["rai:machineAnnotationTools"] = machines
    dataset["distribution"] = [_file_object(name, sha256) for name, sha256 in sorted(sums.items())]
    dataset["recordSet"] = [
        {
            "@type": "cr:RecordSet",
            "@id": f"qrels-{qrels.version}",
            "name": f"qrels-{qrels.version}",
            "description": "; ".join(
                filter(None, [qrels.columns, _machine_note(qrels) if qrels.machine else ""])
            )
            + ".",
            "field": [
                {
                    "@type": "cr:Field",
                    "@id": f"qrels-{qrels.version}/{column}",
                    "name": column,
                    "dataType": kind,
                    "source": {
                        "fileObject": {"@id": qrels.file},
                        "extract": {"fileProperty": "lines"},
                        "transform": {"regex": part},
                    },
                }
                for column, kind, part in _columns(qrels.columns)
            ],
        }
        for qrels in index.qrels
    ]
    return json.dumps(dataset, ensure_ascii=False, indent=1) + "\n"


def datacite(index: Index) -> str:
    """The metadata of a DOI: the mandatory and recommended fields of DataCite's schema 4.5, as its API takes them.

    `doi` is left out if the archive has none. The publisher is DataCite's code for an unknown one: who
    registers the DOI fills it in.
    """
    creators: list[dict[str, Any]] = [
        {"name": name, "nameType": "Personal"}
        | (
            {
                "nameIdentifiers": [
                    {
                        "nameIdentifier": f"https://orcid.org/{orcid}",
                        "nameIdentifierScheme": "ORCID",
                        "schemeUri": "https://orcid.org",
                    }
                ]
            }
            if orcid
            else {}
        )
        for name, orcid in map(author, index.authors)
    ]
    record: dict[str, Any] = {
        "schemaVersion": "http://datacite.org/schema/kernel-4",
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": "Test collection"},
        "creators": creators or [{"name": organizers(index), "nameType": "Organizational"}],
        "titles": [{"title": title(index)}],
        "publisher": {"name": ":unav"},
        "publicationYear": index.created_at[:4],
        "subjects": [{"subject": word} for word in KEYWORDS],
        "dates": [{"date": index.created_at[:10], "dateType": "Created"}],
        "formats": ["application/zip"],
        "descriptions": [{"description": abstract(index), "descriptionType": "Abstract"}],
    }
    if index.doi:
        record["doi"] = index.doi
    if index.url:
        record["url"] = index.url
    if index.license:
        is_address = index.license.startswith(("https://", "http://"))
        record["rightsList"] = [
            {"rights": index.license} | ({"rightsUri": index.license} if is_address else {})
        ]
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"


def _columns(heading: str) -> Iterator[tuple[str, str, str]]:
    """The columns of qrels, which have no header: the name and type of each, and its part of a line."""
    for n, name in enumerate(heading.split(", ")):
        if name != "0":
            others = r"[^\t]+\t" * n
            yield name, COLUMNS_OF_QRELS.get(name, "sc:Text"), rf"^{others}([^\t]+)(?:\t.*)?$"


def _file_object(name: str, sha256: str) -> dict[str, str]:
    ending = name[name.rfind(".") :] if "." in name else ""
    is_lines = name.startswith("qrels/")  # without a header, so its fields are parts of lines
    kind = "text/plain" if is_lines else TYPES.get(ending, "application/octet-stream")
    words = next((words for start, words in WORDS.items() if name == start or name.startswith(start)), "")
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "description": words,
        "contentUrl": name,
        "encodingFormat": kind,
        "sha256": sha256,
    }
