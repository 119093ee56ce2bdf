// The judging page of a unit with several instances: a choice for each, one Submit for all, and nothing lost.
// Without this script the form works as a plain one.
(() => {
  "use strict";
  const { outbox, drafts } = window.assay;
  const main = document.getElementById("main");
  const form = document.getElementById("judgment");
  const assignment = main.dataset.assignment;
  const button = document.getElementById("submit");
  const state = document.getElementById("state");
  const meaning = document.getElementById("meaning");
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

  // -- the instances, each with its own choice
  const instances = [...document.querySelectorAll(".instance")].map((article) => ({
    article,
    key: article.id.replace("instance-", ""),
    docno: article.dataset.docno,
    radios: [...article.querySelectorAll('input[type="radio"]')],
    comment: article.querySelector("textarea"),
    shown: article.querySelector('input[type="hidden"]'),
    optional: article.querySelector(".optional"),
  }));
  const chosen = (one) => one.radios.find((radio) => radio.checked);
  const needsComment = (one) => chosen(one)?.dataset.needsComment !== undefined;
  const values = () => Object.fromEntries(instances.flatMap((one) => [
    [`choice-${one.key}`, chosen(one)?.value ?? ""],
    [`comment-${one.key}`, one.comment.value.trim()],
  ]));
  const isSame = (one, other) => Object.keys(one).every((name) => one[name] === (other[name] ?? ""));
  function show(one) {
    one.optional.textContent = needsComment(one) ? "required: say why" : "optional";
    one.optional.classList.toggle("is-required", needsComment(one));
    one.comment.toggleAttribute("required", needsComment(one));
    one.article.classList.toggle("is-answered", Boolean(chosen(one)));
  }
  function changed(one) {
    drafts.set(assignment, { choice: null, comment: "", fields: values() });
    const waiting = outbox.get(assignment);
    if (waiting && !isSending) { clearTimeout(timer); say("Not saved. Submit to save what you have chosen.", "bad"); }
    else if (!isSending) say("");
    show(one);
  }
  for (const one of instances) {
    for (const radio of one.radios) {
      const label = document.querySelector(`label[for="${radio.id}"]`);
      radio.addEventListener("change", () => changed(one));
      radio.addEventListener("focus", () => { take(one); meaning.textContent = label.title; });
      label.addEventListener("mouseenter", () => { meaning.textContent = label.title; });
      label.addEventListener("mouseleave", () => { meaning.textContent = hint; });
    }
    one.comment.addEventListener("input", () => changed(one));
    one.comment.addEventListener("focus", () => take(one));
    one.article.addEventListener("click", () => take(one));
  }

  // -- the instance in hand
  let inHand = null;
  function take(one) {
    inHand?.article.classList.remove("is-in-hand");
    inHand = one;
    one?.article.classList.add("is-in-hand");
  }
  const nextOpen = () => instances.find((one) => !chosen(one));
  function goTo(one) {
    if (!one) { button.focus(); return; }
    take(one);
    one.radios[0].focus({ preventScroll: true });
    one.article.scrollIntoView({ block: "nearest" });
  }

  // -- what was chosen before stands again
  function restore() {
    const left = outbox.get(assignment);
    const fields = left?.fields ?? drafts.get(assignment)?.fields;
    if (!fields || (!left && isSame(values(), fields))) return false;
    for (const one of instances) {
      for (const radio of one.radios) radio.checked = radio.value === fields[`choice-${one.key}`];
      one.comment.value = fields[`comment-${one.key}`] ?? "";
    }
    if (left && !left.refused) return true;
    if (left) outbox.strike(left);
    drafts.set(assignment, { choice: null, comment: "", fields: values() });
    say(left ? `Not saved. ${left.refused}` : "Your choices from before are here again. They are not submitted yet.", left ? "bad" : "");
    return false;
  }

  // -- submitting
  function say(text, kind = "", link = null) {
    state.className = `state ${kind}`;
    state.replaceChildren(text);
    if (link) state.append(" ", link);
  }
  function complaint() {
    const open = nextOpen();
    if (open) return [`Choose for instance ${instances.indexOf(open) + 1}: all are submitted at once.`, open.radios[0]];
    const silent = instances.find((one) => needsComment(one) && !one.comment.value.trim());
    if (silent) return [`“${chosen(silent).dataset.label}” needs a comment that says why.`, silent.comment];
    return null;
  }
  function entry() {
    const waiting = outbox.get(assignment);
    const fields = values();
    if (waiting && !waiting.refused && isSame(fields, waiting.fields)) return waiting;
    const request_id = uuid();
    const before = waiting?.sent ?? [];
    for (const one of instances) fields[`shown-${one.key}`] = one.shown.value;
    const label = instances.map((one) => chosen(one).dataset.label).join(", ");
    return { assignment, address: form.action, label: main.dataset.label, choiceLabel: label,
      fields: { ...fields, seconds: String(seconds()), request_id, sent: before.join(",") }, sent: [...before, request_id] };
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
      drafts.remove(assignment);
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
    drafts.set(assignment, { choice: null, comment: "", fields: values() });
    const standing = answer.standing && instances.find((one) => one.docno === answer.standing.docno);
    if (standing) standing.shown.value = answer.standing.judgment;
    say(`Not saved. ${answer.detail ?? ""}`, "bad");
  }

  function again(result) {
    if (result.outcome === "login") {
      const link = document.createElement("a");
      link.href = result.answer.login;
      link.target = "_blank";
      link.textContent = "Log in in a new tab";
      say("Not saved: you are logged out. Your choices are kept here.", "bad", link);
    } else {
      const what = result.status ? "the server had a problem" : "no connection";
      say(`Not saved yet: ${what}. Your choices are kept here and sent again by themselves.`, "bad");
    }
    timer = setTimeout(retry, outbox.wait(tries++));
  }
  // Only what was submitted is sent again: a choice that changed meanwhile waits for its own Submit.
  function retry() {
    const waiting = outbox.get(assignment);
    if (waiting && isSame(values(), waiting.fields)) submit();
  }

  form.addEventListener("submit", (event) => { event.preventDefault(); tries = 0; submit(); });
  for (const event of ["online", "focus", "storage"]) window.addEventListener(event, retry);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) retry(); });
  window.addEventListener("pageshow", (event) => { if (event.persisted) window.location.reload(); });

  // -- single keys: for the instance in hand, or the first without a choice
  const isTyping = (element) => element.matches('textarea, select, input:not([type="radio"]), [contenteditable]');
  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing || isTyping(event.target)) return;
    const one = inHand ?? nextOpen() ?? instances[0];
    const radio = one?.radios.find((each) => each.dataset.key?.toLowerCase() === event.key.toLowerCase());
    if (radio && !radio.matches(":disabled")) {
      event.preventDefault();
      radio.checked = true;
      changed(one);
      if (needsComment(one) && !one.comment.value.trim()) one.comment.focus();
      else goTo(nextOpen());
    } else if (event.key === "Enter" && !event.target.closest("a, button, summary, form")) {
      event.preventDefault();
      form.requestSubmit();
    }
  }
  if (main.dataset.shortcuts !== undefined) document.addEventListener("keydown", pressed);

  const isLeft = button.disabled ? false : restore();
  for (const one of instances) show(one);
  if (isLeft) submit();
  take(nextOpen() ?? instances[0]);
  document.getElementById("document-panel").focus({ preventScroll: true });
})();
