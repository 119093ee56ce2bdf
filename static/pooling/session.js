// The clock of a session: it shows the seconds left, and closes the frame when they are over. The site keeps the time,
// so a page without this script gets no more of it.
"use strict";

(() => {
  const clock = document.getElementById("clock");
  const left = document.getElementById("left");
  const form = document.getElementById("end");
  const until = performance.now() + 1000 * Number(clock.dataset.seconds);

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

  tick();
})();
