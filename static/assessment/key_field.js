// A field for a key takes the key that is pressed in it, in place of the one it has.
(() => {
  "use strict";
  for (const field of document.querySelectorAll(".key-field")) {
    field.addEventListener("keydown", (event) => {
      const isKey = event.key.length === 1 && event.key !== " ";
      if (!isKey || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      event.preventDefault();
      field.value = event.key.toLowerCase();
      field.select();
    });
  }
})();
