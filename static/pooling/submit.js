// The submission page: reads the tag from the chosen file and shows the progress of a long upload.
"use strict";

const form = document.getElementById("run-form");
const tag = document.getElementById("id_tag");
const file = document.getElementById("id_file");
const bar = document.getElementById("upload-bar");
const submission = document.getElementById("submission");
const MAGIC = ["\u001f", "PK", "\ufffd7zXZ", "%PDF"];

async function readTag() {
  const chosen = file.files[0];
  if (!chosen || (tag.value && tag.value !== tag.dataset.fromFile)) return;
  const start = (await chosen.slice(0, 4096).text()).replace(/^\ufeff/, "");
  tag.value = (start.trimStart().startsWith("<") ? tagOfXml(start) : tagOfLines(start)).slice(0, 100);
  tag.dataset.fromFile = tag.value;
}

function tagOfXml(start) {
  const match = start.match(
    /<(?:\w+:)?(?:run\s(?:[^<>]*\s)?runtag|bolt-ir-submission\s(?:[^<>]*\s)?run)\s*=\s*(["'])([^"'&]*)\1/,
  );
  return match ? match[2].trim() : "";
}

function tagOfLines(start) {
  const lines = start.split(/[\r\n]+/).map((line) => line.trim().split(/\s+/));
  const columns = lines.length > 2 ? lines[1] : lines[0];
  const isText =
    !MAGIC.some((magic) => start.startsWith(magic)) && (columns.length === 5 || columns.length === 6);
  return isText ? columns.at(-1) : "";
}

file.addEventListener("change", readTag);
form.addEventListener("htmx:xhr:progress", (event) => {
  if (!event.detail.lengthComputable) return;
  bar.hidden = false;
  bar.value = Math.round((100 * event.detail.loaded) / event.detail.total);
});
form.addEventListener("htmx:afterRequest", (event) => {
  bar.hidden = true;
  if (!event.detail.successful) {
    const note = document.createElement("div");
    note.className = "alert alert-danger";
    note.setAttribute("role", "alert");
    note.textContent =
      event.detail.xhr && event.detail.xhr.status === 413
        ? "The file is larger than this site accepts. Compress it with gz or xz. Nothing was stored."
        : "The file could not be sent. Nothing was stored. Try again.";
    submission.replaceChildren(note);
  }
});
submission.addEventListener("htmx:afterSwap", () => submission.scrollIntoView({ block: "start" }));
