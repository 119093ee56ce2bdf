// Parts of the document that an assessor marks: the answers to questions of the kind span.
//
// A part has a start and a length in characters of the plain text of the document. The elements of the document say
// where they are in it: `data-at` is the place of the first character, `data-length` that of a piece which is marked as
// a whole, such as a formula. Text is selected with the mouse, by touch, or with arrow keys on a button of the question;
// then the key or the button of a choice marks it.
(() => {
  "use strict";
  window.assay ??= {};
  const N_COLORS = 4;
  const SELECTED = "selected-part";
  const WORD = /[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*/gu;
  const SENTENCE_END = /[.!?…؟。！？]/;
  const BLOCK = "p, li, dd, dt, td, th, pre, blockquote, div, h4, h5, h6";
  const PART = /^\s*(\d+)\s*\+\s*(\d+)\s*=\s*(\S+)\s*$/;
  let selected = null; // {start, end} of what will be marked
  let caret = null; // the numbers of the first and the last word that keys have selected, in the order of the keys
  let controls = []; // those of the task

  // -- between the page and the plain text
  const panel = () => document.getElementById("document-panel");
  const body = () => panel().querySelector(".panel-body");
  const nCharacters = (text) => [...text].length;
  const unitsOf = (text, n) => [...text].slice(0, n).join("").length;
  const isWhole = (piece) => piece.dataset.length !== undefined;
  function* pieces() {
    for (const element of body().querySelectorAll("[data-at]")) {
      const start = Number(element.dataset.at);
      const length = isWhole(element) ? Number(element.dataset.length) : nCharacters(element.textContent);
      yield { element, start, end: start + length };
    }
  }
  // The characters of a text that a range contains, without white space around them; nothing if there are none.
  function within(text, range) {
    if (!range.intersectsNode(text)) return null;
    const from = range.startContainer === text ? range.startOffset : 0;
    const to = range.endContainer === text ? range.endOffset : text.length;
    const words = text.data.slice(from, to);
    const lead = words.length - words.trimStart().length;
    const start = nCharacters(text.data.slice(0, from + lead));
    return words.trim() ? [start, start + nCharacters(words.trim())] : null;
  }
  function partOf(range) {
    let [start, end] = [null, null];
    for (const piece of pieces()) {
      if (!range.intersectsNode(piece.element)) continue;
      let place = [piece.start, piece.end];
      if (!isWhole(piece.element)) {
        const inside = within(piece.element.firstChild, range);
        if (!inside) continue;
        place = inside.map((n) => piece.start + n);
      }
      start ??= place[0];
      end = place[1];
    }
    return start === null ? null : { start, end };
  }
  function rangeOf({ start, end }) {
    const range = document.createRange();
    let isEmpty = true;
    for (const piece of pieces()) {
      if (piece.end <= start || piece.start >= end) continue;
      const text = piece.element.firstChild;
      const at = (n) => unitsOf(text.data, n - piece.start);
      if (isEmpty && isWhole(piece.element)) range.setStartBefore(piece.element);
      else if (isEmpty) range.setStart(text, at(Math.max(start, piece.start)));
      if (isWhole(piece.element)) range.setEndAfter(piece.element);
      else range.setEnd(text, at(Math.min(end, piece.end)));
      isEmpty = false;
    }
    return isEmpty ? null : range;
  }
  function nameOf(element) {
    const isTypeset = !element.matches(".math-container:not([data-math])");
    const latex = isTypeset ? element.querySelector("annotation")?.textContent : element.textContent;
    if (latex) return `$${latex}$`;
    return element.matches(".math-container") ? "[formula]" : element.textContent || "[image]";
  }
  function wordsOf({ start, end }) {
    let [words, last] = ["", null];
    for (const piece of pieces()) {
      if (piece.end <= start || piece.start >= end) continue;
      if (last !== null && piece.start > last) words += " ";
      last = piece.end;
      if (isWhole(piece.element)) words += nameOf(piece.element);
      else {
        const characters = [...piece.element.textContent];
        words += characters.slice(Math.max(0, start - piece.start), end - piece.start).join("");
      }
    }
    return words.replace(/\s+/g, " ");
  }
  const shortened = (words) => (words.length > 60 ? `${words.slice(0, 40)} … ${words.slice(-15)}` : words);

  // -- colors
  function paint() {
    if (!window.CSS?.highlights) return;
    const painted = Array.from({ length: N_COLORS }, () => []);
    for (const control of controls)
      for (const part of control.parts()) painted[control.colorOf(part.choice)]?.push(rangeOf(part));
    painted.push(selected ? [rangeOf(selected)] : []);
    for (const [i, ranges] of painted.entries())
      CSS.highlights.set(i < N_COLORS ? `part-${i}` : SELECTED, new Highlight(...ranges.filter(Boolean)));
    CSS.highlights.get(SELECTED).priority = 1;
  }
  function select(part) {
    selected = part;
    paint();
    for (const control of controls) control.tell(part ? `Selected: ${shortened(wordsOf(part))}` : "");
  }

  // Take over what is selected on the page. A key may come before the event that says so.
  function follow() {
    const selection = window.getSelection();
    if (!controls.length || !selection.anchorNode || !body().contains(selection.anchorNode)) return;
    const range = selection.getRangeAt(0);
    const part = range.collapsed ? null : partOf(range);
    if (part?.start === selected?.start && part?.end === selected?.end) return;
    caret = null;
    select(part);
  }

  // -- selecting with keys
  function words() {
    const found = [];
    let [sentence, block, between] = [0, null, ""];
    for (const piece of pieces()) {
      const own = piece.element.closest(BLOCK);
      const text = isWhole(piece.element) ? "" : piece.element.textContent;
      const matches = text ? [...text.matchAll(WORD)].map((match) => [match.index, match[0]]) : [[0, ""]];
      let last = 0;
      for (const [index, word] of matches) {
        between += text.slice(last, index);
        if (found.length && (own !== block || SENTENCE_END.test(between))) sentence += 1;
        [last, block, between] = [index + word.length, own, ""];
        const start = piece.start + nCharacters(text.slice(0, index));
        found.push({ start, end: text ? start + nCharacters(word) : piece.end, sentence });
      }
      between += text.slice(last);
    }
    return found;
  }
  const firstOf = (all, sentence) => all.findIndex((word) => word.sentence === sentence);
  const lastOf = (all, sentence) => all.findLastIndex((word) => word.sentence === sentence);
  const STEPS = {
    ArrowRight: (_, at) => at + 1,
    ArrowLeft: (_, at) => at - 1,
    ArrowDown(all, at, isMore) {
      const { sentence } = all[at];
      if (isMore) return lastOf(all, at === lastOf(all, sentence) ? sentence + 1 : sentence);
      return firstOf(all, sentence + 1);
    },
    ArrowUp(all, at, isMore) {
      const { sentence } = all[at];
      if (isMore) return Math.max(0, lastOf(all, sentence - 1));
      return firstOf(all, at === firstOf(all, sentence) ? sentence - 1 : sentence);
    },
    Home: () => 0,
    End: (all) => all.length - 1,
  };
  function step(event) {
    if (!STEPS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const all = words();
    if (!all.length) return;
    const at = caret ? STEPS[event.key](all, Math.min(caret[1], all.length - 1), event.shiftKey) : 0;
    if (!all[at]) return;
    caret = [event.shiftKey && caret ? caret[0] : at, at];
    const [first, last] = [...caret].sort((a, b) => a - b);
    window.getSelection().removeAllRanges();
    select({ start: all[first].start, end: all[last].end });
    reveal(rangeOf(all[at]));
  }
  function reveal(range) {
    const box = range.getBoundingClientRect();
    const isScrolling = getComputedStyle(panel()).overflowY === "auto";
    const scroller = isScrolling ? panel() : document.scrollingElement;
    const head = isScrolling ? panel().getBoundingClientRect().top + 60 : 60;
    const foot = isScrolling
      ? panel().getBoundingClientRect().bottom
      : document.getElementById("judgment").getBoundingClientRect().top;
    if (box.top < head || box.bottom > foot) scroller.scrollTop += box.top - head - (foot - head) / 3;
  }

  // The answer to a question: reads and writes its field, `12+5 = added, 40+3 = omitted`.
  window.assay.spans = (fieldset, input, options) => {
    const choices = options.filter(({ value }) => value);
    const [list, state] = [".parts", ".parts-state"].map((name) => fieldset.querySelector(name));
    const cursor = fieldset.querySelector(".by-keys");
    const labelOf = (choice) =>
      choices.find(({ value }) => value === choice)?.querySelector("span").textContent ?? choice;
    const control = {
      parts: () =>
        input.value.split(",").flatMap((text) => {
          const [, start, length, choice] = text.match(PART) ?? [];
          return choice ? [{ start: Number(start), end: Number(start) + Number(length), choice }] : [];
        }),
      colorOf: (choice) => choices.findIndex(({ value }) => value === choice) % N_COLORS,
      tell(text) {
        state.textContent = text;
        fieldset.dispatchEvent(new Event("part-selected"));
      },
      isSelecting() {
        follow();
        return selected !== null;
      },
      text: () => input.value.trim(),
      set(text) {
        input.value = text;
        list.replaceChildren(...control.parts().map(shown));
        paint();
      },
      pick({ value }) {
        follow();
        if (!value) control.set("");
        else if (!selected) control.tell("First select words of the text.");
        else mark({ ...selected, choice: value });
      },
      keepsFocus: true,
      isWhole: () => false,
    };
    const write = (parts) =>
      control.set(parts.map((part) => `${part.start}+${part.end - part.start} = ${part.choice}`).join(", "));
    // Mark a part. Those with the same choice that it overlaps become one with it.
    function mark(part) {
      const joins = (each) =>
        each.choice === part.choice && each.start < part.end && each.end > part.start;
      const joined = [part, ...control.parts().filter(joins)];
      const [start, end] = [
        Math.min(...joined.map((each) => each.start)),
        Math.max(...joined.map((each) => each.end)),
      ];
      const others = control.parts().filter((each) => !joins(each));
      window.getSelection().removeAllRanges();
      select(null);
      write([...others, { ...part, start, end }].sort((a, b) => a.start - b.start || a.end - b.end));
      control.tell(`Marked as ${labelOf(part.choice)}.`);
    }
    function shown(part, n) {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.disabled = fieldset.disabled;
      button.className = `part part-${control.colorOf(part.choice)}`;
      const quoted = shortened(wordsOf(part));
      button.setAttribute("aria-label", `Remove ${labelOf(part.choice)}: ${quoted}`);
      button.title = "Remove this mark";
      button.textContent = `${labelOf(part.choice)}: ${quoted} ×`;
      button.addEventListener("click", () => {
        write(control.parts().filter((_, i) => i !== n));
        input.dispatchEvent(new Event("input"));
        (list.querySelectorAll("button")[Math.max(0, n - 1)] ?? cursor).focus({ preventScroll: true });
      });
      // Enter on any other button of a question submits.
      button.addEventListener("keydown", (event) => event.key === "Enter" && event.stopPropagation());
      item.append(button);
      return item;
    }
    for (const option of choices) option.classList.add(`part-${control.colorOf(option.value)}`);
    cursor.addEventListener("keydown", step);
    controls.push(control);
    return control;
  };

  window.assay.eachTask((_, signal) => {
    [selected, caret, controls] = [null, null, []];
    document.addEventListener("selectionchange", follow, { signal });
    signal.addEventListener("abort", () => {
      controls = [];
      select(null);
    });
  });
})();
