// The judging page shows one task after another in the same page, so that the next one appears at once.
//
// Every script of the judging page passes a function to `assay.eachTask`. It is called with the `main` element of each
// task that is shown, and with a signal that is aborted when the task leaves. Pass the signal to listeners of `window`
// and `document`, and stop timers when it is aborted; what belongs to elements inside `main` leaves with them.
//
// The page of a task contains the texts that will probably come next, in `template#ahead`. They are typeset here while
// the assessor reads. Nothing is reserved: the answer to the submission is the complete page of the next task, and a
// text that was typeset before is used only if the answer has exactly the same HTML. This script runs before math.js.
(() => {
  "use strict";
  window.assay ??= {};
  const { assay } = window;
  const setUps = [];
  const sources = new WeakMap(); // text -> its HTML before it was typeset
  let leaving = new AbortController();
  let ahead = document.createElement("div");
  let { pathname } = window.location;

  const texts = (root) => [...root.querySelectorAll("[data-text]")];
  function parsed(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content;
  }
  function remember(root) {
    for (const text of texts(root)) sources.set(text, text.innerHTML);
  }
  // Typeset what comes next, outside the document: formulas are built and images are loaded, but nothing is laid out.
  function prepare(main) {
    ahead = document.createElement("div");
    const template = main.querySelector("#ahead");
    if (!template) return;
    ahead.append(document.importNode(template.content, true));
    remember(ahead);
    assay.renderMathAhead(ahead);
  }
  function reuse(main) {
    const ready = new Map(
      [...texts(ahead), ...texts(document.getElementById("main"))].map((text) => [sources.get(text), text]),
    );
    for (const text of texts(main)) {
      const same = ready.get(sources.get(text));
      if (!same) continue;
      ready.delete(sources.get(text));
      text.replaceChildren(...same.childNodes);
    }
  }
  function replace(before, main, reading) {
    before.replaceWith(main);
    if (before.dataset.topic === main.dataset.topic && reading)
      main.querySelector("#topic-panel").scrollTop = reading;
    if (window.scrollY) window.scrollTo(0, 0);
  }
  function show({ next, page }) {
    const before = document.getElementById("main");
    const main = parsed(page).firstElementChild;
    const reading = before.querySelector("#topic-panel").scrollTop; // before its text moves
    remember(main);
    reuse(main);
    leaving.abort();
    leaving = new AbortController();
    delete document.documentElement.dataset.judging;
    window.history.pushState(null, "", next);
    ({ pathname } = window.location);
    document.title = main.dataset.title;
    replace(before, main, reading);
    assay.renderMath(main);
    assay.measureMath(main);
    for (const setUp of setUps) setUp(main, leaving.signal);
    prepare(main);
  }

  assay.eachTask = (setUp) => {
    setUps.push(setUp);
    setUp(document.getElementById("main"), leaving.signal);
  };
  // Go on with the answer to a submission: show the task that it contains, or open the page that it names.
  assay.goOn = (answer) => {
    if (!answer.page) {
      window.location.assign(answer.next);
      return;
    }
    try {
      show(answer);
    } catch (error) {
      window.reportError(error);
      window.location.assign(answer.next);
    }
  };

  // Back and forward: the page of the task comes from the server. A link inside the page is no reason to reload.
  window.addEventListener("popstate", () => {
    if (window.location.pathname === pathname) return;
    delete document.documentElement.dataset.judging;
    window.location.reload();
  });
  remember(document);
  document.addEventListener("DOMContentLoaded", () => prepare(document.getElementById("main")));
})();
