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
      assay.measureMath(text);
    }
  }
  // Show a page in place of the one before. The text of the same topic stays where it is, because moving it would lay it
  // out again; all around it is replaced.
  function replace(before, main) {
    const [kept, fresh] = [before, main].map((page) => page.querySelector("#topic-text"));
    if (!kept || !fresh || sources.get(kept) !== sources.get(fresh)) {
      reuse(main);
      before.replaceWith(main);
      return main;
    }
    fresh.removeAttribute("data-text");
    reuse(main);
    fresh.setAttribute("data-text", "");
    for (let [old, now] = [kept, fresh]; old !== before; [old, now] = [old.parentNode, now.parentNode])
      replaceAround(old, now);
    return before;
  }
  function replaceAround(old, now) {
    const [parent, siblings] = [old.parentNode, [...now.parentNode.childNodes]];
    for (const node of [...parent.childNodes]) if (node !== old) node.remove();
    old.before(...siblings.slice(0, siblings.indexOf(now)));
    old.after(...siblings.slice(siblings.indexOf(now) + 1));
    for (const name of parent.getAttributeNames())
      if (!now.parentNode.hasAttribute(name)) parent.removeAttribute(name);
    for (const { name, value } of now.parentNode.attributes)
      if (parent.getAttribute(name) !== value) parent.setAttribute(name, value);
  }
  function show({ next, page }) {
    const shown = parsed(page).firstElementChild;
    remember(shown);
    leaving.abort();
    leaving = new AbortController();
    delete document.documentElement.dataset.judging;
    window.history.pushState(null, "", next);
    ({ pathname } = window.location);
    document.title = shown.dataset.title;
    const main = replace(document.getElementById("main"), shown);
    if (window.scrollY) window.scrollTo(0, 0);
    assay.renderMath(main);
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
