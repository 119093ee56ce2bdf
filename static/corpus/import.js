// Shows the fields of a new collection only if the import creates one.
"use strict";

const choice = document.querySelector("#import-form [name=collection]");
const fields = document.getElementById("new-collection");

function follow() {
  fields.hidden = choice.value !== "";
  fields.disabled = fields.hidden;
}

choice.addEventListener("change", follow);
follow();
