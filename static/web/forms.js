// The first field with an error, or the list of several (components/form_errors.html), gets the focus: when the server
// shows a form again, and when htmx inserts one. A closed part opens for a missing field in it. What the browser finds wrong is said below the field, in the words of the server, until it is corrected. A short name follows from the name until it is typed. A
// form is sent only after a question if texts typed in other forms of the page would be lost; `data-kept` forms keep theirs.
// A date is written as the site writes it, where a browser would write it in the order of its own language.
(() => {
  "use strict";
  const listed = ".errors:not([hidden])";
  const invalid = '[aria-invalid="true"]';
  const place = ".field, td"; // of a field with its label and its errors
  function open(field) {
    for (let part = field; part; part = part.parentElement)
      if (part.localName === "details") part.open = true;
  }
  function focusFirst(within) {
    const first = within.querySelector(listed) ?? within.querySelector(invalid);
    open(first);
    first?.focus();
  }
  function list(form) {
    const box = form?.querySelector(".errors");
    if (!box) return;
    const errors = [...form.querySelectorAll(".field-error")];
    const places = new Set(errors.map((error) => error.closest(place)).filter(Boolean));
    const links = [...places].flatMap((field) => {
      const link = document.createElement("a");
      link.href = `#${field.querySelector("input:not([type=hidden]), select, textarea").id}`;
      link.textContent = field.querySelector(".form-label, label")?.firstChild.textContent.trim();
      return [", ", link];
    });
    box.querySelector("span").replaceChildren(...links.slice(1));
    box.hidden = links.length < 4;
    return box;
  }
  // As web.forms says it, where a browser would have other words, perhaps in another language.
  function missing({ type, validationMessage }) {
    const { gettext } = window.assay;
    if (type === "file") return gettext("Choose a file.");
    if (type === "checkbox") return validationMessage;
    return /^(select|radio)/.test(type) ? gettext("Make a choice.") : gettext("Fill in this field.");
  }
  function said(field) {
    const { gettext } = window.assay;
    const { validity: wrong, min, max } = field;
    if (wrong.valueMissing) return missing(field);
    if (wrong.rangeUnderflow) return gettext("Enter a number of at least {n}.", { n: min });
    if (wrong.rangeOverflow) return gettext("Enter a number of at most {n}.", { n: max });
    return (wrong.patternMismatch && field.title) || field.validationMessage;
  }
  if (document.querySelector(listed) || !document.querySelector("[autofocus]")) focusFirst(document);
  let isFirst = true; // of the fields of one submission
  document.addEventListener(
    "invalid",
    (event) => {
      const field = event.target;
      open(field);
      const below = document.getElementById(field.getAttribute("aria-describedby")?.split(" ").at(-1));
      if (!below?.closest(place)) return; // the browser says it
      event.preventDefault();
      for (const old of below.querySelectorAll(".field-error")) old.remove();
      const error = document.createElement("div");
      error.className = "field-error";
      error.textContent = said(field);
      below.prepend(error);
      field.setAttribute("aria-invalid", "true");
      if (isFirst) field.focus();
      isFirst = false;
      setTimeout(() => {
        isFirst = true;
        list(field.form)?.focus();
      });
    },
    { capture: true },
  );
  document.addEventListener("htmx:afterSettle", (event) => focusFirst(event.detail.elt));
  for (const name of ["input", "change"])
    document.addEventListener(name, ({ target }) => {
      const field = target.closest(place);
      if (!field?.querySelector(".field-error") || !target.validity?.valid) return;
      for (const error of field.querySelectorAll(".field-error")) error.remove();
      for (const control of field.querySelectorAll(invalid)) control.removeAttribute("aria-invalid");
      list(target.form);
    });

  // Its button, for a mouse, opens the calendar of the browser. A touch screen keeps its own way to choose a date.
  function writeAsText(field) {
    const calendar = document.createElement("input");
    const button = document.createElement("button");
    const hasTime = field.type !== "date";
    const text = field.value.replace("T", " ");
    calendar.type = field.type;
    calendar.className = "visually-hidden";
    button.type = "button";
    button.className = "calendar";
    for (const part of [calendar, button]) {
      part.tabIndex = -1;
      part.setAttribute("aria-hidden", "true");
    }
    field.type = "text";
    field.defaultValue = text;
    field.value = text;
    field.placeholder = hasTime ? "YYYY-MM-DD hh:mm" : "YYYY-MM-DD";
    field.pattern = `\\s*\\d{4}-\\d{2}-\\d{2}${hasTime ? "[T ]\\d{2}:\\d{2}" : ""}\\s*`;
    field.title = window.assay.gettext("Write it as {form}.", {
      form: hasTime ? "2026-05-01 23:59" : "2026-05-01",
    });
    button.addEventListener("click", () => {
      calendar.value = field.value.trim().replace(" ", "T");
      calendar.showPicker();
    });
    calendar.addEventListener("input", (event) => {
      event.stopPropagation();
      field.value = calendar.value.replace("T", " ");
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    field.after(button, calendar);
  }
  if (!window.matchMedia("(pointer: coarse)").matches)
    document.querySelectorAll('[type="date"], [type="datetime-local"]').forEach(writeAsText);

  for (const field of document.querySelectorAll("[data-follows]")) {
    let isOwn = field.value !== "";
    field.addEventListener("input", () => {
      isOwn = field.value !== "";
    });
    field.form?.elements.namedItem(field.dataset.follows)?.addEventListener("input", ({ target }) => {
      if (isOwn) return;
      const letters = target.value.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
      const words = letters.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
      const most = Math.min(40, field.maxLength);
      field.value = `${words}-`
        .slice(0, most + 1)
        .replace(/-[^-]*$/, "")
        .slice(0, most);
    });
  }

  // The answer is a file, so that the page stays.
  document.addEventListener("submit", ({ target, defaultPrevented }) => {
    const status = target.querySelector("[data-downloading]");
    if (status && !defaultPrevented) status.textContent = status.dataset.downloading;
  });

  const OTHERS = 'form[method="post"]:not([data-kept], [hx-post], :has([type="password"]))';
  const isTyped = (field) =>
    field.matches("textarea, input:not([type=checkbox], [type=radio], [type=hidden])") &&
    field.value !== field.defaultValue;
  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return; // a script sends it, and the page stays
    const forms = [...document.querySelectorAll(OTHERS)].filter((form) => form !== event.target);
    const field = forms.flatMap(({ elements }) => [...elements]).find(isTyped);
    if (!field) return;
    const label = field.labels?.[0]?.firstChild.textContent.trim() || field.name;
    const question = window.assay.gettext(
      "What you entered in “{field}” is not saved yet and will be lost. Send this form anyway?",
      { field: label },
    );
    // biome-ignore lint/suspicious/noAlert: the submission waits for the answer
    if (window.confirm(question)) return;
    event.preventDefault();
    open(field);
    field.focus();
  });
})();
