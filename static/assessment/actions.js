// Settings of the judging pages that are stored without leaving the page. It listens on the document, so parts of the
// page may be replaced.
(() => {
  "use strict";

  async function save(form) {
    const headers = { Accept: "application/json" };
    try {
      const response = await fetch(form.action, { method: "POST", body: new FormData(form), headers });
      if (!response.ok) throw new Error(response.statusText);
    } catch {
      form.submit(); // the answer is a page, which says what is wrong
    }
  }

  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-save]")) save(event.target.form);
  });
})();
