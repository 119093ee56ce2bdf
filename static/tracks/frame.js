// Runs inside the frame of a form, whose template has controls and scripts of its own. It sends what was entered to the
// judging page around it, which stores it, and fills in what the page has. The frame can reach nothing else.
(() => {
  "use strict";
  const form = document.getElementById("assay-form");
  const all = () =>
    [...form.elements].filter(({ name, type }) => name && type !== "submit" && type !== "button");

  // The values of each name that a form would send.
  function answers() {
    const values = {};
    for (const [name, value] of new FormData(form))
      if (typeof value === "string") values[name] = [...(values[name] ?? []), value];
    return values;
  }
  const tell = (kind) =>
    window.parent.postMessage(
      { assay: kind, answers: answers(), height: document.documentElement.offsetHeight },
      "*",
    );

  // Controls of other types take the first value that is left of their name.
  const setters = {
    radio: (control, given) => {
      control.checked = given.includes(control.value);
    },
    "select-multiple": (control, given) => {
      for (const option of control.options) option.selected = given.includes(option.value);
    },
    hidden: (control, given) => {
      control.value = given.shift() ?? control.value;
    },
  };
  setters.checkbox = setters.radio;
  const setText = (control, given) => {
    control.value = given.shift() ?? "";
  };
  function fill(values) {
    const left = new Map(Object.entries(values).map(([name, given]) => [name, [...given]]));
    for (const control of all()) {
      const set = setters[control.type] ?? setText;
      set(control, left.get(control.name) ?? []);
      control.dispatchEvent(new Event("change", { bubbles: true }));
    }
  }

  // The template's own handlers come first, and can refuse. `form.submit()` of a script is a submission too.
  window.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    event.preventDefault();
    tell("submit");
  });
  HTMLFormElement.prototype.submit = () => tell("submit");
  for (const kind of ["input", "change", "click"]) window.addEventListener(kind, () => tell("changed"));
  window.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  window.addEventListener("message", ({ source, data }) => {
    if (source !== window.parent) return;
    if (data?.assay === "fill") fill(data.answers);
    if (data?.assay === "submit") form.requestSubmit();
  });
  new ResizeObserver(() => tell("changed")).observe(document.documentElement);
  tell("ready");
})();
