// The questions about a document: which are asked after its choice, what was answered, and the keys.
//
// Each question has keys of its own, shown from the start: the first characters of KEYS that nothing else on the page
// uses. They work while the question is asked. If too few are left, the question shares keys, which are shown and work
// while it is the current one: the question with the focus, or the first that is open.
(() => {
  "use strict";
  window.assay ??= {};
  const { gettext } = window.assay;
  const KEYS = "1234567890abcdefghijklmnopqrstuvwxyz";

  // How each kind of question reads and writes its answer, as the text of its field. `pick` chooses one option, or
  // clears the answer with the option without a value.
  const radios = (options) => ({
    text: () => options.find((option) => option.checked)?.value ?? "",
    set(text) {
      for (const option of options) option.checked = option.value === text;
    },
    pick(option) {
      option.checked = true;
    },
    isWhole: () => true,
  });
  const boxes = (options) => {
    const checks = options.filter(({ type }) => type === "checkbox");
    return {
      text: () => checks.flatMap((box) => (box.checked ? [box.value] : [])).join(","),
      set(text) {
        for (const box of checks) box.checked = text.split(",").includes(box.value);
      },
      pick(option) {
        if (option.value) option.checked = !option.checked;
        else this.set("");
      },
      isWhole: () => false,
    };
  };
  const field = (input) => ({
    text: () => input.value.trim(),
    set(text) {
      input.value = text;
    },
    pick() {
      input.value = "";
    },
    isWhole: () => true,
  });
  const ranking = (input, options) => {
    const places = () => input.value.split(">").map((place) => place.split("=").map((key) => key.trim()));
    const show = () => {
      for (const option of options.filter(({ value }) => value)) {
        const place = places().findIndex((keys) => keys.includes(option.value)) + 1;
        option.classList.toggle("is-ranked", place > 0);
        option.querySelector(".rank-place").textContent = place || "";
      }
    };
    input.addEventListener("input", show);
    return {
      ...field(input),
      set(text) {
        input.value = text;
        show();
      },
      // Put an option last, or take it out.
      pick({ value }) {
        const others = places().map((keys) => keys.filter((key) => key && key !== value));
        const isIn = places().flat().includes(value);
        const kept = [...others, isIn || !value ? [] : [value]].filter((keys) => keys.length);
        this.set(value ? kept.map((keys) => keys.join(" = ")).join(" > ") : "");
      },
      isWhole: () => options.every(({ value }) => !value || places().flat().includes(value)),
    };
  };
  const controls = { "one-of": radios, "yes-no": radios, "any-of": boxes };

  const words = (text) => text.split(" ").filter(Boolean);
  function questionOf(fieldset) {
    const { kind, name, label, question, after, afterAll, optional } = fieldset.dataset;
    const isOptional = optional !== undefined;
    const options = [
      ...fieldset.querySelectorAll('input[type="radio"], input[type="checkbox"], .choice button'),
    ];
    const input = fieldset.querySelector(".form-control");
    const fields = { ranking, span: (...those) => window.assay.spans(fieldset, ...those) };
    const control = controls[kind]?.(options) ?? (fields[kind] ?? field)(input, options);
    const shown = options.filter(({ value, type }) => value || isOptional || type === "button");
    return {
      fieldset,
      isOptional,
      options,
      input,
      control,
      shown,
      name,
      label,
      key: question,
      after: words(after),
      afterAll: words(afterAll),
      first: kind === "number" || kind === "text" ? input : shown[0],
      isSeen: false, // whether "No answer" was chosen on purpose
    };
  }
  function showKey(main, option, key, isOwn) {
    const badge =
      option.querySelector("kbd") ?? main.querySelector(`label[for="${CSS.escape(option.id)}"] kbd`);
    if (!key || !badge) return;
    option.dataset.answerKey = key.toLowerCase();
    option.setAttribute("aria-keyshortcuts", key);
    badge.textContent = key.toUpperCase();
    option.toggleAttribute("data-own-key", isOwn || option.dataset.key !== undefined);
    badge.classList.toggle("is-own", option.dataset.ownKey !== undefined);
    badge.hidden = false;
  }
  // Give the options of a question their keys: their own, the digit by which they are known, or the first free ones.
  // What clears the answer comes last. Returns the keys that are left for other questions.
  function giveKeys(main, question, keys, left) {
    const unkeyed = question.shown.filter(({ dataset }) => !dataset.key);
    const isOwn = unkeyed.length <= left.length;
    const free = isOwn ? left : keys;
    const named = unkeyed
      .map(({ value }) => value)
      .filter((value) => /^\d$/.test(value) && free.includes(value));
    const others = free.filter((key) => !named.includes(key));
    const inOrder = [...question.shown].sort((a, b) => Number(!a.value) - Number(!b.value));
    for (const option of inOrder)
      showKey(
        main,
        option,
        option.dataset.key ?? (named.includes(option.value) ? option.value : others.shift()),
        isOwn,
      );
    return isOwn ? others : left;
  }

  // `answer` has its `suffix` and `radios`, the choices; `changed` is called when an answer to a question changes.
  window.assay.questions = (main, answer, changed) => {
    const taken = [...main.querySelectorAll("[data-key], [data-press]")].map(({ dataset }) =>
      (dataset.key ?? dataset.press).toLowerCase(),
    );
    const free = [...KEYS].filter((key) => !taken.includes(key));
    const questions = [...main.querySelectorAll(`.question[data-suffix="${CSS.escape(answer.suffix)}"]`)].map(
      questionOf,
    );
    // Those that are asked. An answer to a question that is not asked meets no condition.
    function asked() {
      const choice = answer.radios.find((radio) => radio.checked);
      if (!choice || choice.closest(".is-other")) return [];
      const given = new Map([["", [choice.value]]]);
      const holds = (condition) => {
        const [of, value] = condition.includes(":") ? condition.split(":") : ["", condition];
        return given.get(of)?.includes(value) ?? false;
      };
      return questions.filter(({ key, after, afterAll, control }) => {
        const isAsked = (!after.length || after.some(holds)) && afterAll.every(holds);
        if (isAsked) given.set(key, control.text().split(","));
        return isAsked;
      });
    }
    const isAnswered = (question) => Boolean(question.control.text()) || question.isSeen;
    const missing = () => asked().find(({ isOptional, control }) => !isOptional && !control.text());
    const open = () => asked().find((question) => !isAnswered(question));
    const focused = () => asked().find(({ fieldset }) => fieldset.contains(document.activeElement));
    // The keys are for the question with the focus, the one about a selected part of the text, or the first open one.
    const currentOne = (first = open()) =>
      focused() ?? asked().find(({ control }) => control.isSelecting?.()) ?? first;
    const focus = (question) => {
      const chosen = question.shown.find((option) => option.checked);
      (chosen ?? question.first).focus({ preventScroll: true });
      question.fieldset.scrollIntoView({ block: "nearest" });
    };

    let left = free;
    for (const question of questions) {
      if (main.dataset.shortcuts !== undefined) left = giveKeys(main, question, free, left);
      for (const option of question.options) {
        const isButton = option.type === "button";
        option.addEventListener(isButton ? "click" : "change", () => {
          if (isButton) question.control.pick(option);
          question.isSeen = true;
          changed();
        });
        option.addEventListener("focus", showCurrent);
      }
      question.input?.addEventListener("input", () => changed());
      question.input?.addEventListener("focus", showCurrent);
      question.fieldset.addEventListener("part-selected", showCurrent);
      question.input?.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        question.input.form.requestSubmit();
      });
      question.control.set(question.control.text());
    }

    function showCurrent() {
      const first = open();
      const current = currentOne(first);
      for (const question of questions) {
        question.fieldset.classList.toggle("is-current", question === current);
        question.fieldset.classList.toggle("is-open", question === first); // a phone shows no other one
      }
    }
    // Show the questions that are asked after the choice, numbered.
    function show() {
      const numbered = asked();
      for (const question of questions) {
        const place = numbered.indexOf(question) + 1;
        question.fieldset.classList.toggle("is-asked", place > 0);
        question.fieldset.querySelector(".place").textContent =
          place && numbered.length > 1 ? gettext("{place} of {n}", { place, n: numbered.length }) : "";
      }
      showCurrent();
    }
    // The question and the option that a key chooses.
    function chosenBy(key) {
      const those = asked();
      const current = currentOne();
      for (const question of current ? [current, ...those] : those) {
        const option = question.shown.find(
          ({ dataset }) =>
            dataset.answerKey === key && (dataset.ownKey !== undefined || question === current),
        );
        if (option) return [question, option];
      }
      return [];
    }
    // True if the key answers a question.
    function press(key) {
      const [question, option] = chosenBy(key);
      if (!option || option.matches(":disabled")) return false;
      question.control.pick(option);
      if (!question.control.keepsFocus) option.focus({ preventScroll: true });
      question.isSeen = true;
      changed();
      if (question.control.isWhole() || (!option.value && !question.control.text())) goToOpen();
      return true;
    }
    // True if there was an open question to go to.
    function goToOpen() {
      const question = open();
      if (question) focus(question);
      return Boolean(question);
    }

    // True if a question other than the one with the focus needs an answer: that one has the focus now.
    function goToMissing() {
      const question = missing();
      if (!question || question.fieldset.contains(document.activeElement)) return false;
      focus(question);
      return true;
    }

    return {
      show,
      press,
      goToOpen,
      goToMissing,
      hasOpen: () => Boolean(missing()),
      // Nothing, or what is missing and the element to go to.
      complaint() {
        const question = missing();
        return question && [gettext("Answer “{question}”", { question: question.label }), question.first];
      },
      // The fields, with an answer only to questions that are asked.
      values() {
        const those = asked();
        return Object.fromEntries(
          questions.map((question) => [
            question.name,
            those.includes(question) ? question.control.text() : "",
          ]),
        );
      },
      fill(fields) {
        for (const question of questions) {
          const text = fields[question.name] ?? "";
          question.isSeen = Boolean(text);
          question.control.set(text);
        }
      },
      goTo: (errors) => {
        const question = questions.find(({ name }) => errors?.[name]);
        if (question) focus(question);
      },
    };
  };
})();
