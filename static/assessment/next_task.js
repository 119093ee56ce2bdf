// The judging page shows one task after another in the same page, so that the next one appears at once.
//
// Every script of the judging page passes a function to `assay.eachTask`. It is called with the `main` element of each
// task that is shown, and with a signal that is aborted when the task leaves. Pass the signal to listeners of `window`
// and `document`, and stop timers when it is aborted; what belongs to elements inside `main` leaves with them.
//
// The page of a task contains the texts that will probably come next, in `template#ahead`. They are typeset and laid out
// here while the assessor reads. Nothing is reserved: the answer to the submission is the complete page of the next task,
// and a text that was prepared is used only if the answer has exactly the same HTML. This script runs before math.js.
(() => {
  "use strict";
  window.assay ??= {};
  const { assay } = window;
  const later = window.requestIdleCallback?.bind(window) ?? ((work) => setTimeout(work, 30));
  const setUps = [];
  const sources = new WeakMap(); // text -> its HTML before it was typeset
  let leaving = new AbortController();
  let ahead = document.createElement("div"); // the typeset texts that have no place in the page yet
  let coming = null; // the element with the typeset document that probably comes next, in the panel of the current one
  let { pathname } = window.location;

  const texts = (root) => [...root.querySelectorAll("[data-text]")];
  const partsOf = (main) => [...main.querySelectorAll(".task-part")];
  function parsed(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content;
  }
  function remember(root) {
    for (const text of texts(root)) sources.set(text, text.innerHTML);
  }

  // -- before the next task: typeset it outside the page, then lay it out in its panel, where it is not shown
  function prepare(main) {
    const [template, place] = [main.querySelector("#ahead"), main.querySelector(".panel-ahead")];
    ahead = document.createElement("div");
    coming = null;
    if (template) ahead.append(document.importNode(template.content, true));
    remember(ahead);
    const prepared = texts(ahead).at(-1);
    assay.renderMathAhead(ahead, () => {
      if (!place) return;
      place.replaceChildren(...(prepared?.childNodes ?? []));
      if (!prepared) return;
      prepared.remove();
      sources.set(place, sources.get(prepared));
      coming = place;
      layOut(place, [...place.querySelectorAll(".post-body > p")].reverse());
    });
  }
  // Lay out the paragraphs that will be in view, some at a time. The others are laid out when they come near.
  function layOut(place, paragraphs, deadline = null) {
    const end = performance.now() + (deadline?.timeRemaining() ?? 0);
    const top = place.getBoundingClientRect().top;
    while (coming === place && paragraphs.length) {
      const paragraph = paragraphs.pop();
      paragraph.classList.add("is-near");
      if (paragraph.getBoundingClientRect().bottom - top > window.innerHeight) return;
      if (performance.now() >= end) {
        later((next) => layOut(place, paragraphs, next), { timeout: 200 });
        return;
      }
    }
  }

  // -- the next task
  function reuse(main, before) {
    const ready = new Map([...texts(ahead), ...texts(before)].map((text) => [sources.get(text), text]));
    for (const text of texts(main)) {
      const same = ready.get(sources.get(text));
      if (!same) continue;
      ready.delete(sources.get(text));
      text.replaceChildren(...same.childNodes);
      assay.measureMath(text);
    }
  }
  // Show a page in place of the one before. Removing or adding an element restyles everything in its siblings,
  // so the elements around a text stay where they are: only what is in the other parts is replaced.
  function replace(before, main) {
    const [old, now] = [partsOf(before), partsOf(main)];
    if (old.length !== now.length || !before.querySelector("#topic-text")) {
      reuse(main, before);
      before.replaceWith(main);
      return main;
    }
    const kept = [keepTopic(before, main), keepDocument(before, main)];
    reuse(main, before);
    for (const finish of kept) finish();
    for (const [i, part] of old.entries()) part.replaceChildren(...now[i].childNodes);
    for (const id of ["", "#topic-panel", "#document-panel"]) {
      const [from, to] = [main, before].map((page) => (id ? page.querySelector(id) : page));
      copyAttributes(from, to);
    }
    return before;
  }
  // Each returns a function that puts the text into the page.
  function keepTopic(before, main) {
    const [kept, fresh] = [before, main].map((page) => page.querySelector("#topic-text"));
    if (sources.get(kept) === sources.get(fresh)) {
      fresh.removeAttribute("data-text"); // the text is not to be reused elsewhere
      return () => undefined;
    }
    return () => {
      sources.set(kept, sources.get(fresh));
      kept.replaceChildren(...fresh.childNodes);
    };
  }
  function keepDocument(before, main) {
    const [shown, fresh] = [before, main].map((page) => page.querySelector("#document-panel > .panel-body"));
    if (!fresh) return () => undefined;
    if (!coming || sources.get(coming) !== sources.get(fresh))
      return () => {
        sources.set(shown, sources.get(fresh));
        shown.replaceChildren(...fresh.childNodes);
      };
    const next = coming;
    fresh.removeAttribute("data-text");
    return () => {
      [shown.className, next.className] = ["panel-ahead", "panel-body"];
      shown.removeAttribute("data-text");
      next.setAttribute("data-text", "");
      assay.measureMath(next);
    };
  }
  // The style is what reading.js measured: without it, the whole text would be styled again.
  function copyAttributes(from, to) {
    for (const name of to.getAttributeNames())
      if (!from.hasAttribute(name) && name !== "style") to.removeAttribute(name);
    for (const { name, value } of from.attributes)
      if (to.getAttribute(name) !== value) to.setAttribute(name, value);
  }
  function show({ next, page }) {
    const before = document.getElementById("main");
    const shown = parsed(page).firstElementChild;
    remember(shown);
    leaving.abort();
    leaving = new AbortController();
    delete document.documentElement.dataset.judging;
    window.history.pushState(null, "", next);
    ({ pathname } = window.location);
    document.title = shown.dataset.title;
    // Now, while the layout is known: an element with the focus that is removed would have all styles computed first.
    document.activeElement.blur();
    if (window.scrollY) window.scrollTo(0, 0);
    before.querySelector("#document-panel").scrollTop = 0;
    const isNewTopic = before.dataset.topic !== shown.dataset.topic;
    const main = replace(before, shown);
    main.querySelector(".new-topic").hidden = !isNewTopic;
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
