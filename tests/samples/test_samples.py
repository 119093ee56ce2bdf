"""The sample files: names, form, and how they agree with each other."""

import gzip
import json
import re
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from assay import samples
from assay.formats.documents.jsonl import convert
from assay.formats.formulas import read_files
from assay.formats.topics.reader import read_labels, read_topics
from corpus.models import Collection
from jobs import services as jobs
from jobs.models import Job
from participation.models import Team
from scoring.models import Leaderboard, Qrels
from tests.helpers.confirming import confirm
from tests.helpers.factories import make_organizer
from tests.samples.conftest import FORMULA_TASK, FORMULAS, TASK, Assay, lines_of, rows_of, value
from tracks.models import ProtocolDraft, StoredProtocol

MAX_BYTES = 130_000


def test_names_lists_every_file_of_the_folder() -> None:
    folder = samples.path("qrels.txt").parent

    files = {file.relative_to(folder).as_posix() for file in folder.rglob("*.*") if file.suffix != ".pyc"}

    assert set(samples.names()) == files - {"__init__.py", "README.md"}
    assert all(samples.path(name).is_file() for name in samples.names())


def test_an_unknown_name_is_refused_with_the_available_names() -> None:
    with pytest.raises(FileNotFoundError, match=r"'qrel.txt'; use one of .*\bqrels\.txt\b"):
        samples.path("qrel.txt")


def test_the_readme_lists_every_file() -> None:
    readme = (samples.path("qrels.txt").parent / "README.md").read_text(encoding="utf-8")

    missing = [name for name in samples.names() if f"`{name}`" not in readme]

    assert missing == []


def test_the_samples_stay_small() -> None:
    assert sum(samples.path(name).stat().st_size for name in samples.names()) < MAX_BYTES


def test_text_files_are_utf8_and_end_with_one_line_feed() -> None:
    for name in samples.names():
        if not name.endswith((".gz", ".zip")):
            data = samples.path(name).read_bytes()
            assert data.decode().rstrip("\n") + "\n" == data.decode(), name
            assert b"\r" not in data or name.startswith("turkle-project/"), name  # as Turkle writes them


def test_the_compressed_run_has_no_time_and_no_name() -> None:
    data = samples.path("runs/baseline.tsv.gz").read_bytes()

    assert data[3:8] == bytes(5)
    assert gzip.decompress(data).startswith(b"A.1\t33\t1\t")


def test_both_forms_of_the_abacus_run_have_the_same_rows() -> None:
    trec = [[topic, docno, *rest] for topic, _, docno, *rest in lines_of("runs/abacus-trec.txt")]

    assert trec == lines_of("runs/abacus.tsv")


def test_all_forms_of_the_topics_have_the_same_codes() -> None:
    codes = [word for (word,) in lines_of("topics.txt")]
    text = samples.path("topics.jsonl").read_text(encoding="utf-8")
    topics = [json.loads(line) for line in text.splitlines()]
    labels = samples.path("labels.csv").read_text(encoding="utf-8").splitlines()[1:]

    assert [topic["code"] for topic in topics] == codes
    assert [",".join((topic["code"], *topic["labels"].values())) for topic in topics] == labels


def test_every_formula_of_a_document_is_in_each_index() -> None:
    text = samples.path("documents.jsonl").read_text(encoding="utf-8")

    for form in ("latex", "slt", "opt"):
        lines = samples.path(f"formulas-{form}.tsv").read_text(encoding="utf-8").splitlines()[1:]
        in_posts = [line.split("\t") for line in lines if "\tcomment\t" not in line]
        assert len(in_posts) == text.count("math-container")
        for formula, post, *_ in in_posts:
            (document,) = (line for line in text.splitlines() if f'id=\\"{formula}\\"' in line)
            assert json.loads(document)["docno"] == post


@pytest.mark.parametrize(("assessor", "name"), [("ines", "qrels.txt"), ("marek", "qrels-marek.txt")])
def test_the_qrels_are_the_current_grades_of_an_assessor(assessor: str, name: str) -> None:
    lines = samples.path("judgments.csv").read_text(encoding="utf-8").splitlines()
    header, *rows = [line.split(",") for line in lines]
    judgments = [dict(zip(header, row, strict=True)) for row in rows]

    current = [row for row in judgments if row["assessor"] == assessor and row["is_current"] == "True"]

    grades = [[row["topic"], "0", row["docno"], row["grade"]] for row in current if row["grade"]]
    assert grades == lines_of(name)


ANSWER_TOPICS = ["A.1", "A.2", "A.3", "A.4", "A.5"]


def test_documents_are_questions_and_answers() -> None:
    batch = convert(samples.path("documents.jsonl").read_bytes())

    assert batch.counts == {"questions": 8, "answers": 21}
    assert not batch.skipped


@pytest.mark.parametrize(
    ("name", "codes"),
    [("topics.xml", ANSWER_TOPICS), ("topics.jsonl", ANSWER_TOPICS), ("formula-topics.xml", ["B.1", "B.2"])],
)
def test_topics_have_a_title_and_a_question_with_a_formula(name: str, codes: list[str]) -> None:
    topics = read_topics(samples.path(name).read_bytes(), name)

    assert [topic.code for topic in topics] == codes
    assert all(topic.title and "data-formula-id" in topic.body for topic in topics)


def test_both_forms_of_the_topics_have_the_same_text() -> None:
    xml, jsonl = (
        read_topics(samples.path(name).read_bytes(), name) for name in ("topics.xml", "topics.jsonl")
    )

    assert [(topic.title, topic.body, topic.tags) for topic in xml] == [
        (topic.title, topic.body, topic.tags) for topic in jsonl
    ]


def test_formula_topics_name_a_formula_of_their_question() -> None:
    topics = read_topics(samples.path("formula-topics.xml").read_bytes(), "formula-topics.xml")

    for topic in topics:
        assert f'data-formula-id="{topic.formula_id}"' in topic.body
        assert f">{topic.latex}</span>" in topic.body


def test_labels_are_those_of_the_topics() -> None:
    topics = read_topics(samples.path("topics.jsonl").read_bytes(), "topics.jsonl")

    labels = read_labels(samples.path("labels.csv").read_bytes(), "labels.csv")

    assert labels == {topic.code: topic.labels for topic in topics}


@pytest.mark.parametrize("form", ["latex", "slt", "opt"])
def test_no_row_of_a_formula_index_is_skipped(form: str) -> None:
    formulas, skipped = read_files([samples.path(f"formulas-{form}.tsv")])

    assert len(formulas) == 50
    assert not skipped


@pytest.mark.parametrize("run", ["trees", "strings", "lookup"])
def test_formula_runs_name_formulas_of_the_index(run: str) -> None:
    formulas, _ = read_files([samples.path("formulas-latex.tsv")])
    known = set(formulas.formula.tolist())
    column = 2 if run == "lookup" else 1
    suffix = "txt" if run == "lookup" else "tsv"

    names = {line[column].encode() for line in lines_of(f"runs/{run}.{suffix}")}

    assert names <= known


SAMPLES = samples.path("qrels.txt").parent
RUNS = {
    "cqa-owls": ("Owls", "primary"),
    "cqa-owls-2": ("Owls", "contrastive"),
    "cqa-gulls": ("Gulls", "primary"),
    "cqa-order": ("Organizers", "baseline"),
}
# As step 5 of the guide prints them
VALUES = {
    ("cqa-owls", "AP(norm=retrieved)@10"): "1.0000",
    ("cqa-gulls", "AvgRec@10"): "0.6286",
    ("cqa-order", "labelF"): "0.5185",
}


@pytest.mark.django_db
def test_lab_of_the_guide_goes_from_its_protocol_to_a_released_leaderboard(
    settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    client = Client()
    client.force_login(make_organizer())

    def send(address: str, **data: object) -> str:
        """Post a form, run the jobs that it requests, and return the page that follows."""
        response = client.post(address, data, follow=True)
        assert response.status_code == 200, address
        for job in Job.objects.filter(state=Job.State.QUEUED):
            jobs.run(job.pk)
        return response.content.decode()

    send("/imports/new/", slug="harbor", name="Harbor", upload=file("cqa-comments.jsonl"))
    send("/protocol/new/", upload=file("cqa-lab.toml"))
    send(f"{ProtocolDraft.objects.get().get_absolute_url()}add/")
    protocol = StoredProtocol.objects.get(slug="harbor-forum-2026")
    send("/tracks/new/", name="Harbor 2026", slug="harbor-2026", protocol=protocol.pk,
         collection=Collection.objects.get().pk, topics=file("cqa-topics.jsonl"))  # fmt: skip
    for name in ("Owls", "Gulls", "Organizers"):
        send("/tracks/harbor-2026/people/team/", name=name)
    confirm(client, "/tracks/harbor-2026/open/")
    page = client.get("/tracks/harbor-2026/runs/submit/").content.decode()
    for name, (team, kind) in RUNS.items():
        text = send("/tracks/harbor-2026/runs/submit/", team=Team.objects.get(name=team).pk, kind=kind,
                    tag=name, made="automatic", file=file(f"runs/{name}.txt"))  # fmt: skip
        assert f"{name} is submitted for {team}" in text
    send("/tracks/harbor-2026/qrels/import/", name="gold", file=file("cqa-gold.txt"))
    version = Qrels.objects.get()
    send(f"/qrels/{version.pk}/score/")
    board = Leaderboard.objects.get()
    send(f"/leaderboards/{board.pk}/release/", level="public", reason="The workshop is today.")

    assert all(word in page for word in ("contrastive", "order of the thread", "label"))
    board.refresh_from_db()
    header, *rows = Client().get(f"/leaderboards/{board.pk}/leaderboard.tsv").content.decode().splitlines()
    names = header.split("\t")
    values = {row.split("\t")[1]: dict(zip(names, row.split("\t"), strict=True)) for row in rows}
    assert {(run, measure): values[run][measure] for run, measure in VALUES} == VALUES
    package = client.get(f"/qrels/{version.pk}/export/", {"to": "protocol"}).content
    with ZipFile(BytesIO(package)) as archive:
        exported = [archive.read(name) for name in archive.namelist()]
    assert any(b"Q1\tQ1_C1\t0\t0\tGood\n" in content for content in exported), exported


def file(name: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name.rpartition("/")[2], (SAMPLES / name).read_bytes())


DEPTHS = ("--depth", "primary=3", "--depth", "alternate=2")


@pytest.mark.parametrize("options", [("--protocol", TASK, *DEPTHS), ("--protocol", "protocol.toml")])
def test_the_judged_units_are_the_pool(assay: Assay, options: tuple[str, ...]) -> None:
    pool = assay("pool", *options, "--runs", "manifest.csv", "--topics", "topics.xml", "--seed", "7")

    units = {tuple(line.split("\t")[:2]) for line in pool.splitlines()}
    sizes = {code: sum(topic == code for topic, _ in units) for code, _ in units}
    assert sizes == {"A.1": 7, "A.2": 6, "A.3": 5, "A.4": 6, "A.5": 4}
    assert {docno for topic, docno in units if topic == "A.1"} == {"11", "12", "21", "22", "23", "24", "33"}
    assert units == {(topic, docno) for topic, _, docno, _ in lines_of("qrels.txt")} | {("A.1", "24")}


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("nDCG'", 0.9219),
        ("AP(rel=2)'", 0.8056),
        ("P(rel=2)@5'", 0.6),
        ("P(rel=2)@5", 0.4),
        ("bpref(rel=2)", 0.7778),
        ("judged@5", 0.6),
        ("judged@10", 0.625),
    ],
)
def test_scores_of_one_topic_are_those_worked_out_by_hand(
    assay: Assay, measure: str, expected: float
) -> None:
    words = ("--per-topic", "--measure", measure, "--qrels", "qrels.txt", "runs/abacus.tsv")

    scores = assay("evaluate", "--protocol", TASK, *words)

    assert value(scores, "A.1", measure) == expected


@pytest.mark.parametrize(
    ("run", "by_topic", "mean"),
    [
        ("abacus", (0.9219, 0.9762, 0.9725, 1.0, 0.9514), 0.9644),
        ("lemma", (0.8365, 0.5784, 0.8175, 0.7350, 0.0), 0.5935),
    ],
)
def test_means_are_those_worked_out_by_hand(
    assay: Assay, run: str, by_topic: tuple[float, ...], mean: float
) -> None:
    words = ("--per-topic", "--measure", "nDCG'", "--qrels", "qrels.txt", f"runs/{run}.tsv")

    scores = assay("evaluate", "--protocol", TASK, *words)

    assert tuple(value(scores, f"A.{n}", "nDCG'") for n in range(1, 6)) == by_topic
    assert value(scores, "all", "nDCG'") == mean == pytest.approx(sum(by_topic) / 5, abs=1e-4)


def test_both_forms_of_the_abacus_run_have_the_same_scores(assay: Assay) -> None:
    words = ("--protocol", TASK, "--qrels", "qrels.txt", "runs/abacus.tsv", "runs/abacus-trec.txt")

    scores = rows_of(assay("evaluate", *words))

    by_run = [
        [(row["measure"], row["value"]) for row in scores if row["run"] == run]
        for run in ("abacus", "abacus-trec")
    ]
    assert by_run[0] == by_run[1] != []


def test_trec_eval_prints_the_values_worked_out_by_hand(assay: Assay) -> None:
    words = ("-q", "-J", "-l", "2", "-m", "map", "-m", "bpref", "-m", "P.5", "-m", "ndcg")

    output = assay("trec_eval", *words, "qrels.txt", "runs/abacus-trec.txt")

    lines = [line.split() for line in output.splitlines()]
    values = {measure: number for measure, topic, number in lines if topic == "A.1"}
    assert values == {"map": "0.8056", "bpref": "0.7778", "P_5": "0.6000", "ndcg": "0.9219"}


def test_tied_documents_are_ordered_by_id_and_not_by_rank(assay: Assay) -> None:
    words = ("--measure", "nDCG@3", "--per-topic", "--qrels", "qrels.txt", "runs/abacus-text.tsv")

    scores = assay("evaluate", "--protocol", TASK, *words)

    with_83_third = (1 + 3 / 1.5850 + 3 / 2) / (3 + 3 / 1.5850 + 1 / 2)
    assert value(scores, "A.5", "nDCG@3") == pytest.approx(with_83_third, abs=1e-4)


def test_a_near_duplicate_takes_the_grade_of_the_judged_document(assay: Assay) -> None:
    words = ("--per-topic", "--qrels", "qrels.txt", "--duplicates", "duplicates.tsv", "runs/abacus.tsv")

    scores = assay("evaluate", "--protocol", TASK, *words)

    assert value(scores, "A.1", "AP(rel=2)'") == 0.8667


def test_formula_scores_count_each_visual_id_once(assay: Assay) -> None:
    words = ("--qrels", "formula-qrels.txt", *FORMULAS, "--per-topic")

    scores = assay("evaluate", "--protocol", FORMULA_TASK, "runs/trees.tsv", *words)

    assert value(scores, "B.1", "AP(rel=2)'") == 0.7


def test_kappa_is_the_one_worked_out_by_hand(assay: Assay) -> None:
    (row,) = rows_of(assay("agreement", "judgments.csv", "--level", "2", "--table", "pairs"))

    assert (row["first"], row["second"], row["units"]) == ("ines", "marek", "12")
    assert float(row["kappa"]) == 0.5385 == round(56 / 104, 4)
    assert float(row["kappa_two_way"]) == 0.8235 == round(56 / 68, 4)


def test_agreement_skips_the_non_answer_and_the_replaced_judgment(assay: Assay) -> None:
    (row,) = rows_of(assay("agreement", "judgments.csv", "--protocol", TASK, "--table", "all"))

    assert (row["judgments"], row["without_grade"], row["repeated"]) == ("40", "1", "0")


def test_the_commands_of_the_readme_run(assay: Assay) -> None:
    readme = (samples.path("qrels.txt").parent / "README.md").read_text(encoding="utf-8")

    commands = re.findall(r"`assay ([a-z_]+ [^`]+)`", readme)

    assert {command.split()[0] for command in commands} == {
        "check",
        "pool",
        "evaluate",
        "trec_eval",
        "agreement",
        "nuggets",
    }
    for command in commands:
        assert assay(*command.split(), status=1 if "broken" in command else 0)
