// What every page needs. The words that scripts write are in the language of the page: one that is not in English has a catalog in
// #words. Menus close by Escape and by a press outside, and the buttons of `data-copies` copy the field or text before them; those of
// `data-submits` then submit their form. A choice in a form of `data-applies` applies at once; by keys, which pass over other
// choices, and in typed fields the button of the form appears. Without this script, a menu closes by its own button, texts can be
// selected, and forms have their buttons. htmx, which starts after all scripts, gets its settings.
(() => {
  "use strict";
  window.assay ??= {};
  const place = document.getElementById("words");
  const catalog = place ? JSON.parse(place.textContent) : {};
  // The translation of an English text, with values in place of names such as {reason}.
  window.assay.gettext = (text, values = {}) =>
    (catalog[text] ?? text).replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
  const settings = { includeIndicatorStyles: false, allowEval: false, reportValidityOfForms: true };
  if (window.htmx) Object.assign(window.htmx.config, settings);
  const menus = () => document.querySelectorAll("details.menu[open]");
  let isByKey = false;
  document.addEventListener("input", ({ target }) => {
    const form = target.form;
    if (!form || !("applies" in form.dataset)) return;
    if (isByKey || !target.matches("select, [type=checkbox]")) form.classList.add("is-changed");
    else form.requestSubmit();
  });
  document.addEventListener("keydown", ({ key }) => {
    isByKey = true;
    if (key !== "Escape") return;
    for (const menu of menus()) {
      if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
      menu.open = false;
    }
  });
  document.addEventListener("pointerdown", ({ target }) => {
    isByKey = false;
    for (const menu of menus()) if (!menu.contains(target)) menu.open = false;
  });
  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("[data-copies]");
    if (!button) return;
    const source = button.previousElementSibling;
    if (source.select) source.select();
    else getSelection().selectAllChildren(source);
    try {
      await navigator.clipboard.writeText(source.value ?? source.textContent);
    } catch {
      document.execCommand("copy"); // a page without HTTPS has no clipboard
    }
    button.textContent = window.assay.gettext("Copied");
    if ("submits" in button.dataset) button.form.requestSubmit();
  });
})();
