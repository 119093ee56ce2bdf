// Parts of a text that an assessor marks: the answers to questions of the kind span.
//
// A part has a start and a length in characters of the plain text of the document, or of a field of a row, which its
// question and the elements name (`data-field`). The elements of the document say
// where they are in it: `data-at` is the place of the first character, `data-length` that of a piece which is marked as
// a whole, such as a formula. Text is selected with the mouse, by touch, or with arrow keys on a button of the question;
// then the key or the button of a choice marks it.
(() => {
  "use strict";
  window.assay ??= {};
  const { gettext } = window.assay;
  const N_COLORS = 4;
  const SELECTED = "selected-part";
  const WORD = /[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*/gu;
  const SENTENCE_END = /[.!?…؟。！？]/;
  const BLOCK = "p, li, dd, dt, td, th, pre, blockquote, div, h4, h5, h6";
  const PART = /^\s*(\d+)\s*\+\s*(\d+)\s*=\s*(\S+)\s*$/;
  let selected = null; // {field, start, end} of what will be marked
  let caret = null; // the numbers of the first and the last word that keys have selected, in the order of the keys
  let controls = []; // those of the task

  // -- between the page and the plain text
  const panel = () => document.getElementById("document-panel");
  const body = () => panel().querySelector(".panel-body");
  const nCharacters = (text) => [...text].length;
  const unitsOf = (text, n) => [...text].slice(0, n).join("").length;
  const isWhole = (piece) => piece.dataset.length !== undefined;
  const fieldOf = (element) => element.dataset.field ?? "";
  // Those of a field, or of all of them.
  function* pieces(field = null) {
    for (const element of body().querySelectorAll("[data-at]")) {
      if (field !== null && fieldOf(element) !== field) continue;
      if (!isWhole(element) && !element.textContent) continue;
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
  // Start and end of what a range contains of a piece; nothing if it contains nothing.
  function placeIn(piece, range) {
    if (!range.intersectsNode(piece.element)) return null;
    if (isWhole(piece.element)) return [piece.start, piece.end];
    return within(piece.element.firstChild, range)?.map((n) => piece.start + n) ?? null;
  }
  function partOf(range) {
    let part = null;
    for (const piece of pieces()) {
      const [place, field] = [placeIn(piece, range), fieldOf(piece.element)];
      if (!place || (part && part.field !== field)) continue;
      part ??= { field, start: place[0] };
      part.end = place[1];
    }
    return part;
  }
  // The pieces that have characters of a part.
  const piecesOf = ({ field, start, end }) =>
    [...pieces(field)].filter((piece) => piece.end > start && piece.start < end);
  function rangeOf(part) {
    const those = piecesOf(part);
    if (!those.length) return null;
    const range = document.createRange();
    const [first, last] = [those[0], those.at(-1)];
    const at = ({ element, start }, n) => unitsOf(element.firstChild.data, n - start);
    if (isWhole(first.element)) range.setStartBefore(first.element);
    else range.setStart(first.element.firstChild, at(first, Math.max(part.start, first.start)));
    if (isWhole(last.element)) range.setEndAfter(last.element);
    else range.setEnd(last.element.firstChild, at(last, Math.min(part.end, last.end)));
    return range;
  }
  function nameOf(element) {
    const isTypeset = !element.matches(".math-container:not([data-math])");
    const latex = isTypeset ? element.querySelector("annotation")?.textContent : element.textContent;
    if (latex) return `$${latex}$`;
    return element.matches(".math-container")
      ? gettext("[formula]")
      : element.textContent || gettext("[image]");
  }
  function wordsOf(part) {
    let [words, last] = ["", null];
    for (const { element, start, end } of piecesOf(part)) {
      if (last !== null && start > last) words += " ";
      last = end;
      const characters = [...element.textContent].slice(Math.max(0, part.start - start), part.end - start);
      words += isWhole(element) ? nameOf(element) : characters.join("");
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
    for (const control of controls)
      control.tell(
        part?.field === control.field
          ? gettext("Selected: {words}", { words: shortened(wordsOf(part)) })
          : "",
      );
  }

  // Take over what is selected on the page. A key may come before the event that says so.
  function follow() {
    const selection = window.getSelection();
    if (!controls.length || !selection.anchorNode || !body().contains(selection.anchorNode)) return;
    const range = selection.getRangeAt(0);
    const part = range.collapsed ? null : partOf(range);
    if (["field", "start", "end"].every((key) => part?.[key] === selected?.[key])) return;
    caret = null;
    select(part);
  }

  // -- selecting with keys
  // The words of a piece: the characters before each, where it starts and ends, and what follows the last one.
  function wordsIn({ element, start, end }) {
    if (isWhole(element)) return { those: [{ before: "", start, end }], rest: "" };
    const text = element.textContent;
    let [last, at] = [0, start];
    const those = [...text.matchAll(WORD)].map(({ index, 0: word }) => {
      const before = text.slice(last, index);
      const place = at + nCharacters(before);
      [last, at] = [index + word.length, place + nCharacters(word)];
      return { before, start: place, end: at };
    });
    return { those, rest: text.slice(last) };
  }
  // All words, each with the number of its sentence. A block, such as a paragraph, ends a sentence too.
  function words(field) {
    let open = "";
    const all = [...pieces(field)].flatMap((piece) => {
      const { those, rest } = wordsIn(piece);
      const block = piece.element.closest(BLOCK);
      if (those.length) those[0].before = open + those[0].before;
      open = those.length ? rest : open + rest;
      return those.map((word) => ({ ...word, block }));
    });
    let sentence = 0;
    return all.map((word, n) => {
      if (n && (word.block !== all[n - 1].block || SENTENCE_END.test(word.before))) sentence += 1;
      return { ...word, sentence };
    });
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
    const { field = "" } = event.target.closest("[data-kind=span]").dataset;
    if (selected && selected.field !== field) caret = null;
    if (!STEPS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const all = words(field);
    if (!all.length) return;
    const at = caret ? STEPS[event.key](all, Math.min(caret[1], all.length - 1), event.shiftKey) : 0;
    if (!all[at]) return;
    caret = [event.shiftKey && caret ? caret[0] : at, at];
    const [first, last] = [...caret].sort((a, b) => a - b);
    window.getSelection().removeAllRanges();
    select({ field, start: all[first].start, end: all[last].end });
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
    const { field = "" } = fieldset.dataset;
    const [list, state] = [".parts", ".parts-state"].map((name) => fieldset.querySelector(name));
    const cursor = fieldset.querySelector(".by-keys");
    let isAsked = false; // whether to remove all parts
    const labelOf = (choice) =>
      choices.find(({ value }) => value === choice)?.querySelector("span").textContent ?? choice;
    const control = {
      field,
      parts: () =>
        input.value.split(",").flatMap((text) => {
          const [, start, length, choice] = text.match(PART) ?? [];
          return choice ? [{ field, start: Number(start), end: Number(start) + Number(length), choice }] : [];
        }),
      colorOf: (choice) => choices.findIndex(({ value }) => value === choice) % N_COLORS,
      tell(text) {
        state.textContent = text;
        fieldset.dispatchEvent(new Event("part-selected"));
      },
      isSelecting() {
        follow();
        return selected?.field === field;
      },
      text: () => input.value.trim(),
      set(text) {
        input.value = text;
        list.replaceChildren(...control.parts().map(shown));
        paint();
      },
      // All parts are removed only if that is chosen twice.
      clear() {
        const n = control.parts().length;
        if (n && !isAsked) control.tell(gettext("Choose it again to remove all {n} parts.", { n }));
        else control.set("");
        isAsked = n > 0 && !isAsked;
      },
      pick({ value }) {
        follow();
        if (!value) {
          control.clear();
          return;
        }
        isAsked = false;
        if (selected?.field === field) mark({ ...selected, choice: value });
        else if (field) control.tell(gettext("First select words of {field}.", { field }));
        else control.tell(gettext("First select words of the text."));
      },
      keepsFocus: true,
      isWhole: () => false,
    };
    const write = (parts) =>
      control.set(parts.map((part) => `${part.start}+${part.end - part.start} = ${part.choice}`).join(", "));
    // Mark a part. Those with the same choice that it overlaps become one with it.
    function mark(part) {
      const joins = (each) => each.choice === part.choice && each.start < part.end && each.end > part.start;
      const joined = [part, ...control.parts().filter(joins)];
      const [start, end] = [
        Math.min(...joined.map((each) => each.start)),
        Math.max(...joined.map((each) => each.end)),
      ];
      const others = control.parts().filter((each) => !joins(each));
      window.getSelection().removeAllRanges();
      select(null);
      write([...others, { ...part, start, end }].sort((a, b) => a.start - b.start || a.end - b.end));
      control.tell(gettext("Marked as {choice}.", { choice: labelOf(part.choice) }));
    }
    function shown(part, n) {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.disabled = fieldset.disabled;
      button.className = `part part-${control.colorOf(part.choice)}`;
      const words = shortened(wordsOf(part));
      const choice = labelOf(part.choice);
      button.setAttribute("aria-label", gettext("Remove {choice}: {words}", { choice, words }));
      button.title = gettext("Remove this mark");
      button.textContent = `${choice}: ${words} ×`;
      button.addEventListener("click", () => {
        write(control.parts().filter((_, i) => i !== n));
        control.tell("");
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
