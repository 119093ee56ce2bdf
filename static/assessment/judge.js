// The judging page: keys, drafts, and a Submit that loses nothing. Without this script the form works as a plain one.
(() => {
  "use strict";
  const { outbox, drafts } = window.assay;
  const main = document.getElementById("main");
  const form = document.getElementById("judgment");
  const assignment = main.dataset.assignment;
  const radios = [...form.querySelectorAll('input[name="choice"]')];
  const comment = form.elements.comment;
  const button = document.getElementById("submit");
  const state = document.getElementById("state");
  const meaning = document.getElementById("meaning");
  const commentState = document.getElementById("comment-state");
  const hint = meaning.textContent;
  let isSending = false;
  let tries = 0;
  let timer = 0;

  // -- the time that the page was looked at
  let seen = 0;
  let since = document.hidden ? null : performance.now();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && since !== null) { seen += performance.now() - since; since = null; }
    if (!document.hidden && since === null) since = performance.now();
  });
  const seconds = () => Math.round((seen + (since === null ? 0 : performance.now() - since)) / 1000);

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
    drafts.set(assignment, { choice: chosen()?.value ?? "", comment: comment.value });
    // A submission that waits was for another choice: it is not sent any more, what stands on the page will be.
    const waiting = outbox.get(assignment);
    if (waiting && !isSending) { clearTimeout(timer); say("Not saved. Submit to save what you have chosen.", "bad"); }
    else if (!isSending) say("");
    show();
  }
  for (const radio of radios) {
    radio.addEventListener("change", changed);
    const label = form.querySelector(`label[for="${radio.id}"]`);
    for (const on of ["mouseenter", "focus"]) label.addEventListener(on, () => { meaning.textContent = definition(radio); });
    label.addEventListener("mouseleave", show);
  }
  comment.addEventListener("input", changed);

  // -- what was typed before stands again
  function restore() {
    const left = outbox.get(assignment);
    const draft = left?.fields ?? drafts.get(assignment);
    if (!draft || (!draft.choice && !draft.comment)) return false;
    const isAsStored = draft.choice === (chosen()?.value ?? "") && draft.comment === comment.value;
    if (!left && isAsStored) return false;
    for (const radio of radios) radio.checked = radio.value === draft.choice;
    comment.value = draft.comment;
    if (left && !left.refused) return true;
    // What was refused is sent again only when the assessor says so, knowing what stands now.
    if (left) outbox.strike(left);
    drafts.set(assignment, { choice: draft.choice, comment: draft.comment });
    say(left ? `Not saved. ${left.refused}` : "Your choice from before is here again. It is not submitted yet.", left ? "bad" : "");
    return false;
  }

  // -- submitting
  function say(text, kind = "", link = null) {
    state.className = `state ${kind}`;
    state.replaceChildren(text);
    if (link) state.append(" ", link);
  }
  function complaint() {
    const radio = chosen();
    if (!radio) return ["Choose a grade, or one of the other answers.", radios[0]];
    if (radio.dataset.needsComment !== undefined && !comment.value.trim()) return [`“${radio.dataset.label}” needs a comment that says why.`, comment];
    return null;
  }
  function entry() {
    const radio = chosen();
    const waiting = outbox.get(assignment);
    const fields = { choice: radio.value, comment: comment.value.trim(), shown: form.elements.shown.value, seconds: String(seconds()) };
    const isSame = waiting && waiting.fields.choice === fields.choice && waiting.fields.comment === fields.comment && !waiting.refused;
    if (isSame) return waiting;
    const request_id = uuid();
    const sent = [...(waiting?.sent ?? []), request_id];
    return { assignment, address: form.action, label: main.dataset.label, choiceLabel: radio.dataset.label, fields: { ...fields, request_id }, sent };
  }
  // crypto.randomUUID is only there on https and localhost
  function uuid() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 15) | 64;
    bytes[8] = (bytes[8] & 63) | 128;
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }
  function busy(is) {
    isSending = is;
    button.classList.toggle("is-busy", is);
    button.setAttribute("aria-disabled", String(is));
  }

  async function submit() {
    if (isSending || button.disabled) return;
    const wrong = complaint();
    if (wrong) { say(wrong[0], "bad"); wrong[1].focus(); return; }
    clearTimeout(timer);
    const mine = entry();
    outbox.keep(mine);
    busy(true);
    const slow = setTimeout(() => say("Saving…"), 400);
    const result = await outbox.send(mine);
    clearTimeout(slow);
    if (result.outcome === "saved") {
      say("Saved.");
      window.location.assign(result.answer.next);
      return;
    }
    busy(false);
    if (result.outcome === "refused") refused(mine, result.answer);
    else again(result);
  }

  function refused(mine, answer) {
    outbox.strike(mine);
    drafts.set(assignment, { choice: mine.fields.choice, comment: mine.fields.comment });
    if (answer.standing) form.elements.shown.value = answer.standing.judgment;
    say(`Not saved. ${answer.detail ?? ""}`, "bad");
    if (answer.errors?.comment) comment.focus();
  }

  function again(result) {
    if (result.outcome === "login") {
      const link = document.createElement("a");
      link.href = result.answer.login;
      link.target = "_blank";
      link.textContent = "Log in in a new tab";
      say("Not saved: you are logged out. Your choice is kept here.", "bad", link);
    } else {
      const what = result.status ? "the server had a problem" : "no connection";
      say(`Not saved yet: ${what}. Your choice is kept here and sent again by itself.`, "bad");
    }
    timer = setTimeout(retry, outbox.wait(tries++));
  }
  // Only what was submitted is sent again: a choice that changed meanwhile waits for its own Submit.
  function retry() {
    const waiting = outbox.get(assignment);
    const isAsSubmitted = waiting && waiting.fields.choice === chosen()?.value && waiting.fields.comment === comment.value.trim();
    if (isAsSubmitted) submit();
  }

  form.addEventListener("submit", (event) => { event.preventDefault(); tries = 0; submit(); });
  for (const event of ["online", "focus", "storage"]) window.addEventListener(event, retry);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) retry(); });
  window.addEventListener("pageshow", (event) => { if (event.persisted) window.location.reload(); });

  // -- single keys
  const isTyping = (element) => element.matches('textarea, select, input:not([type="radio"]), [contenteditable]');
  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing || isTyping(event.target)) return;
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
