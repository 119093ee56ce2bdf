// The submission page: reads tag, kind and team from each chosen file, adds rows for several files, shows the progress.
"use strict";

const form = document.getElementById("run-form");
const rows = document.getElementById("run-rows");
const add = document.getElementById("add-run");
const bar = document.getElementById("upload-bar");
const submission = document.getElementById("submission");
const START = 65536; // bytes of a file in which the server finds the name of the run
let last = Math.max(...Array.from(rows.children, (row) => Number(row.dataset.row)));

const fileOf = (row) => row.querySelector('input[type="file"][name$="file"]');

const asked = new Set(); // the requests about chosen files; nothing is submitted before they are answered

async function readStart(row) {
  const chosen = fileOf(row).files[0];
  if (!chosen) return;
  const request = namedIn(chosen);
  asked.add(request);
  form.setAttribute("aria-busy", "true");
  const { tag, kind } = await request;
  asked.delete(request);
  if (!asked.size) form.removeAttribute("aria-busy");
  if (fileOf(row).files[0] !== chosen) return;
  takeKind(row, kind);
  takeTag(row, tag);
  takeTeam(row, chosen.name);
  count();
}

// The tag and the kind that a file states. The server reads them by the format of the track.
async function namedIn(file) {
  const token = form.querySelector('input[name="csrfmiddlewaretoken"]').value;
  const body = file.slice(0, START, "application/octet-stream");
  try {
    const answer = await fetch(form.dataset.start, {
      method: "POST",
      headers: { "X-CSRFToken": token },
      body,
    });
    if (answer.ok) return await answer.json();
  } catch {
    // the server names the run when it is submitted
  }
  return { tag: "", kind: "" };
}

const wordsOf = (text) =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .match(/\p{N}+|[\p{L}\p{M}]+/gu) || [];

// True if whole words of a text, one after the other, spell a name: case, spaces and punctuation do not count.
function spells(text, name) {
  const words = wordsOf(text);
  return words.some((_, first) => words.some((_, last) => words.slice(first, last + 1).join("") === name));
}

// The team that the tag or the name of the file names; the longest, if one name contains another, and nobody if several
// are named. A team that somebody chose stays.
function takeTeam(row, file) {
  const select = row.querySelector('select[name$="team"]');
  if (!select || (select.value && select.value !== select.dataset.fromFile)) return;
  const tag = row.querySelector('input[name$="tag"]').value;
  const teams = Array.from(select.options, (option) => ({
    value: option.value,
    name: wordsOf(option.text).join(""),
  })).filter(({ value, name }) => value && name && (spells(file, name) || spells(tag, name)));
  const longest = teams.filter(
    (team) => !teams.some(({ name }) => name !== team.name && name.includes(team.name)),
  );
  select.value = longest.length === 1 ? longest[0].value : "";
  select.dataset.fromFile = select.value;
}

function takeKind(row, kind) {
  const select = row.querySelector('select[name$="kind"]');
  if (Array.from(select.options, (option) => option.value).includes(kind)) select.value = kind;
}

// Not while somebody may be typing it.
function takeTag(row, named) {
  const tag = row.querySelector('input[name$="tag"]');
  if (tag === document.activeElement || (tag.value && tag.value !== tag.dataset.fromFile)) return;
  tag.value = named.slice(0, 100);
  tag.dataset.fromFile = tag.value;
}

function addRow() {
  const template = document.getElementById("more-run");
  last += 1;
  rows.insertAdjacentHTML("beforeend", template.innerHTML.replaceAll("ROW", String(last)));
  const row = rows.lastElementChild;
  const before = row.previousElementSibling;
  for (const control of row.querySelectorAll("select")) {
    const name = control.name.replace(/^\d+-/, "");
    if (name === "replaces") continue; // a run is replaced once
    const same = before.querySelector(`select[name$="${name}"]`);
    if (same) control.value = same.value;
  }
  prepare(row);
  return row;
}

// Several files were chosen in one row: each of the others gets a row of its own.
function spread(row) {
  const [own, ...others] = fileOf(row).files;
  if (!others.length) return;
  const room = Number(rows.dataset.max) - rows.children.length;
  const chosen = row.querySelector('select[name$="team"]');
  const fromFiles = chosen && chosen.value === (chosen.dataset.fromFile || "");
  give(row, own);
  for (const file of others.slice(0, room)) {
    const more = addRow();
    const team = more.querySelector('select[name$="team"]');
    if (team && fromFiles) team.value = "";
    give(more, file);
    readStart(more);
  }
}

function give(row, file) {
  const transfer = new DataTransfer();
  transfer.items.add(file);
  fileOf(row).files = transfer.files;
}

function prepare(row) {
  const file = fileOf(row);
  const remove = row.querySelector("[data-remove]");
  file.multiple = true;
  const read = () => {
    spread(row);
    readStart(row);
  };
  file.addEventListener("change", read);
  if (file.files.length) read(); // chosen before this script ran
  if (remove) {
    remove.hidden = false;
    remove.addEventListener("click", () => {
      row.remove();
      count();
    });
  }
  count();
}

function count() {
  add.hidden = rows.children.length >= Number(rows.dataset.max);
  for (const row of rows.children) {
    fileOf(row).required = rows.children.length === 1;
    const team = row.querySelector('select[name$="team"]');
    if (team) team.required = rows.children.length === 1 || fileOf(row).files.length > 0;
  }
}

// A file that was accepted is not sent again.
function forgetAccepted() {
  for (const answer of submission.querySelectorAll("[data-accepted]")) {
    const row = rows.querySelector(`[data-row="${answer.dataset.accepted}"]`);
    if (!row) continue;
    if (row.dataset.row === "1") {
      fileOf(row).value = "";
      row.querySelector('input[name$="tag"]').value = "";
    } else {
      row.remove();
    }
  }
  count();
}

for (const row of Array.from(rows.children)) prepare(row);
add.addEventListener("click", () => fileOf(addRow()).focus());
form.addEventListener("htmx:confirm", (event) => {
  if (!asked.size) return;
  event.preventDefault();
  // readStart waits for the same requests, and began to wait earlier
  Promise.all(asked).then(() => event.detail.issueRequest(true));
});
form.addEventListener("htmx:xhr:progress", (event) => {
  if (!event.detail.lengthComputable) return;
  bar.hidden = false;
  bar.value = Math.round((100 * event.detail.loaded) / event.detail.total);
});
form.addEventListener("htmx:afterRequest", (event) => {
  bar.hidden = true;
  if (!event.detail.successful) {
    const note = document.createElement("div");
    note.className = "message error";
    note.setAttribute("role", "alert");
    note.textContent =
      event.detail.xhr && event.detail.xhr.status === 413
        ? "The file is larger than this site accepts. Compress it with gz or xz. Nothing was stored."
        : "The file could not be sent. Nothing was stored. Try again.";
    submission.replaceChildren(note);
  }
});
// The report of a file is brought into sight. Without one, the first field with a problem gets the focus. What is wrong
// with a field is said below it too.
function showAnswer() {
  for (const error of form.querySelectorAll(".field-error")) error.remove();
  for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  const wrong = [];
  for (const problem of submission.querySelectorAll("[data-field]")) {
    const field = document.getElementById(problem.dataset.field);
    if (!field) continue;
    const below = document.getElementById(`${field.id}_help`);
    const error = document.createElement("div");
    error.className = "field-error";
    error.textContent = problem.dataset.message;
    below.prepend(error);
    field.setAttribute("aria-describedby", below.id);
    field.setAttribute("aria-invalid", "true");
    field.closest("details")?.setAttribute("open", "");
    wrong.push(field);
  }
  if (wrong.length && !submission.querySelector(".complaints")) wrong[0].focus();
  else if (submission.childElementCount) submission.scrollIntoView({ block: "start" });
}

submission.addEventListener("htmx:afterSwap", () => {
  forgetAccepted();
  showAnswer();
});
