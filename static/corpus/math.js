// Renders the formulas of a page with KaTeX, then KaTeX in display mode, then MathJax; if all fail, it shows the LaTeX.
// A formula that fails does not affect the others. To render a fragment that was added later, call
// `window.assay.renderMath(root)`.
(() => {
  "use strict";
  const { gettext } = window.assay;
  window.assay ??= {};
  const { assay } = window;
  const MATHJAX = new URL("../vendor/mathjax", document.currentScript.src).href;
  const BATCH_MS = 10;
  const LONGEST = 20_000; // characters; KaTeX needs a second for so many, and the page could not be used meanwhile
  const NEAR = "1200px";
  const LARGEST = 20; // em, of a length that a formula states
  const TALLEST = 1200; // pixels; a taller formula scrolls in a box of its own
  const DEFINES = /\\(?:(?:re|provide)?newcommand|g?def|let|DeclareMathOperator)(?![a-zA-Z])/;
  const ONLY_DEFINES = new RegExp(`^\\s*${DEFINES.source}`);
  const nothing = (context) => {
    context.consumeArgs(1);
    return "";
  };
  const BASE = {
    "\\mbox": "\\text{#1}",
    "\\href": "#2",
    "\\class": "#2",
    "\\cssId": "#2",
    "\\eqref": "(\\text{#1})",
    "\\ref": "\\text{#1}",
    "\\label": nothing,
    "\\require": nothing,
    "\\DeclareMathOperator": "\\@ifstar\\assayNamedLimits\\assayNamed",
    "\\assayNamed": "\\gdef#1{\\operatorname{#2}}",
    "\\assayNamedLimits": "\\gdef#1{\\operatorname*{#2}}",
    "\\qvar": "\\mathsf{?#1}", // a wildcard of NTCIR
    "\\simto": "\\underbrace{#2}_{\\sim\\mathsf{#1}}", // a part that results of NTCIR-12 need only resemble
    "\\overparen": "\\overgroup{#1}",
    "\\underparen": "\\undergroup{#1}",
  };

  const sources = new WeakMap(); // element -> its LaTeX
  const scopes = new WeakMap(); // post -> the macros that it defines
  let waiting = []; // elements; the last one is the next
  let ahead = []; // elements that are not in the document yet; they come after all others
  let aheadIsDone = null; // called when these are rendered
  let isScheduled = false;
  let isSource = false; // the page shows LaTeX instead of formulas

  const isBlock = (element) => element.dataset.display === "block";
  const latexOf = (element) => sources.get(element) ?? element.textContent;
  const delimited = (element) => (isBlock(element) ? `$$${latexOf(element)}$$` : `$${latexOf(element)}$`);

  // -- KaTeX
  const scopeOf = (element) => element.closest(".post") ?? document.body;
  function macrosFor(element) {
    const scope = scopeOf(element);
    if (scopes.has(scope)) return scopes.get(scope);
    const macros = { ...BASE };
    scopes.set(scope, macros);
    for (const formula of scope.querySelectorAll(".math-container")) {
      const latex = latexOf(formula);
      if (latex.length <= LONGEST && DEFINES.test(latex)) katexNode(latex, false, macros);
    }
    return macros;
  }
  // KaTeX writes the style of some delimiters as an attribute, which the Content-Security-Policy forbids. It permits
  // the same through the object model. This replacement is active only while KaTeX builds.
  const { setAttribute } = Element.prototype;
  function setStyled(name, value) {
    if (name === "style") this.style.cssText = value;
    else setAttribute.call(this, name, value);
  }
  function built(latex, box, options) {
    Element.prototype.setAttribute = setStyled;
    try {
      window.katex.render(latex, box, options);
    } finally {
      Element.prototype.setAttribute = setAttribute;
    }
    return box.firstChild;
  }
  function katexNode(latex, displayMode, macros) {
    const box = document.createElement("span");
    const options = {
      displayMode,
      macros,
      globalGroup: true,
      throwOnError: true,
      trust: false,
      strict: "ignore",
      maxSize: LARGEST,
      maxExpand: 1000,
    };
    for (const text of [latex, latex.replace(/\\newcommand(?![a-zA-Z])/g, "\\renewcommand")]) {
      try {
        return built(text, box, options);
      } catch (error) {
        if (!(error instanceof window.katex.ParseError) && !(error instanceof RangeError)) throw error;
        if (!/redefine/.test(error.message)) return null;
      }
    }
    return null;
  }
  function render(element) {
    if (element.dataset.math) return;
    const source = element.textContent;
    sources.set(element, source);
    const latex = source.replace(/\\(qvar|simto)\{\*([^{}*]+)\*\}/g, "\\$1{$2}"); // NTCIR-12 writes names as *1*
    if (latex.length > LONGEST) {
      fail(element, gettext("This formula is too long to be typeset; this is its LaTeX."));
      return;
    }
    const macros = macrosFor(element);
    const node = (!isBlock(element) && katexNode(latex, false, macros)) || katexNode(latex, true, macros);
    if (node) show(element, node, "katex");
    else askMathJax(element, latex);
  }
  function show(element, node, by) {
    element.replaceChildren(node);
    element.dataset.math = by;
  }
  function showSource(element, title) {
    const code = document.createElement("code");
    code.className = "math-source";
    code.textContent = delimited(element);
    if (title) code.title = title;
    element.replaceChildren(code);
  }
  function fail(element, title = gettext("This formula could not be rendered; this is its LaTeX.")) {
    showSource(element, title);
    element.dataset.math = "failed";
  }

  // -- MathJax: loaded from our own files when a formula needs it; its MathML is rebuilt node by node
  let mathJax = null;
  function loadMathJax() {
    mathJax ??= new Promise((resolve, reject) => {
      window.MathJax = {
        loader: { load: ["input/tex", "[tex]/begingroup"], paths: { mathjax: MATHJAX } },
        startup: { typeset: false, pageReady: () => undefined },
        tex: {
          packages: { "[-]": ["require", "html", "texhtml"], "[+]": ["begingroup"] },
          autoload: { html: [], texhtml: [], mhchem: [] }, // KaTeX has mhchem; MathJax's needs its output's fonts
          maxMacros: 1000,
          maxBuffer: 20000,
          noundefined: { color: "gray" },
        },
      };
      const script = document.createElement("script");
      script.src = `${MATHJAX}/startup.js`;
      script.onload = () => window.MathJax.startup.promise.then(() => resolve(window.MathJax), reject);
      script.onerror = () => reject(new Error("MathJax was not found"));
      document.head.append(script);
    });
    return mathJax;
  }
  async function askMathJax(element, latex) {
    element.dataset.math = "waiting";
    const display = isBlock(element);
    try {
      const MathJax = await loadMathJax();
      const node = rebuilt(
        await MathJax.tex2mmlPromise(grouped(element, latex), { display }),
        latex,
        display,
      );
      if (!node) return fail(element);
      return show(element, node, "mathjax");
    } catch {
      return fail(element);
    } finally {
      if (isSource) showSource(element);
      measure([element]);
    }
  }
  // The macros of a post are available to its later formulas, and not to other posts.
  function grouped(element, latex) {
    const others = [...scopeOf(element).querySelectorAll(".math-container")]
      .filter((formula) => formula !== element)
      .map(latexOf);
    return ["\\begingroup", ...others.filter((other) => ONLY_DEFINES.test(other)), latex, "\\endgroup"].join(
      " ",
    );
  }
  const words = (text) => new Set(text.trim().split(/\s+/));
  const MATHML = "http://www.w3.org/1998/Math/MathML";
  const ELEMENTS = words(`
    math maction menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts
    mroot mrow ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none
    semantics
  `);
  const ATTRIBUTES = words(`
    accent accentunder columnalign columnlines columnspacing columnspan depth display displaystyle
    fence form frame height largeop linethickness lspace mathbackground mathcolor mathsize maxsize
    minsize movablelimits rowalign rowlines rowspacing rowspan rspace scriptlevel separator stretchy
    symmetric voffset width notation
  `);
  function rebuilt(text, latex, display) {
    const parsed = new DOMParser().parseFromString(
      text.replace(/ (?:style|href|class|id)="[^"]*"/g, ""),
      "text/html",
    );
    const math = parsed.querySelector("math");
    if (!math || math.querySelector("merror")) return null;
    const copy = copied(math);
    copy.setAttribute("display", display ? "block" : "inline");
    copy.setAttribute("aria-label", latex);
    return copy;
  }
  // Lengths in MathML, and how many of each unit are one em. A formula that raises something by 9999em would make the page
  // as high as 250 screens. KaTeX has the same limit.
  const LENGTH = /(\d+(?:\.\d+)?|\.\d+)(em|ex|px|pt|pc|in|cm|mm|mu|%)/g;
  const PER_EM = { em: 1, ex: 2, px: 16, pt: 12, pc: 1, in: 1 / 6, cm: 0.42, mm: 4.2, mu: 18, "%": 100 };
  const bounded = (_length, number, unit) => `${Math.min(Number(number), LARGEST * PER_EM[unit])}${unit}`;
  function copied(node) {
    const name = node.localName === "mlabeledtr" ? "mtr" : node.localName;
    const copy = document.createElementNS(MATHML, ELEMENTS.has(name) ? name : "mrow");
    for (const { name: key, value } of node.attributes)
      if (ATTRIBUTES.has(key)) copy.setAttribute(key, value.replace(LENGTH, bounded));
    const variant = node.getAttribute("mathvariant");
    if (variant === "normal" && name === "mi") copy.setAttribute("mathvariant", "normal");
    copy.append(...[...node.childNodes].flatMap((child) => copiedChild(child, name, variant)));
    return copy;
  }
  // The copies of a child of an element: one, or none for a comment or the white space between elements.
  function copiedChild(child, name, variant) {
    if (child.nodeType === Node.ELEMENT_NODE) return [copied(child)];
    if (child.nodeType !== Node.TEXT_NODE) return [];
    return child.data.trim() || name === "mtext" ? [styled(child.data, variant)] : [];
  }
  // Browsers support only the mathvariant "normal": letters of other alphabets become characters of their own.
  const ALPHABETS = {
    bold: [0x1d400, 0x1d41a, 0x1d7ce],
    italic: [0x1d434, 0x1d44e],
    "bold-italic": [0x1d468, 0x1d482],
    script: [0x1d49c, 0x1d4b6],
    "bold-script": [0x1d4d0, 0x1d4ea],
    fraktur: [0x1d504, 0x1d51e],
    "double-struck": [0x1d538, 0x1d552, 0x1d7d8],
    "bold-fraktur": [0x1d56c, 0x1d586],
    "sans-serif": [0x1d5a0, 0x1d5ba, 0x1d7e2],
    "bold-sans-serif": [0x1d5d4, 0x1d5ee, 0x1d7ec],
    monospace: [0x1d670, 0x1d68a, 0x1d7f6],
  };
  const ELSEWHERE = {
    0x1d455: "ℎ",
    0x1d49d: "ℬ",
    0x1d4a0: "ℰ",
    0x1d4a1: "ℱ",
    0x1d4a3: "ℋ",
    0x1d4a4: "ℐ",
    0x1d4a7: "ℒ",
    0x1d4a8: "ℳ",
    0x1d4ad: "ℛ",
    0x1d4ba: "ℯ",
    0x1d4bc: "ℊ",
    0x1d4c4: "ℴ",
    0x1d506: "ℭ",
    0x1d50b: "ℌ",
    0x1d50c: "ℑ",
    0x1d515: "ℜ",
    0x1d51d: "ℨ",
    0x1d53a: "ℂ",
    0x1d53f: "ℍ",
    0x1d545: "ℕ",
    0x1d547: "ℙ",
    0x1d548: "ℚ",
    0x1d549: "ℝ",
    0x1d551: "ℤ",
  };
  // Where the alphabets begin: capitals, small letters, digits.
  function kindOf(letter) {
    if (letter <= "9") return 2;
    return letter <= "Z" ? 0 : 1;
  }
  function styled(text, variant) {
    const alphabet = ALPHABETS[(variant ?? "").replace("-tex-", "").replace("-caligraphic", "script")];
    if (!alphabet) return text;
    return text.replace(/[A-Za-z0-9]/g, (letter) => {
      const kind = kindOf(letter);
      if (alphabet[kind] === undefined) return letter;
      const code = alphabet[kind] + letter.charCodeAt(0) - "Aa0".charCodeAt(kind);
      return ELSEWHERE[code] ?? String.fromCodePoint(code);
    });
  }

  // -- a formula wider than its container, or very tall, scrolls, by keyboard too; the page never scrolls sideways
  const isTall = (element) =>
    [...element.querySelectorAll(".katex-html > .base, math")].some((part) => part.scrollHeight > TALLEST);
  function measure(elements) {
    const tall = elements.map(isTall);
    const wide = elements.map((element) => {
      const room =
        element.parentElement?.closest("p, li, dd, dt, td, th, div, blockquote, h1, h2, h4, h5, h6")
          ?.clientWidth ?? 0;
      return isBlock(element)
        ? element.scrollWidth > element.clientWidth
        : room > 0 && element.getBoundingClientRect().width > room + 1;
    });
    elements.forEach((element, i) => {
      element.classList.toggle("is-wide", wide[i]);
      element.classList.toggle("is-tall", tall[i]);
      if (wide[i] || tall[i]) element.tabIndex = 0;
      else element.removeAttribute("tabindex");
    });
  }
  // So do code, tables and texts that are wider than their container.
  function makeReachable(root) {
    for (const element of root.querySelectorAll(".post-body, .post-body :is(pre, table), .comment-text")) {
      const isWide = element.scrollWidth > element.clientWidth + 1;
      if (isWide) element.tabIndex = 0;
      else if ("reachable" in element.dataset) element.removeAttribute("tabindex");
      element.toggleAttribute("data-reachable", isWide);
    }
  }
  let resized = 0;
  window.addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(() => {
      measure([...document.querySelectorAll(".math-container[data-math]")]);
      makeReachable(document);
    }, 200);
  });

  // -- scheduling: formulas near the view are rendered at once, the others while the page is idle. Only formulas near
  // the view are measured, so that a long page is not laid out repeatedly.
  const later = window.requestIdleCallback?.bind(window) ?? ((work) => setTimeout(work, 30));
  const observer = new IntersectionObserver(
    (entries) => {
      renderNear(entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target));
    },
    { rootMargin: NEAR },
  );
  function renderNear(elements) {
    for (const element of elements) {
      observer.unobserve(element);
      render(element);
    }
    measure(elements.filter((element) => element.dataset.math !== "waiting"));
  }
  function work(deadline) {
    const end = performance.now() + Math.max(BATCH_MS, Math.min(40, deadline?.timeRemaining?.() ?? 0));
    while (waiting.length && performance.now() < end) {
      const element = waiting.pop();
      if (element.isConnected) render(element);
    }
    while (!waiting.length && ahead.length && performance.now() < end) render(ahead.pop());
    if (waiting.length + ahead.length) later(work, { timeout: 100 });
    else finished();
  }
  function finished() {
    isScheduled = false;
    aheadIsDone?.();
    aheadIsDone = null;
    makeReachable(document);
    document.documentElement.dataset.math = "done";
    backToTarget();
  }
  // A linked answer moves while the content above it grows. Scroll back to it unless the reader has scrolled.
  let hasMoved = false;
  for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"])
    window.addEventListener(
      kind,
      () => {
        hasMoved = true;
      },
      { passive: true },
    );
  window.addEventListener("hashchange", () => {
    hasMoved = false;
    backToTarget();
  });
  function backToTarget(frames = 30) {
    if (hasMoved || !frames) return;
    const formula = document.querySelector(".thread .is-marked");
    formula?.closest("details")?.setAttribute("open", "");
    if (formula) formula.scrollIntoView({ block: "center" });
    else document.querySelector(":target")?.scrollIntoView();
    requestAnimationFrame(() => backToTarget(frames - 1));
  }

  assay.renderMath = (root = document) => {
    const formulas = [...root.querySelectorAll(".math-container:not([data-math])")];
    if (root instanceof Element && root.matches(".math-container:not([data-math])")) formulas.unshift(root);
    delete document.documentElement.dataset.math;
    const height = window.innerHeight + 200;
    const isNear = formulas.map((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return bottom > -200 && top < height;
    });
    renderNear(formulas.filter((_, i) => isNear[i]));
    const rest = formulas.filter((_, i) => !isNear[i]);
    for (const element of rest) observer.observe(element);
    waiting = rest.reverse().concat(waiting); // taken from the end
    schedule();
  };
  function schedule() {
    if (isScheduled) return;
    isScheduled = true;
    later(work, { timeout: 500 });
  }
  // Render the formulas of a fragment that is not in the document yet, while the page is idle, then call `done`. The
  // latest one counts.
  assay.renderMathAhead = (root, done) => {
    delete document.documentElement.dataset.math;
    aheadIsDone = done;
    ahead = [...root.querySelectorAll(".math-container:not([data-math])")].reverse();
    schedule();
  };
  // Measure the formulas of a fragment that were rendered before it came into the document, when they come into view.
  const viewed = new IntersectionObserver((entries) => {
    const elements = entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target);
    for (const element of elements) viewed.unobserve(element);
    measure(elements);
  });
  assay.measureMath = (root) => {
    for (const element of root.querySelectorAll(".math-container[data-math]")) viewed.observe(element);
  };

  // -- access to the LaTeX: a switch for the page, copying, and a double click on a formula
  function toggle(button) {
    isSource = !isSource;
    for (const element of document.querySelectorAll(".math-container")) {
      if (element.dataset.math === "waiting") continue;
      if (isSource) {
        sources.set(element, latexOf(element));
        showSource(element);
        element.dataset.math = "source";
      } else {
        element.textContent = latexOf(element);
        delete element.dataset.math;
      }
    }
    for (const toggler of document.querySelectorAll("[data-math-toggle]"))
      toggler.setAttribute("aria-pressed", String(isSource));
    if (!isSource) assay.renderMath();
    button.focus();
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-math-toggle]");
    if (button) toggle(button);
  });
  document.addEventListener("dblclick", (event) => {
    const element = event.target.closest?.(".math-container");
    if (!element) return;
    const selection = window.getSelection();
    selection.selectAllChildren(element);
    document.execCommand("copy");
    element.classList.add("is-copied");
    setTimeout(() => element.classList.remove("is-copied"), 900);
  });
  document.addEventListener("copy", (event) => {
    const selection = window.getSelection();
    if (!selection.rangeCount || event.target.closest?.("input, textarea")) return;
    const range = selection.getRangeAt(0).cloneRange();
    const container = (node) =>
      (node instanceof Element ? node : node.parentElement)?.closest(".math-container");
    const [first, last] = [container(range.startContainer), container(range.endContainer)];
    if (first) range.setStartBefore(first);
    if (last) range.setEndAfter(last);
    const within = [...(range.commonAncestorContainer.querySelectorAll?.(".math-container") ?? [])].filter(
      (formula) => range.intersectsNode(formula),
    );
    if (!within.length) return;
    const copies = range.cloneContents();
    copies.querySelectorAll(".math-container").forEach((copy, i) => {
      if (within[i]) copy.textContent = delimited(within[i]);
    });
    const box = document.createElement("div");
    box.className = "copy-box";
    box.append(copies);
    document.body.append(box);
    // biome-ignore lint/performance/useDomNodeTextContent: only innerText has the line ends of the copied text
    event.clipboardData.setData("text/plain", box.innerText);
    box.remove();
    event.preventDefault();
  });

  window.addEventListener("beforeprint", () => waiting.splice(0).forEach(render));
  document.addEventListener("htmx:afterSwap", (event) => assay.renderMath(event.target));
  assay.renderMath();
})();
