// The clock of a session: it shows the seconds left, and closes the frame when they are over. The site keeps the time,
// so a page without this script gets no more of it. The page asks the site every few seconds, because the session may
// have ended elsewhere, and because clocks in a browser stop while the computer sleeps.
"use strict";

(() => {
  const EVERY = 5000; // milliseconds
  const clock = document.getElementById("clock");
  const others = new BroadcastChannel(location.pathname); // other tabs with this session
  if (!clock) {
    others.postMessage("over");
    return;
  }
  const left = document.getElementById("left");
  const form = document.getElementById("end");
  const after = (seconds) => performance.now() + 1000 * Number(seconds);
  let until = after(clock.dataset.seconds);

  const close = () => {
    document.getElementById("frame")?.remove();
    form.requestSubmit();
  };

  const tick = () => {
    const seconds = Math.max(0, (until - performance.now()) / 1000);
    left.textContent = Math.ceil(seconds);
    clock.classList.toggle("is-short", seconds <= 15);
    if (seconds > 0) setTimeout(tick, 200);
    else close();
  };

  const ask = async () => {
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const current = page.getElementById("clock");
      if (current) until = after(current.dataset.seconds);
      else if (answer.ok) location.reload();
    } catch {
      // The site does not answer. The time runs on.
    }
    setTimeout(ask, EVERY);
  };

  others.addEventListener("message", () => location.reload());
  addEventListener("pageshow", (event) => event.persisted && location.reload());
  setTimeout(ask, EVERY);
  tick();
})();
