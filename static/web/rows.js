// A search for the rows of a table (`components/row_filter.html`): hides rows, and counts those that are chosen. A row is
// chosen if its box is ticked or its list has a value; a row without a control, if it has the attribute `data-chosen`.
// A box `data-all` in the head of the table ticks all rows in sight.
"use strict";

const textOf = (row) =>
  Array.from(row.cells, (cell) => (cell.querySelector("select") ? "" : cell.textContent))
    .join(" ")
    .toLowerCase();
const isChosen = (row) => {
  const control = row.querySelector("input[type=checkbox], select");
  if (!control) return "chosen" in row.dataset;
  return control.type === "checkbox" ? control.checked : control.value !== "";
};

for (const area of document.querySelectorAll("[data-rows]")) {
  const [search, only] = area.querySelectorAll(".row-filter input");
  const output = area.querySelector("output");
  const all = area.querySelector("[data-all]");
  const rows = Array.from(area.querySelectorAll("tbody tr"), (row) => ({ row, text: textOf(row) }));

  const count = () => {
    const chosen = rows.filter(({ row }) => isChosen(row)).length;
    const shown = rows.filter(({ row }) => !row.hidden);
    output.textContent = `${chosen.toLocaleString("en")} of ${rows.length.toLocaleString("en")} ${output.dataset.noun}s ${output.dataset.what}`;
    if (!shown.length) output.textContent += ". None matches the search.";
    if (!all) return;
    all.checked = shown.length > 0 && shown.every(({ row }) => isChosen(row));
    all.indeterminate = !all.checked && shown.some(({ row }) => isChosen(row));
  };
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    for (const { row, text } of rows) {
      row.hidden = !words.every((word) => text.includes(word)) || (only.checked && !isChosen(row));
    }
    count();
  };

  search.addEventListener("input", filter);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault(); // or the form would be sent
  });
  only.addEventListener("change", filter);
  all?.addEventListener("change", () => {
    for (const { row } of rows) {
      if (!row.hidden) row.querySelector("input[type=checkbox]").checked = all.checked;
    }
    count();
  });
  area.querySelector("tbody").addEventListener("change", count);
  area.querySelector(".row-filter").hidden = false;
  if (all) all.hidden = false;
  filter();
}
