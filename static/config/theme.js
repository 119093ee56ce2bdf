// Sets Bootstrap's color mode to that of the system, before the first paint.
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const apply = () => document.documentElement.setAttribute("data-bs-theme", dark.matches ? "dark" : "light");
  dark.addEventListener("change", apply);
  apply();
})();
