// The guidelines next to a task: a panel on a wide window, a sheet on a narrow one. They open without leaving the task, by
// a link with `data-guidelines`, the address of their content. The panel is outside of `main`, so it stays open when the
// next task comes. Without this script, the link opens their page in a new tab.
(() => {
  "use strict";
  const WIDE = window.matchMedia("(min-width: 62rem) and (min-height: 32rem)");
  const dialog = document.createElement("dialog");
  dialog.id = "guidelines";
  dialog.className = "guidelines-panel";
  dialog.setAttribute("aria-labelledby", "guidelines-title");
  document.body.append(dialog);
  let address = ""; // of the content that the panel has
  let opener = null;

  const isSheet = () => dialog.matches(":modal");
  const link = () => document.querySelector("[data-guidelines]");

  function show() {
    if (!dialog.open && WIDE.matches) dialog.show();
    else if (!dialog.open) dialog.showModal();
    document.body.classList.toggle("has-guidelines", !isSheet());
    link()?.setAttribute("aria-expanded", "true");
    document.getElementById("guidelines-title")?.focus({ preventScroll: true });
  }
  // The content is fetched once, and again when there is a newer version than the assessor has read.
  async function load(source) {
    const isNew = Boolean(document.querySelector(".guidelines-news"));
    if (address === source && !isNew) return;
    const response = await fetch(source, { headers: { Accept: "text/html" } });
    if (!response.ok || response.redirected) throw new Error(response.statusText);
    dialog.innerHTML = await response.text();
    address = source;
    for (const news of document.querySelectorAll(".guidelines-news")) news.remove();
  }
  async function open(element) {
    opener = element;
    try {
      await load(element.dataset.guidelines);
    } catch {
      if (!address) {
        window.open(element.href, "_blank", "noopener"); // logged out, or no connection: the page says so
        return;
      }
    }
    show();
    window.assay.renderMath(dialog);
  }
  function close() {
    dialog.close();
  }
  dialog.addEventListener("close", () => {
    document.body.classList.remove("has-guidelines");
    link()?.setAttribute("aria-expanded", "false");
    const target = opener?.isConnected && !opener.closest(".note") ? opener : link();
    (target ?? document.getElementById("document-panel"))?.focus({ preventScroll: true });
  });

  document.addEventListener("click", (event) => {
    const element = event.target.closest?.("[data-guidelines]");
    if (event.target.closest?.("[data-close-guidelines]") || event.target === dialog) close();
    if (!element || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (dialog.open) close();
    else open(element);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && dialog.open && !event.defaultPrevented) close();
  });
  // On a sheet the task is covered, so no key may judge it.
  dialog.addEventListener("keydown", (event) => {
    if (isSheet()) event.stopPropagation();
  });
  WIDE.addEventListener("change", () => dialog.open && close());
})();
