// A page around the frame of a form: the judging page takes what was entered there, and keeps it like any other answer.
// Only messages of the frame itself count, and they are nothing but texts by the names of controls. On other pages, which
// have no form #judgment, the frame only gets its height.
(() => {
  "use strict";
  window.assay ??= {};
  const { assay } = window;
  const heightOf = ({ height }) => `${Math.min(Math.max(Number(height) || 0, 100), 20000)}px`;

  // What a message contains as the text of a field. A template can send anything.
  function textOf(answers) {
    const pairs = Object.entries(answers ?? {}).map(([name, values]) => [name, [values].flat().map(String)]);
    return JSON.stringify(Object.fromEntries(pairs));
  }

  // Nothing if the page has no frame. `changed` is called when an answer changes, `submitted` to submit them.
  assay.formFrame = (main, { changed, submitted }, signal) => {
    const frame = main.querySelector(".form-frame");
    if (!frame) return null;
    const field = document.getElementById("judgment")?.elements.answers ?? { value: "" };
    let isReady = false;
    const send = (message) => frame.contentWindow.postMessage(message, "*");
    const fill = () => {
      if (isReady && field.value) send({ assay: "fill", answers: JSON.parse(field.value) });
    };
    const begin = () => {
      isReady = true;
      frame.dataset.ready = "";
      fill();
    };
    const take = ({ assay: kind, answers }) => {
      const before = field.value;
      const text = textOf(answers);
      if (before || text !== "{}") field.value = text;
      if (kind === "submit") submitted();
      else if (field.value !== before) changed();
    };
    window.addEventListener(
      "message",
      ({ source, data }) => {
        if (source !== frame.contentWindow || typeof data?.assay !== "string") return;
        frame.style.height = heightOf(data);
        if (data.assay === "ready") begin();
        else take(data);
      },
      { signal },
    );
    frame.src = frame.dataset.src; // now that its messages are heard
    return {
      values: () => ({ answers: field.value }),
      fill(fields) {
        field.value = fields.answers ?? "";
        fill();
      },
      // True if the frame was asked to submit; it answers if its own rules are met.
      submit() {
        if (isReady) send({ assay: "submit" });
        return isReady;
      },
    };
  };
  const main = document.getElementById("main");
  const nothing = () => undefined;
  if (!document.getElementById("judgment")) assay.formFrame(main, { changed: nothing, submitted: nothing });
})();
