// Sends a file to attach in the background, to show the progress of a long upload.
"use strict";

const form = document.getElementById("attach-form");
const bar = document.getElementById("upload-bar");

form.addEventListener("submit", (event) => {
  if (!form.querySelector("[type=file]").files.length) return; // without a file the browser sends the form
  event.preventDefault();
  const button = form.querySelector("[type=submit]");
  const request = new XMLHttpRequest();
  request.open("POST", form.action || location.href);
  request.setRequestHeader("HX-Request", "true");
  request.upload.addEventListener("progress", (progress) => {
    if (progress.lengthComputable) bar.value = Math.round((100 * progress.loaded) / progress.total);
  });
  request.addEventListener("load", () => {
    const page = request.getResponseHeader("HX-Redirect");
    if (page) location.assign(page);
    else show(request.responseText);
  });
  request.addEventListener("error", () => {
    button.disabled = false;
    bar.hidden = true;
    const note = document.createElement("div");
    note.className = "message error";
    note.setAttribute("role", "alert");
    note.textContent = "The file could not be sent. Nothing was stored. Try again.";
    form.prepend(note);
  });
  button.disabled = true;
  bar.hidden = false;
  request.send(new FormData(form));
});

// The server refused the form: its page, with the errors, takes the place of this one. The file must be chosen again.
function show(text) {
  const page = new DOMParser().parseFromString(text, "text/html");
  document.getElementById("main").replaceChildren(...page.getElementById("main").childNodes);
  scrollTo(0, 0);
}
