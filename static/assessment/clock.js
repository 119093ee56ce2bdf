// The time left for a task, counted down in minutes, and its extension without leaving the page.
window.assay.eachTask((_main, signal) => {
  "use strict";
  const { gettext } = window.assay;
  const label = document.getElementById("time-left");
  if (!label) return;
  const SHORT = 10; // minutes
  const form = document.getElementById("extend");
  const menu = document.getElementById("put-aside");

  function show() {
    const left = (new Date(label.dataset.expires) - Date.now()) / 60_000;
    const minutes = Math.ceil(left);
    const time = { hours: Math.floor(minutes / 60), minutes: minutes % 60 };
    let text = gettext("{minutes} min for this task", time);
    if (left <= 0) text = gettext("Time is over");
    else if (time.hours) text = gettext("{hours} h {minutes} min for this task", time);
    label.textContent = text;
    label.classList.toggle("is-short", left < SHORT);
    label.hidden = label.dataset.quiet !== undefined && left >= SHORT;
  }
  async function extend(event) {
    event.preventDefault();
    const headers = { Accept: "application/json" };
    try {
      const response = await fetch(form.action, { method: "POST", body: new FormData(form), headers });
      if (!response.ok) throw new Error(response.statusText);
      label.dataset.expires = (await response.json()).expires;
      menu.open = false;
      show();
    } catch {
      form.submit(); // the answer is a page, which says what is wrong
    }
  }
  form.addEventListener("submit", extend);
  document.addEventListener(
    "click",
    (event) => {
      if (!menu.contains(event.target)) menu.open = false;
    },
    { signal },
  );
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  show();
  const ticking = setInterval(show, 15_000);
  signal.addEventListener("abort", () => clearInterval(ticking));
});
