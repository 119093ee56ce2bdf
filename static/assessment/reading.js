// Helps to read the unit: the panel opens at the retrieved formula, and a button highlights the words of the topic.
//
// Words are highlighted with the CSS Custom Highlight API, which paints ranges of text and does not change the
// document. Without it the button stays hidden. A word of the document is highlighted if it has the stem of a word of
// the topic; formulas and code are left out. The stems are those of English: what they do not know must be equal.
(() => {
  "use strict";
  const NAME = "topic-terms";
  const MAX_TERMS = 40; // of a topic with more, only words of the title and those that are repeated
  const WORD = /[\p{L}\p{M}]{3,}/gu;
  const TEXTS = ".post-title, .post-body, .post-tags";
  const LEFT_OUT = ".math-container, code, pre, .visually-hidden, .image-placeholder";
  const STOP_WORDS = new Set(
    `able about above after again all already also although always among and another any anyone anything are around
    because been before being below between both but can cannot could did does doing done down during each either else
    even ever every everyone everything few for from further get gets getting give given gives got had has have having
    help hence her here hers him his how however into its itself just know known let like made make makes making many
    may maybe might more most much must need needs never not nothing now off once one only onto other others otherwise
    our ours out over own perhaps please quite question rather really same say says see seem seems seen shall she
    should show shows since some someone something still such sure tell than thank thanks that the their theirs them
    then there therefore these they thing things think this those though through thus too tried tries try trying two
    under understand until upon use used uses using very want wants was way ways well were what whatever when where
    whether which while who whole whose why will with within without wondering would yes yet you your yours`
      .trim()
      .split(/\s+/),
  );
  const PLURAL = /(?:(ss|us|is)|(i)es|s)$/;
  const ENDING =
    /(?:ization|isation|ational|ation|ating|ative|ated|ate|izing|ized|ize|ising|ised|ise|ingly|ing|edly|ed|ence|ent|ance|ant|ment|ness|able|ible|ally|al|ically|ical|ic|ity|ly|ion|ive|or|er|e|y)$/;
  const MIN_STEM = 4;
  const MIN_SEEN = 96; // pixels of the document that are in sight when a task opens

  function stem(word) {
    const singular = word.replace(PLURAL, (_, kept, i) => kept ?? (i ? "y" : ""));
    const short = singular.replace(ENDING, "");
    const root = short.length >= MIN_STEM ? short : singular;
    return root.replace(/([b-df-hj-np-tv-z])\1$/, "$1"); // mapped, mapping: map
  }

  function textsIn(root) {
    const kinds = NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT;
    const walker = document.createTreeWalker(root, kinds, { acceptNode });
    const texts = [];
    while (walker.nextNode())
      if (walker.currentNode.nodeType === Node.TEXT_NODE) texts.push(walker.currentNode);
    return texts;
  }
  function acceptNode(node) {
    const isLeftOut = node.nodeType === Node.ELEMENT_NODE && node.matches(LEFT_OUT);
    return isLeftOut ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT;
  }
  function* wordsIn(root) {
    for (const text of textsIn(root))
      for (const match of text.data.matchAll(WORD)) yield [text, match.index, match[0]];
  }

  // The stems of a topic that are worth highlighting.
  function termsOf(panel) {
    const counts = new Map();
    for (const part of panel.querySelectorAll(TEXTS)) {
      const weight = part.matches(".post-body") ? 1 : 2;
      for (const [, , written] of wordsIn(part)) {
        const word = written.toLowerCase();
        if (STOP_WORDS.has(word)) continue;
        const root = stem(word);
        counts.set(root, (counts.get(root) ?? 0) + weight);
      }
    }
    const least = counts.size > MAX_TERMS ? 2 : 1;
    return new Set([...counts].filter(([, n]) => n >= least).map(([root]) => root));
  }

  function rangesOf(terms, panel) {
    const known = new Map(); // word -> whether it is highlighted: most words of a long document are repeated
    const ranges = [];
    for (const part of panel.querySelectorAll(TEXTS))
      for (const [text, startOffset, written] of wordsIn(part)) {
        let isTerm = known.get(written);
        if (isTerm === undefined) {
          const word = written.toLowerCase();
          isTerm = !STOP_WORDS.has(word) && terms.has(stem(word));
          known.set(written, isTerm);
        }
        if (!isTerm) continue;
        const endOffset = startOffset + written.length;
        ranges.push(new StaticRange({ startContainer: text, startOffset, endContainer: text, endOffset }));
      }
    return ranges;
  }

  function highlight(isOn) {
    CSS.highlights.delete(NAME);
    if (!isOn) return 0;
    const terms = termsOf(document.getElementById("topic-panel"));
    const ranges = rangesOf(terms, document.querySelector("#document-panel .panel-body"));
    const painted = new Highlight();
    for (const range of ranges) painted.add(range);
    CSS.highlights.set(NAME, painted);
    return ranges.length;
  }

  // -- the button, its key, and the user's setting
  function remember(form, isOn) {
    const body = new FormData(form);
    if (isOn) body.set("is_on", "on");
    fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" } }).catch(
      () => undefined,
    );
  }
  function highlighter(_, signal) {
    const form = document.getElementById("highlighting");
    if (!form || !window.CSS?.highlights) return;
    const button = form.querySelector("button");
    const show = (isOn) => {
      button.setAttribute("aria-pressed", String(isOn));
      const n = highlight(isOn);
      document.getElementById("n-topic-words").textContent = isOn ? `: ${n}` : "";
    };
    const toggle = () => {
      const isOn = button.getAttribute("aria-pressed") !== "true";
      show(isOn);
      remember(form, isOn);
    };
    form.hidden = false;
    form.addEventListener(
      "submit",
      (event) => {
        event.preventDefault();
        toggle();
      },
      { signal },
    );
    show(button.getAttribute("aria-pressed") === "true");
    signal.addEventListener("abort", () => CSS.highlights.delete(NAME));
  }

  // -- the place of the retrieved formula
  // What is above it grows while formulas are rendered, so the panel follows it until the assessor moves.
  function opener(_, signal) {
    const panel = document.getElementById("document-panel");
    const posts = [...panel.querySelectorAll("details.instance-post")];
    for (const details of posts)
      details.querySelector("summary").addEventListener("click", () => {
        if (!details.open) details.addEventListener("toggle", () => showFormula(details), { once: true });
      });
    const all = document.getElementById("all-posts");
    all?.toggleAttribute("hidden", !posts.length);
    all?.addEventListener("click", () => {
      const isOpen = posts.some((details) => !details.open);
      for (const details of posts) details.open = isOpen;
    });
    for (const excerpt of panel.querySelectorAll(".instance-excerpt")) openAtFormula(excerpt, signal);
    const target = panel.querySelector(".panel-body > .marked-post .is-marked, .panel-body > .citation mark");
    const body = panel.querySelector(".panel-body");
    const head = panel.querySelector(".panel-head");
    const button = document.getElementById("to-retrieved");
    const sizer = new ResizeObserver(() => {
      const heights = { "--panel-head": head.offsetHeight, "--panel-height": panel.clientHeight };
      for (const [name, height] of Object.entries(heights)) panel.style.setProperty(name, `${height}px`);
    });
    sizer.observe(head);
    sizer.observe(panel);
    signal.addEventListener("abort", () => sizer.disconnect());
    if (!target || !body) return;
    const watcher = new ResizeObserver(() => isScrolling(panel) && reveal(panel, target));
    const stop = () => watcher.disconnect();
    const go = () => {
      reveal(panel, target);
      stop();
      watcher.observe(body);
    };
    // An adjudicator first reads the judgments, which are above the text.
    if (!panel.querySelector(".earlier")) watcher.observe(body);
    for (const kind of ["wheel", "touchmove", "pointerdown"])
      panel.addEventListener(kind, stop, { signal, passive: true });
    panel.addEventListener("keydown", (event) => SCROLLS.has(event.key) && stop(), { signal });
    signal.addEventListener("abort", stop);
    button.hidden = false;
    button.addEventListener("click", go, { signal });
  }
  const showFormula = (details) => details.querySelector(".is-marked")?.scrollIntoView({ block: "nearest" });
  // A long paragraph scrolls, with its formula in view until the assessor scrolls.
  function openAtFormula(excerpt, signal) {
    const formula = excerpt.querySelector(".is-marked");
    if (!formula) return;
    const watcher = new ResizeObserver(() => {
      excerpt.tabIndex = excerpt.scrollHeight > excerpt.clientHeight ? 0 : -1;
      const top = formula.getBoundingClientRect().top - excerpt.getBoundingClientRect().top;
      excerpt.scrollTop += top - excerpt.clientHeight / 3;
    });
    for (const part of excerpt.children) watcher.observe(part);
    for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"])
      excerpt.addEventListener(kind, () => watcher.disconnect(), { signal, passive: true });
    signal.addEventListener("abort", () => watcher.disconnect());
  }
  const SCROLLS = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "]);
  const isScrolling = (panel) => getComputedStyle(panel).overflowY === "auto";
  // The height at the top of the panel that its head and the passage of a citation cover, and a line.
  function covered(panel) {
    const passage = panel.querySelector(".panel-body > .citation > .citation-passage");
    if (!passage || getComputedStyle(passage).position !== "sticky") return 0;
    return panel.querySelector(".panel-head").offsetHeight + passage.offsetHeight + 24;
  }
  // With a third of the panel above it, so that the assessor reads its context; at the top if all of it fits so.
  function reveal(panel, target) {
    if (!isScrolling(panel)) {
      target.scrollIntoView({ block: "center" });
      return;
    }
    const top = target.getBoundingClientRect().top - panel.getBoundingClientRect().top;
    panel.scrollTop += top - Math.max(panel.clientHeight / 3, covered(panel));
  }

  // -- a pair: an arrow key goes to the document on its side, which then scrolls with the usual keys
  const SIDES = { ArrowLeft: "side-left", ArrowRight: "side-right" };
  function sides(_, signal) {
    const go = (event) => {
      const isTaken = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
      if (isTaken || event.target.closest("input, textarea, select, [popover]")) return;
      document.getElementById(SIDES[event.key])?.focus({ preventScroll: true });
    };
    document.addEventListener("keydown", go, { signal });
  }

  // -- a small window, or a large zoom: the page begins at the document if the bar would cover it
  function bringIntoSight() {
    const panel = document.getElementById("document-panel");
    if (isScrolling(panel)) return;
    const seen =
      document.getElementById("judgment").getBoundingClientRect().top - panel.getBoundingClientRect().top;
    if (seen < MIN_SEEN) panel.scrollIntoView({ block: "start" });
  }

  window.assay.eachTask(bringIntoSight);
  window.assay.eachTask(highlighter);
  window.assay.eachTask(sides);
  window.assay.eachTask(opener);
})();
