// Decisions on one candidate after the other, without leaving the page. Without this script, the form is a plain one.
//
// The page has the next candidate in `template#ahead`. It is typeset while the current one is read, and shown at once if the
// answer to the submission has the same HTML: the server says what comes next. Keys are those of keys.js. The script sets
// `data-choosing="ready"` on the html element when the page takes keys and clicks.
(() => {
  "use strict";
  const { assay } = window;
  const { gettext } = window.assay;
  const mainElement = () => document.getElementById("main");
  const say = (text) => {
    const state = document.getElementById("state");
    state.className = "state bad";
    state.textContent = text;
  };
  let ahead = null; // the next candidate, typeset, with its HTML before

  function prepare() {
    ahead = null;
    const template = document.getElementById("ahead");
    if (!template) return;
    const box = document.createElement("div");
    box.append(document.importNode(template.content, true));
    ahead = { box, html: box.innerHTML.trim() };
    assay.renderMathAhead(box, () => undefined);
  }
  function show(main) {
    const text = main.querySelector("[data-text]");
    const isReady = text && ahead?.html === text.innerHTML.trim();
    if (isReady) text.replaceChildren(...ahead.box.childNodes);
    mainElement().replaceWith(main);
    document.title = main.dataset.title;
    if (isReady) assay.measureMath(text);
    assay.renderMath(main);
    window.scrollTo(0, 0);
    start();
  }
  // What is missing, and where; nothing if the form is complete.
  function missing(form) {
    const choice = form.elements.choice.value;
    if (!choice) return [gettext("Accept or reject the candidate."), form.querySelector("#choice-accepted")];
    const groups = [...form.querySelectorAll(".label-choices:not(.decision-choices)")];
    const open = groups.find((group) => !group.querySelector(":checked"));
    if (choice === "accepted" && open)
      return [
        gettext("Choose: {label}", { label: open.querySelector("legend").textContent.trim() }),
        open.querySelector("input"),
      ];
    const { reason } = form.elements;
    return choice === "rejected" && !reason.value.trim() ? [gettext("Say why you reject it."), reason] : null;
  }
  async function submit(form) {
    if (form.dataset.isBusy) return;
    const fault = missing(form);
    if (fault) {
      say(fault[0]);
      fault[1].focus();
      return;
    }
    form.dataset.isBusy = "yes";
    try {
      const address = `${mainElement().dataset.address}?part`;
      const response = await fetch(address, { method: "POST", body: new FormData(form) });
      const template = document.createElement("template");
      template.innerHTML = await response.text();
      const main = template.content.querySelector("main.choosing");
      if (main) show(document.importNode(main, true));
      else if (response.redirected)
        say(gettext("Not saved: you are logged out. Log in in another tab, then save again."));
      else
        say(
          gettext("Not saved: {reason}", {
            reason:
              template.content.querySelector("main p")?.textContent.trim() ??
              gettext("the server had a problem"),
          }),
        );
    } catch {
      say(gettext("Not saved: no connection. Your choices are still here; save again."));
    }
    delete form.dataset.isBusy;
  }
  function start() {
    const form = document.getElementById("decision");
    if (form) {
      form.noValidate = true;
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        submit(form);
      });
      form.querySelector("#choice-rejected").addEventListener("change", () => form.elements.reason.focus());
      document.getElementById("candidate-panel").focus({ preventScroll: true });
    }
    prepare();
    document.documentElement.dataset.choosing = "ready";
  }
  document.addEventListener("keydown", (event) => {
    const form = document.getElementById("decision");
    const isOther = event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing;
    if (!form?.querySelector("[data-press]") || isOther) return;
    const isTyping = event.target.matches('textarea, select, input:not([type="radio"])');
    if (isTyping) {
      if (event.key === "Escape") document.getElementById("candidate-panel").focus();
      return;
    }
    if (event.key === "Enter" && !event.target.closest("a, button, summary")) submit(form);
    else if (event.key === "c") form.elements.reason.focus();
    else return;
    event.preventDefault();
  });
  start();
})();
