// The follow-up questions of an answer: which are asked after its choice, what was answered, and the keys.
//
// A question gets its keys when it is the current one: the question with the focus, or the first that is open. Its
// answers have the first characters of KEYS that nothing else on the page uses, and show them.
(() => {
  "use strict";
  window.assay ??= {};
  const KEYS = "1234567890abcdefghijklmnopqrstuvwxyz";

  // `answer` has its `suffix` and `radios`, the choices; `changed` is called when an answer to a question changes.
  window.assay.followUps = (main, answer, changed) => {
    const taken = [...main.querySelectorAll("[data-key], [data-press]")].map(({ dataset }) =>
      (dataset.key ?? dataset.press).toLowerCase(),
    );
    const free = [...KEYS].filter((key) => !taken.includes(key));
    const chosen = () => answer.radios.find((radio) => radio.checked)?.value;
    const questions = [
      ...main.querySelectorAll(`.follow-up[data-suffix="${CSS.escape(answer.suffix)}"]`),
    ].map((fieldset) => {
      const isOptional = fieldset.dataset.optional !== undefined;
      const radios = [...fieldset.querySelectorAll('input[type="radio"]')];
      return {
        fieldset,
        isOptional,
        radios,
        shown: radios.filter((radio) => radio.value || isOptional),
        name: fieldset.dataset.name,
        label: fieldset.dataset.label,
        after: fieldset.dataset.after.split(" "),
        isSeen: false, // whether "No answer" was chosen on purpose
      };
    });
    const isAsked = (question) => question.after.includes(chosen());
    const checked = (question) => question.radios.find((radio) => radio.checked);
    const isAnswered = (question) => Boolean(checked(question)?.value) || question.isSeen;
    const asked = () => questions.filter(isAsked);
    const missing = () => asked().find((question) => !question.isOptional && !checked(question)?.value);
    const open = () => asked().find((question) => !isAnswered(question));
    const focused = () => asked().find(({ fieldset }) => fieldset.contains(document.activeElement));
    const focus = (question) => {
      (question.shown.find((radio) => radio.checked) ?? question.shown[0]).focus({ preventScroll: true });
      question.fieldset.scrollIntoView({ block: "nearest" });
    };

    for (const question of questions) {
      question.shown.forEach((radio, place) => {
        const key = main.dataset.shortcuts === undefined ? undefined : free[place];
        const badge = main.querySelector(`label[for="${CSS.escape(radio.id)}"] kbd`);
        if (!key || !badge) return;
        radio.dataset.answerKey = key;
        radio.setAttribute("aria-keyshortcuts", key);
        badge.textContent = key.toUpperCase();
        badge.hidden = false;
      });
      for (const radio of question.radios) {
        radio.addEventListener("change", () => {
          question.isSeen = true;
          changed();
        });
        radio.addEventListener("focus", showCurrent);
      }
    }

    function showCurrent() {
      const first = open();
      const current = focused() ?? first;
      for (const question of questions) {
        question.fieldset.classList.toggle("is-current", question === current);
        question.fieldset.classList.toggle("is-open", question === first); // a phone shows no other one
      }
    }
    // Show the questions that are asked after the choice, numbered.
    function show() {
      const numbered = asked();
      for (const question of questions) {
        question.fieldset.classList.toggle("is-asked", isAsked(question));
        question.fieldset.querySelector(".place").textContent =
          numbered.length > 1 ? `${numbered.indexOf(question) + 1} of ${numbered.length}` : "";
      }
      showCurrent();
    }
    // True if the key answers the current question.
    function press(key) {
      const question = focused() ?? open();
      const radio = question?.radios.find((each) => each.dataset.answerKey === key);
      if (!radio || radio.matches(":disabled")) return false;
      radio.checked = true;
      radio.focus({ preventScroll: true });
      question.isSeen = true;
      changed();
      goToOpen();
      return true;
    }
    // True if there was an open question to go to.
    function goToOpen() {
      const question = open();
      if (question) focus(question);
      return Boolean(question);
    }

    return {
      show,
      press,
      goToOpen,
      hasOpen: () => Boolean(missing()),
      // Nothing, or what is missing and the element to go to.
      complaint() {
        const question = missing();
        return question && [`Answer “${question.label}”`, question.shown[0]];
      },
      // The fields, with an answer only to questions that are asked.
      values: () =>
        Object.fromEntries(
          questions.map((question) => [
            question.name,
            isAsked(question) ? (checked(question)?.value ?? "") : "",
          ]),
        ),
      fill(fields) {
        for (const question of questions) {
          const value = fields[question.name] ?? "";
          question.isSeen = Boolean(value);
          for (const radio of question.radios) radio.checked = radio.value === value;
        }
      },
      goTo: (errors) => {
        const question = questions.find(({ name }) => errors?.[name]);
        if (question) focus(question);
      },
    };
  };
})();
