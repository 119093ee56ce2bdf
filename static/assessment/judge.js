// The judging page: keys, drafts, and a Submit that loses nothing. Without this script the form works as a plain one.
(() => {
  "use strict";
  const { outbox, drafts } = window.assay;
  const main = document.getElementById("main");
  const form = document.getElementById("judgment");
  const task = main.dataset.task;
  const radios = [...form.querySelectorAll('input[name="choice"]')];
  const comment = form.elements.comment;
  const button = document.getElementById("submit");
  const meaning = document.getElementById("meaning");
  const commentState = document.getElementById("comment-state");
  const hint = meaning.textContent;

  // -- what is chosen
  const chosen = () => radios.find((radio) => radio.checked);
  const definition = (radio) => form.querySelector(`label[for="${radio.id}"]`).title;
  function show() {
    const radio = chosen();
    const isNeeded = radio?.dataset.needsComment !== undefined;
    commentState.textContent = isNeeded ? "required: say why" : "optional";
    commentState.classList.toggle("is-required", isNeeded);
    comment.toggleAttribute("required", isNeeded);
    comment.setAttribute("aria-required", String(isNeeded));
    meaning.textContent = radio ? definition(radio) : hint;
  }
  function changed() {
    drafts.set(task, { choice: chosen()?.value ?? "", comment: comment.value });
    // A submission that waits was for another choice: it is not sent any more, what stands on the page will be.
    const waiting = outbox.get(task);
    hold(Boolean(waiting));
    show();
  }
  for (const radio of radios) {
    radio.addEventListener("change", changed);
    const label = form.querySelector(`label[for="${radio.id}"]`);
    for (const on of ["mouseenter", "focus"])
      label.addEventListener(on, () => {
        meaning.textContent = definition(radio);
      });
    label.addEventListener("mouseleave", show);
  }
  comment.addEventListener("input", changed);

  // -- restore what was typed before
  const isEmpty = (draft) => !draft?.choice && !draft?.comment;
  function restore() {
    const left = outbox.get(task);
    const draft = left?.fields ?? drafts.get(task);
    if (isEmpty(draft)) return false;
    const isAsStored = draft.choice === (chosen()?.value ?? "") && draft.comment === comment.value;
    if (!left && isAsStored) return false;
    for (const radio of radios) radio.checked = radio.value === draft.choice;
    comment.value = draft.comment;
    if (left && !left.refused) return true;
    keepAsDraft(left, { choice: draft.choice, comment: draft.comment });
    return false;
  }
  // A refused submission is sent again only when the assessor, who has read the reason, submits it again.
  function keepAsDraft(left, draft) {
    if (left) outbox.strike(left);
    drafts.set(task, draft);
    if (left) say(`Not saved. ${left.refused}`, "bad");
    else say("Your choice from before is here again. It is not submitted yet.", "");
  }

  // -- submitting
  function complaint() {
    const radio = chosen();
    if (!radio) return ["Choose a grade, or one of the other answers.", radios[0]];
    if (radio.dataset.needsComment !== undefined && !comment.value.trim())
      return [`“${radio.dataset.label}” needs a comment that says why.`, comment];
    return null;
  }
  function entry(seconds, uuid) {
    const radio = chosen();
    const waiting = outbox.get(task);
    const fields = {
      choice: radio.value,
      comment: comment.value.trim(),
      shown: form.elements.shown.value,
      seconds,
    };
    const isSame =
      waiting &&
      waiting.fields.choice === fields.choice &&
      waiting.fields.comment === fields.comment &&
      !waiting.refused;
    if (isSame) return waiting;
    const request_id = uuid();
    const sent = [...(waiting?.sent ?? []), request_id];
    return {
      task,
      address: form.action,
      label: main.dataset.label,
      choiceLabel: radio.dataset.label,
      fields: { ...fields, request_id },
      sent,
    };
  }
  function refused(mine, answer) {
    drafts.set(task, { choice: mine.fields.choice, comment: mine.fields.comment });
    if (answer.standing) form.elements.shown.value = answer.standing.judgment;
    if (answer.errors?.comment) comment.focus();
  }

  const isAsSubmitted = (waiting) =>
    waiting.fields.choice === chosen()?.value && waiting.fields.comment === comment.value.trim();
  const page = { complaint, entry, isAsSubmitted, refused, kept: "Your choice is" };
  const { say, submit, hold } = window.assay.submission(form, task, page);

  // -- single keys
  const isTyping = (element) =>
    element.matches('textarea, select, input:not([type="radio"]), [contenteditable]');
  function pressed(event) {
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.repeat ||
      event.isComposing ||
      isTyping(event.target)
    )
      return;
    const radio = radios.find((one) => one.dataset.key?.toLowerCase() === event.key.toLowerCase());
    if (radio) {
      event.preventDefault();
      radio.checked = true;
      changed();
      if (radio.dataset.needsComment !== undefined && !comment.value.trim()) comment.focus();
      else radio.focus({ preventScroll: true });
    } else if (event.key === "Enter" && !event.target.closest("a, button, summary, form")) {
      event.preventDefault();
      form.requestSubmit();
    }
  }
  if (main.dataset.shortcuts !== undefined) document.addEventListener("keydown", pressed);

  const isLeft = button.disabled ? false : restore();
  show();
  if (isLeft) submit();
  document.getElementById("document-panel").focus({ preventScroll: true });
})();
