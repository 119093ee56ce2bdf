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
    const button = event.target.closest("button");
    if (!button) return;
    pressed = button.name === "op" ? button.value : "";
    if (pressed) note(event);
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

  // A button goes with the fields that an answer shows again, even before its own request, which waits. The request
  // then still says what was pressed, and the focus goes to what was added, moved or undone.
  let pressed = "";
  document.addEventListener("htmx:configRequest", (event) => {
    if (event.target.id === "form" && pressed) event.detail.parameters.op = pressed;
  });
  const placeOf = (path) => document.getElementById(`f-${path.replace(/\W+/g, "-").replace(/-$/, "")}`);
  const goOn = (act, path) => {
    const step = { up: -1, down: 1 }[act];
    const moved = path.replace(/\d+(?=\]$)/, (n) => Number(n) + (step ?? 0));
    const place = placeOf(act === "remove" ? path.replace(/\[\d+\]$/, "") : moved);
    const parts = place?.querySelectorAll(":scope > .item, :scope > .pair-row") ?? [];
    const part = ["add", "row"].includes(act) ? ([...parts].at(-1) ?? place) : place;
    const fields = part?.querySelectorAll(step ? "button" : "input, select, textarea") ?? [];
    const field = [...fields].find((each) => each.offsetParent);
    goTo(act === "remove" ? place : (field ?? place));
  };
  document.addEventListener("htmx:afterSettle", (event) => {
    mark();
    if (event.target.id !== "fields" || !pressed) return;
    goOn(...pressed.split(" "));
    pressed = "";
  });
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
