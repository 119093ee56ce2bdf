// The editor of protocols: fields with an error say so, fields never go while somebody changes them, a refused change
// shows both texts in place of the form, and the result shows the section in work and the sentence that changed.
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

  // The server sends the fields again if other keys apply, and a field whose value follows from another one. What was
  // changed and is in no request yet would be lost: then the fields come later, and a field stays as it is.
  const unsent = new Set();
  let isOld = false;
  const note = (field) => {
    if (field.closest?.("#form, #result, [name=op]")) unsent.add(field);
  };
  // Before htmx sends it
  for (const name of ["input", "change"])
    document.addEventListener(name, (event) => note(event.target), true);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    pressed = button.name === "op" ? button.value : "";
    if (pressed) note(button);
  });
  const send = (place) => {
    for (const field of unsent) if (place.contains(field) || !field.isConnected) unsent.delete(field);
  };
  let held = null; // by the mouse; the click would be lost
  document.addEventListener("pointerdown", (event) => {
    held = event.target.closest("#fields :is(button, label, summary, input)");
  });
  for (const name of ["pointerup", "pointercancel"])
    document.addEventListener(name, () => {
      held = null;
    });
  const isUnsent = (place) => [...unsent, held].some((field) => place.contains(field));
  const isKept = (target) => {
    if (target.id === "fields") isOld = isUnsent(target);
    if (target.id === "revision") return isUnsent(document.getElementById("result")); // or the text would overwrite
    return ["fields", "result"].includes(target.id) && isUnsent(target);
  };
  for (const name of ["oobBeforeSwap", "beforeSwap"])
    document.addEventListener(`htmx:${name}`, ({ detail }) => {
      if (isKept(detail.target)) detail.shouldSwap = false;
    });
  document.addEventListener("htmx:oobBeforeSwap", ({ detail: { target, fragment }, detail }) => {
    if (!target.matches("input.form-control")) return;
    detail.shouldSwap = false;
    if (!unsent.has(target)) target.value = fragment.firstElementChild.value;
  });
  document.addEventListener("htmx:afterRequest", () => {
    if (!isOld || isUnsent(editor())) return;
    isOld = false;
    htmx.ajax("GET", location.href, { target: "#fields", select: "#fields", swap: "outerHTML" });
  });

  // A button goes with the fields that an answer shows again, even before its own request, which waits. The request
  // then still says what was pressed, and the focus goes to what was added, moved or undone.
  let pressed = "";
  document.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.verb === "post") send(event.detail.elt);
    if (event.target.id === "form" && pressed) event.detail.parameters.op = pressed;
  });
  const placeOf = (path) => document.getElementById(`f-${path.replace(/\W+/g, "-").replace(/-$/, "")}`);
  const goOn = (act, path) => {
    const step = { up: -1, down: 1 }[act];
    const moved = path.replace(/\d+(?=\]$)/, (n) => Number(n) + (step ?? 0));
    const place = placeOf(act === "remove" ? path.replace(/\[\d+\]$/, "") : moved);
    const parts = place?.querySelectorAll(":scope > .item, :scope > .pair-row") ?? [];
    const part = ["add", "row"].includes(act)
      ? ([...parts].at(-1) ?? place)
      : (place?.closest(".pair-row") ?? place);
    const fields = [...(part?.querySelectorAll(step ? "button" : "input, select, textarea") ?? [])];
    const field =
      fields.find((each) => each.value.startsWith(`${act} `)) ?? fields.find((each) => each.offsetParent);
    goTo(act === "remove" ? place : (field ?? place));
  };

  // The result scrolls in its own frame, and stays where it is unless what changed would be out of sight.
  const result = () => document.getElementById("result");
  const sentences = () => [...result().querySelectorAll(".words :is(mark, span)")];
  const textOf = (sentence) => sentence.textContent.replace(/;\s*$/, "");
  let shown = null; // the result before an answer: its sentences, and how far it was scrolled
  const bring = (part) => {
    const frame = result().getBoundingClientRect();
    const { top, bottom } = part?.getBoundingClientRect() ?? frame;
    if (top < frame.top || bottom > frame.bottom) result().scrollTop += top - frame.top - frame.height / 4;
  };
  const showSection = () => {
    const part = result()?.querySelector(".here");
    if (part)
      result().scrollTop += part.getBoundingClientRect().top - result().getBoundingClientRect().top - 16;
  };
  document.addEventListener("htmx:oobBeforeSwap", ({ detail: { target } }) => {
    if (target.id === "result" && !isKept(target))
      shown = { scrolled: target.scrollTop, texts: new Set(sentences().map(textOf)) };
  });
  document.addEventListener("htmx:oobAfterSwap", ({ detail: { target } }) => {
    if (target.id !== "result" || !shown) return;
    result().scrollTop = shown.scrolled;
    const fresh = shown.texts.size ? sentences().filter((each) => !shown.texts.has(textOf(each))) : [];
    for (const each of fresh) each.classList.add("fresh");
    bring(fresh[0]);
    shown = null;
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    mark();
    if (event.target.id === "editor") showSection();
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
  showSection();
  const goToPlace = (hash) => goTo(document.getElementById(hash.slice(1)));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("#fields a[href^='#']"); // a place in a closed list opens, but is not scrolled to
    if (link) goToPlace(link.hash);
  });
  if (location.hash) goToPlace(location.hash);
})();
