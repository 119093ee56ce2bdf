// The first field with an error gets the focus: when the server shows a form again, and when htmx inserts one.
(() => {
  "use strict";
  const focusFirst = (part) => part.querySelector('[aria-invalid="true"], .is-invalid')?.focus();
  const main = document.querySelector("main");
  if (main && !document.querySelector("[autofocus]")) focusFirst(main);
  document.addEventListener("htmx:afterSettle", (event) => focusFirst(event.detail.elt));
})();
