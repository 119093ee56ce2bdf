// The words that scripts write, in the language of the page. A page that is not in English has a catalog in #words.
(() => {
  "use strict";
  window.assay ??= {};
  const place = document.getElementById("words");
  const catalog = place ? JSON.parse(place.textContent) : {};
  // The translation of an English text, with values in place of names such as {reason}.
  window.assay.gettext = (text, values = {}) =>
    (catalog[text] ?? text).replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
})();
