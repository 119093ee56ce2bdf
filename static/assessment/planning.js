// Drag an assessor's part of a topic to another assessor of the row: this fills in the form that moves a topic, and
// sends it for the preview. Without a mouse, the link of the part leads to the same form.
(() => {
  "use strict";
  const grid = document.getElementById("plan");
  const form = document.querySelector('form[data-action="move"]');
  if (!grid || !form) return;
  const heads = [...grid.tHead.rows[0].cells];
  let part = null;
  let target = null;

  function mark(cell) {
    if (target === cell) return;
    target?.classList.remove("is-target");
    cell?.classList.add("is-target");
    target = cell;
  }
  // The cell under the mouse, if the dragged part can be dropped there.
  function targetOf(event) {
    const cell = event.target.closest?.("td");
    if (!part || !cell || cell.parentElement !== part.closest("tr") || cell === part.closest("td"))
      return null;
    const head = heads[cell.cellIndex];
    return "closed" in head.dataset || cell.querySelector(".plan-part") ? null : cell;
  }

  grid.addEventListener("dragstart", (event) => {
    part = event.target.closest?.(".plan-part") ?? null;
    if (part) event.dataTransfer.effectAllowed = "move";
  });
  grid.addEventListener("dragover", (event) => {
    const cell = targetOf(event);
    mark(cell);
    if (cell) event.preventDefault(); // allows the drop
  });
  grid.addEventListener("dragend", () => {
    mark(null);
    part = null;
  });
  grid.addEventListener("drop", (event) => {
    const cell = targetOf(event);
    if (!cell) return;
    event.preventDefault();
    form.elements.topic.value = part.closest("tr").dataset.topic;
    form.elements.giver.value = part.dataset.giver;
    form.elements.getter.value = heads[cell.cellIndex].dataset.assessor;
    form.submit();
  });
  grid.dataset.ready = "";
})();
