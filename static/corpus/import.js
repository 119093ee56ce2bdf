// The fields of a new collection are only asked for where one is made.
"use strict";

const choice = document.querySelector("#import-form [name=collection]");
const fields = document.getElementById("new-collection");

function follow() {
  fields.hidden = choice.value !== "";
  fields.disabled = fields.hidden;
}

choice.addEventListener("change", follow);
follow();
