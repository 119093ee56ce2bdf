// The editor of protocols: fields with an error say so, fields never go while somebody changes them, and a refused
// change shows both texts in place of the form.
(() => {
  "use strict";
  const editor = () => document.getElementById("editor");
  const mark = () => {
    for (const note of document.querySelectorAll("#editor .about-key")) {
      const field = document.getElementById(note.id.slice(2));
      if (!field?.matches("input, select, textarea")) continue;
      if (note.querySelector(".field-error")) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
    }
  };
  const goTo = (field) => {
    for (let part = field?.closest("details"); part; part = part.parentElement.closest("details"))
      part.open = true;
    field?.focus();
  };

  // The server sends the fields again if other keys apply. What was changed since the request waits for its turn, and
  // would be lost: then the fields come after it.
  let changed = 0;
  let sent = 0;
  let isOld = false;
  const note = (event) => {
    if (event.target.closest?.("#form, #form [name=op]")) changed = event.timeStamp;
  };
  for (const name of ["input", "change"]) document.addEventListener(name, note);
  document.addEventListener("click", (event) => {
    if (event.target.closest("[name=op]")) note(event);
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    sent = event.timeStamp;
  });
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    if (event.detail.target.id !== "fields" || changed <= sent) return;
    event.detail.shouldSwap = false;
    isOld = true;
  });
  document.addEventListener("htmx:afterRequest", () => {
    if (!isOld || changed > sent) return;
    isOld = false;
    htmx.ajax("GET", location.href, { target: "#fields", select: "#fields", swap: "outerHTML" });
  });

  document.addEventListener("htmx:afterSettle", mark);
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.xhr.status !== 409) return;
    Object.assign(event.detail, {
      shouldSwap: true,
      isError: false,
      target: editor(),
      swapOverride: "innerHTML",
    });
  });
  mark();
  if (location.hash) goTo(document.getElementById(location.hash.slice(1)));
})();
