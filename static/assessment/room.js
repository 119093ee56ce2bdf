// The judging room shows one task after another in the same page. Every script of the judging page passes a function to
// `assay.eachTask`. It is called with the `main` element of each task that is shown, and with a signal that is aborted
// when the task leaves. Pass the signal to listeners of `window` and `document`, and stop timers when it is aborted;
// what belongs to elements inside `main` leaves with them.
(() => {
  "use strict";
  window.assay ??= {};
  const { assay } = window;
  const setUps = [];
  const leaving = new AbortController();

  assay.eachTask = (setUp) => {
    setUps.push(setUp);
    setUp(document.getElementById("main"), leaving.signal);
  };
})();
