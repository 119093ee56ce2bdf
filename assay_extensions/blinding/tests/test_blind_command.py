"""`assay blind` and `assay unblind`: no name is left in a package, and all come back."""

import csv
import json
from io import StringIO
from pathlib import Path

import pytest

from assay.cli.main import main
from assay_extensions.blinding.package import decisions_in
from assay_extensions.blinding.pseudonyms import new_map
from assay_extensions.blinding.unblinding import Unblinder
from assay_extensions.blinding.words import Terms

ANSWER = {
    "metadata": {
        "team_id": "owls",
        "run_id": "hoot",
        "topic_id": "A.1",
        "run_desc": "GPT by the Owls of Wisdom U",
    },
    "responses": [{"text": "We, the OWLS, say so. Ask Minerva.", "citations": ["d1"]}],
}
WRITE = [
    "--protocol",
    "arqmath-2020-task1",
    "--runs",
    "manifest.csv",
    "--map",
    "map.json",
    "--words",
    "words.txt",
]
WRITE += ["--decisions", "decisions.csv", "--output", "out"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("hoot.jsonl").write_text(json.dumps(ANSWER) + "\n")
    for tag in ("hoot-2", "chirp"):
        Path(f"{tag}.txt").write_text(f"# ir_metadata.start\n# actor: owls\nA.1 Q0 d1 1 2.5 {tag}\n")
    rows = ["file,team,tag,kind", "hoot.jsonl,owls,hoot,primary", "hoot-2.txt,owls,hoot-2,primary"]
    Path("manifest.csv").write_text("\n".join([*rows, "chirp.txt,Blue Tits,chirp,primary"]) + "\n")
    Path("words.txt").write_text("Minerva\nWisdom U\n")
    return tmp_path


def rows_in(path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(Path(path).read_text(), newline="")))


def decide(decision: str) -> None:
    rows = rows_in("decisions.csv")
    with Path("decisions.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(row | {"decision": decision} for row in rows)


def package() -> str:
    return "".join(path.read_text() for path in Path("out").rglob("*") if path.is_file())


def test_names_are_replaced_after_a_look(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["blind", "write", *WRITE]) == 1
    rows = rows_in("decisions.csv")
    assert not Path("out").exists()
    decide("replace")

    assert main(["blind", "write", *WRITE]) == 0
    assert main(["blind", "verify", "out", "--map", "map.json", "--words", "words.txt"]) == 0

    assert [(row["term"], row["n"], row["decision"]) for row in rows] == [
        ("minerva", "1", ""),
        ("owls", "1", ""),
    ]
    text = package().lower()
    assert [
        name for name in ("owls", "hoot", "chirp", "blue tits", "minerva", "wisdom") if name in text
    ] == []
    assert "we, the [hidden], say so" in text
    manifest = rows_in("out/manifest.csv")
    assert [row["file"] for row in manifest] == sorted(row["file"] for row in manifest)
    assert len({row["team"] for row in manifest}) == 2
    assert "6 files, 0 problems" in capsys.readouterr().out


def test_a_repeat_keeps_pseudonyms_and_adds_later_runs() -> None:
    main(["blind", "write", *WRITE])
    before = json.loads(Path("map.json").read_text())
    with Path("manifest.csv").open("a") as file:
        file.write("hoot-3.txt,owls,hoot-3,primary\n")
    Path("hoot-3.txt").write_text("A.1 Q0 d1 1 2.5 hoot-3\n")

    main(["blind", "write", *WRITE])

    after = json.loads(Path("map.json").read_text())
    assert after["runs"] == before["runs"] | {"hoot-3": "anon-r004"}
    assert after["teams"] == before["teams"]
    assert len({new_map().extended(["a", "b"], []).teams["a"] for _ in range(40)}) == 2  # by the key


def test_only_the_first_runs_of_each_team_are_written() -> None:
    main(["blind", "write", *WRITE, "--first", "1"])
    decide("replace")
    assert main(["blind", "write", *WRITE, "--first", "1"]) == 0

    assert len(list(Path("out/runs").iterdir())) == 2


def test_verify_finds_names_and_changes(capsys: pytest.CaptureFixture[str]) -> None:
    main(["blind", "write", *WRITE])
    decide("keep")
    assert main(["blind", "write", *WRITE]) == 0
    verify = ["blind", "verify", "out", "--map", "map.json"]
    assert main(verify) == 0  # what was kept on purpose
    path = min(Path("out/runs").iterdir())
    path.write_text(path.read_text() + "A.1 Q0 d2 2 1.5 chirp\n")
    Path("out/runs/other.txt").write_text("A.1 Q0 d2 2 1.5 me\n")

    assert main(verify) == 1

    out = capsys.readouterr().out
    assert "does not have the digest" in out
    assert "“chirp” 1 time: " in out
    assert "runs/other.txt: the map has no run other" in out


def test_unblind_puts_the_names_back() -> None:
    main(["blind", "write", *WRITE])
    names = json.loads(Path("map.json").read_text())
    hoot, tits = names["runs"]["hoot"], names["teams"]["Blue Tits"]
    Path("scores.tsv").write_text(f"{hoot}\tA.1\tCOVERAGE\t0.5\n{tits}\tall\tCOVERAGE\t0.5\n{hoot}0\tx\n")
    Path("rows.jsonl").write_text(json.dumps({"run": hoot, "of": [tits]}) + "\n")
    Path("rows.csv").write_text(f"run,team\n{hoot},{tits}\n")

    for name in ("scores.tsv", "rows.jsonl", "rows.csv"):
        assert main(["unblind", name, "--map", "map.json", "--output", f"named-{name}"]) == 0

    assert Path("named-scores.tsv").read_text() == (
        f"hoot\tA.1\tCOVERAGE\t0.5\nBlue_Tits\tall\tCOVERAGE\t0.5\n{hoot}0\tx\n"
    )
    assert json.loads(Path("named-rows.jsonl").read_text()) == {"run": "hoot", "of": ["Blue Tits"]}
    assert "hoot,Blue Tits" in Path("named-rows.csv").read_text()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda: Path("map.json").write_text("{}"), "not a map of pseudonyms"),
        (
            lambda: Path("map.json").write_text('{"key": "", "teams": {"a": "x", "b": "x"}}'),
            "each pseudonym once",
        ),
        (lambda: Path("decisions.csv").write_text("run,term\n"), "expected the columns run, term"),
        (
            lambda: Path("decisions.csv").write_text("run,term,n,example,decision\na,b,1,c,maybe\n"),
            "'maybe'; use keep",
        ),
        (lambda: Path("chirp.txt").write_text("<run/>"), "XML cannot be blinded"),
        (lambda: Path("hoot.jsonl").write_text("{\n"), "expected a JSON object in each line"),
        (lambda: Path("out").write_text(""), "name a new or empty folder"),
    ],
)
def test_wrong_files_are_refused(change: object, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    change()  # type: ignore[operator]

    assert main(["blind", "write", *WRITE]) == 2

    assert says in capsys.readouterr().err


def test_map_cannot_be_in_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    words = [word if word != "map.json" else "out/map.json" for word in WRITE]

    assert main(["blind", "write", *words]) == 2
    assert "it has names" in capsys.readouterr().err


def test_terms_are_whole_words_and_the_longest_counts() -> None:
    terms = Terms(["owl", "owl team", "a", "  "])

    assert [place.term for place in terms.found("Owls, an OWL; the Owl Team, owl-like, owl_x")] == [
        "owl",
        "owl team",
    ]
    assert terms.replaced("The owl team and the owls") == "The [hidden] and the owls"
    answer = json.dumps({"text": 'The text, "text": that'})
    assert Terms(["text"]).replaced(answer) == json.dumps({"text": 'The [hidden], "[hidden]": that'})
    assert decisions_in([(1, {"run": "r", "term": "t", "decision": " Keep "})], "f") == {("r", "t"): "keep"}
    assert Unblinder(new_map()).text("x\n") == "x\n"
