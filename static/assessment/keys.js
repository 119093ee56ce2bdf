// The keys of actions, the collapsed topic, and settings that are stored without leaving the page. What a key presses has `data-press` with the
// key; the server gives no two things on a page the same key. The script listens on the document, so parts of the page may
// be replaced.
(() => {
  "use strict";
  const isTyping = (element) =>
    element.matches('textarea, select, input:not([type="radio"], [type="checkbox"]), [contenteditable]');
  const isCommand = (event) =>
    event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing;

  // Of several instances, the key is for the current one.
  function pressedBy(key) {
    const withKey = [...document.querySelectorAll("[data-press]:not(:disabled)")].filter(
      (element) => element.dataset.press === key && element.getClientRects().length,
    );
    return withKey.find((element) => element.closest(".is-current")) ?? withKey[0];
  }
  function press(element) {
    if (element.matches("textarea")) element.focus();
    else element.click();
    const { then } = element.dataset;
    if (then) document.getElementById(then).focus();
  }

  async function save(form) {
    const headers = { Accept: "application/json" };
    try {
      const response = await fetch(form.action, { method: "POST", body: new FormData(form), headers });
      if (!response.ok) throw new Error(response.statusText);
    } catch {
      form.submit(); // the answer is a page, which says what is wrong
    }
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || isCommand(event) || isTyping(event.target)) return;
    const element = pressedBy(event.key.toLowerCase());
    if (!element) return;
    event.preventDefault();
    press(element);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-expands]");
    if (!button) return;
    const isExpanded = button.closest(".pane").classList.toggle("is-expanded");
    button.setAttribute("aria-expanded", String(isExpanded));
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-save]")) save(event.target.form);
  });
})();
