"""The search and the index of the documentation: questions of users find their page first.

The ranking is computed by the site's own scripts from the built index, in node without a page.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from maintenance.docs.outputs import ROOT

ASK = r"""
const fs = require("fs"), vm = require("vm"), path = require("path");
const site = { document: { getElementById: () => null }, localStorage: { setItem() {} }, _ready() {} };
Object.assign(site, { window: site, SPHINX_HIGHLIGHT_ENABLED: false, _: (text) => text });
const files = ["language_data.js", "searchtools.js", "search.js", "../searchindex.js"];
const scripts = files.map((name) => fs.readFileSync(path.join(process.argv[1], "_static", name), "utf8"));
const ask = "(question) => Search._performSearch(...Search._parseQuery(question))";
const search = vm.runInNewContext([...scripts, ask].join(";\n"), site);
console.log(JSON.stringify(JSON.parse(fs.readFileSync(0, "utf8")).map((question) =>
  search(question).reverse().map(([page, , anchor]) => page + anchor))));
"""
# What people ask, in their words, and the page of the first answer.
QUESTIONS = {
    # assessors
    "change shortcut keys": "roles/assessor#judge-with-the-keyboard",
    "offline judging keyboard": "roles/assessor",
    "undo a judgment": "roles/assessor#undo-or-change-a-judgment",
    "my browser crashed, is my work lost": "roles/assessor#your-work-is-safe",
    "cannot judge this document, skip it": "roles/assessor#skip-a-task-or-get-more-time",
    "judge on a phone": "roles/assessor",
    "change the language of the page": "roles/assessor#choose-the-language",
    "somebody else has this unit": "troubleshooting#somebody-else-has-the-unit",
    # participants
    "my run was refused duplicate document": "troubleshooting#duplicate-document-in-a-topic",
    "too many columns": "troubleshooting#wrong-number-of-columns",
    "tag already taken": "troubleshooting#the-tag-is-already-taken",
    "unknown topic in my run": "troubleshooting#unknown-topic",
    "file too large": "troubleshooting#the-file-is-too-large",
    "UTF-16 encoding error": "troubleshooting#encoding-utf-16-unicode",
    "why was my run rejected": "roles/participant#check-a-run",
    "submit a run": "roles/participant#submit-a-run",
    "withdraw a run": "roles/participant#submit-a-run",
    "forgot password": "roles/participant#join-a-track",
    "login link expired": "troubleshooting#the-login-link",
    "invite a colleague to my team": "roles/participant#your-team",
    "when do I see my scores": "roles/participant#what-you-see-and-when",
    "submit runs from a script": "howto/take-part-by-command",
    "rate limit": "troubleshooting#rate-limit",
    "429": "troubleshooting#rate-limit",
    # organizers
    "what is a pool": "glossary",
    "invite assessors": "howto/run-a-campaign#invite-assessors-and-teams",
    "deadline grace period": "howto/run-a-campaign#set-the-deadlines",
    "how do I freeze the qrels": "howto/run-a-campaign#freeze-the-qrels",
    "two assessors disagree": "howto/run-a-campaign#watch-agreement-and-adjudicate",
    "kappa agreement": "howto/run-a-campaign#watch-agreement-and-adjudicate",
    "language model judges": "howto/judge-with-a-program",
    "crowdsourcing without an account": "howto/judge-rows#work-by-a-link-without-an-account",
    "GDPR delete a user": "howto/personal-data",
    "import Stack Exchange dump": "howto/import-a-collection#import-a-large-stack-exchange-dump",
    # researchers
    "ndcg_cut_10": "reference/measures#trec-eval",
    "score runs on files": "howto/score-runs",
    "none of its topics is in the qrels": "troubleshooting#none-of-its-topics",
    "known item": "howto/build-pools#known-items",
    "pool depth": "howto/build-pools",
    "significance test between two runs": "howto/analyze",
    "TREC run file format": "reference/formats#runs",
    "plots in a jupyter notebook": "howto/notebook",
    # operators
    "backup restore": "howto/back-up-and-restore",
    "upgrade to a new version": "howto/back-up-and-restore#upgrade-to-a-new-version",
    "redis connection refused": "troubleshooting#redis-does-not-answer",
    "csrf verification failed": "troubleshooting#expired-form-csrf",
    "https certificate reverse proxy": "howto/deploy#the-proxy",
    "login with university account": "howto/sign-in#the-login-of-an-institution",
}
NO_GUIDES = ("adr/", "reference/library/")


@pytest.fixture(scope="module")
def answers(built: Path) -> dict[str, list[str]]:
    """The pages that each question finds, best first."""
    node = shutil.which("node") or shutil.which("node", path=ROOT / ".venv" / "bin")
    if node is None:
        pytest.skip("needs node, which `make setup` installs")
    questions = [*QUESTIONS, "cohen_kappa"]
    command = [node, "-e", ASK, str(built)]
    done = subprocess.run(command, input=json.dumps(questions), capture_output=True, text=True, check=True)
    return dict(zip(questions, json.loads(done.stdout), strict=True))


def test_question_of_a_user_finds_its_page_first(answers: dict[str, list[str]]) -> None:
    wrong = {
        question: answers[question][:3]
        for question, page in QUESTIONS.items()
        if not answers[question] or not answers[question][0].startswith(page)
    }

    assert wrong == {}


def test_decisions_and_the_library_come_after_guides(answers: dict[str, list[str]]) -> None:
    last = {question: [page.startswith(NO_GUIDES) for page in pages] for question, pages in answers.items()}

    assert {question: order for question, order in last.items() if order != sorted(order)} == {}
    assert answers["cohen_kappa"][0].endswith("cohen_kappa")


def test_index_leads_from_words_to_sections_of_guides(built: Path) -> None:
    page = (built / "genindex.html").read_text()
    entries = dict(
        re.findall(r'<a href="([^"#]+#[^"]*)">([^<]+)</a>', page[page.index("genindex-jumpbox") :])
    )

    lost = [
        link
        for link in entries
        if f'id="{link.partition("#")[2]}"' not in (built / link.partition("#")[0]).read_text()
    ]

    assert "roles/assessor.html#judge-with-the-keyboard" in entries
    assert not [link for link in entries if link.startswith("reference/library/") or "#index-" in link]
    assert lost == []
