// The first field with an error gets the focus: when the server shows a form again, and when htmx inserts one. A closed part
// opens for a missing field in it, which the browser could not focus.
(() => {
  "use strict";
  const invalid = '[aria-invalid="true"], .is-invalid';
  function open(field) {
    for (let part = field; part; part = part.parentElement)
      if (part.localName === "details") part.open = true;
  }
  function focusFirst(within) {
    const field = within.querySelector(invalid);
    open(field);
    field?.focus();
  }
  const main = document.querySelector("main");
  if (main && !document.querySelector("[autofocus]")) focusFirst(main);
  document.addEventListener("invalid", ({ target }) => open(target), { capture: true });
  document.addEventListener("htmx:afterSettle", (event) => focusFirst(event.detail.elt));
})();
