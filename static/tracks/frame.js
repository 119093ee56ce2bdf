// Runs inside the frame of a form, whose template has controls and scripts of its own. It sends what was entered to the
// judging page around it, which stores it, and fills in what the page has. The frame can reach nothing else.
//
// It runs before the template, so that no script of the template can change what it uses, or send in its place: messages
// take a channel of their own. It asks to submit only if the assessor has just used the frame, or the page asks for it.
(() => {
  "use strict";
  const USED = 5000; // ms for which a click or a key may be the reason of a submission
  const { port1: port, port2 } = new MessageChannel();
  const post = port.postMessage.bind(port);
  const now = performance.now.bind(performance);
  // Not the getter that a script of the template may put in its place: it would be given the event, and so the channel.
  const dataOf = Function.prototype.call.bind(
    Object.getOwnPropertyDescriptor(MessageEvent.prototype, "data").get,
  );
  let used = -USED;
  const form = () => document.getElementById("assay-form");
  const all = () =>
    [...form().elements].filter(({ name, type }) => name && type !== "submit" && type !== "button");

  // The values of each name that a form would send.
  function answers() {
    const values = {};
    for (const [name, value] of new FormData(form()))
      if (typeof value === "string") values[name] = [...(values[name] ?? []), value];
    return values;
  }
  const tell = (kind) =>
    post({ assay: kind, answers: answers(), height: document.documentElement.offsetHeight });
  const submit = () => tell(now() - used < USED ? "submit" : "unasked");

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

  // A browser says nothing of a missing answer that it cannot focus: a closed part is opened, and the page names what the
  // template hides.
  const isShown = (control) => control.checkVisibility?.({ checkVisibilityCSS: true }) ?? true;
  function missed(event) {
    const { target } = event;
    for (let part = target; part; part = part.parentElement)
      if (part.localName === "details") part.open = true;
    const open = all().filter((control) => control.willValidate && !control.validity.valid);
    if (!isShown(target)) event.preventDefault();
    if (target === open[0] && !open.some(isShown))
      post({ assay: "missing", name: target.labels?.[0]?.textContent.trim() || target.name });
  }

  // The keys of the page, unless the template took the key or somebody is typing.
  const own =
    'a, button, summary, textarea, select, input:not([type="radio"], [type="checkbox"]), [contenteditable]';
  function pressed(event) {
    const { key } = event;
    const isCommand = event.ctrlKey || event.metaKey;
    if (event.defaultPrevented || event.altKey || event.repeat || event.isComposing) return;
    if (isCommand && key === "Enter") form().requestSubmit();
    if (isCommand || event.target.closest?.(own) || (key.length > 1 && key !== "Enter")) return;
    event.preventDefault();
    post({ assay: "key", key });
  }

  for (const kind of ["pointerdown", "pointerup", "keydown", "click", "input"])
    window.addEventListener(
      kind,
      ({ isTrusted }) => {
        if (isTrusted) used = now();
      },
      { capture: true },
    );
  window.addEventListener("invalid", missed, { capture: true });
  // `form.submit()` of a script is a submission too.
  HTMLFormElement.prototype.submit = submit;
  port.onmessage = (event) => {
    const data = dataOf(event);
    if (data.assay === "fill") fill(data.answers);
    if (data.assay !== "submit") return;
    used = now();
    form().requestSubmit();
  };
  window.parent.postMessage({ assay: "port" }, "*", [port2]);
  document.addEventListener("DOMContentLoaded", () => {
    // The template's own handlers come first, and can refuse.
    window.addEventListener("submit", (event) => {
      if (event.defaultPrevented) return;
      event.preventDefault();
      submit();
    });
    window.addEventListener("keydown", (event) => event.isTrusted && pressed(event));
    for (const kind of ["input", "change", "click"]) window.addEventListener(kind, () => tell("changed"));
    new ResizeObserver(() => tell("changed")).observe(document.documentElement);
    tell("ready");
  });
})();
