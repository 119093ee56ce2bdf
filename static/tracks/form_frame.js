// A page around the frame of a form: the judging page takes what was entered there, and keeps it like any other answer.
// Only messages of frame.js count, which is the first to run in the frame: it sends one end of a channel, and nothing of
// the template can use that. They are texts by the names of controls, and keys. On other pages, which have no form
// #judgment, the frame only gets its height.
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

  // Nothing if the page has no frame. `changed` is called when an answer changes, `submitted` to submit them, `unasked` if
  // the template tried to submit and the assessor did nothing, `missing` with the name of a required answer that it hides.
  assay.formFrame = (main, { changed, submitted, unasked, missing }, signal) => {
    const frame = main.querySelector(".form-frame");
    if (!frame) return null;
    const field = document.getElementById("judgment")?.elements.answers ?? { value: "" };
    let port = null;
    let isReady = false;
    const fill = () => {
      if (isReady && field.value) port.postMessage({ assay: "fill", answers: JSON.parse(field.value) });
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
      if (kind === "unasked") unasked();
    };
    // A key that was pressed in the frame does what it does in the page around it.
    const press = (key) =>
      frame.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    const hear = ({ data }) => {
      if (data.assay === "key") {
        press(String(data.key));
        return;
      }
      if (data.assay === "missing") {
        missing(String(data.name).slice(0, 100));
        return;
      }
      frame.style.height = heightOf(data);
      if (data.assay === "ready") begin();
      else if (isReady) take(data);
    };
    window.addEventListener(
      "message",
      ({ source, data, ports }) => {
        if (port || source !== frame.contentWindow || data?.assay !== "port") return;
        [port] = ports;
        port.onmessage = hear;
      },
      { signal },
    );
    signal?.addEventListener("abort", () => port?.close());
    frame.src = frame.dataset.src; // now that its messages are heard
    return {
      values: () => ({ answers: field.value }),
      fill(fields) {
        field.value = fields.answers ?? "";
        fill();
      },
      // True if the frame was asked to submit; it answers if its own rules are met.
      submit() {
        if (isReady) port.postMessage({ assay: "submit" });
        return isReady;
      },
    };
  };
  const main = document.getElementById("main");
  const nothing = () => undefined;
  if (!document.getElementById("judgment"))
    assay.formFrame(main, { changed: nothing, submitted: nothing, unasked: nothing, missing: nothing });
})();
