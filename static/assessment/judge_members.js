// The judging page of a unit with several instances: a choice for each, one Submit for all, and nothing lost.
// Without this script the form works as a plain one.
(() => {
  "use strict";
  const { outbox, drafts } = window.assay;
  const main = document.getElementById("main");
  const form = document.getElementById("judgment");
  const task = main.dataset.task;
  const button = document.getElementById("submit");
  const meaning = document.getElementById("meaning");
  const hint = meaning.textContent;

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
  const values = () =>
    Object.fromEntries(
      instances.flatMap((one) => [
        [`choice-${one.key}`, chosen(one)?.value ?? ""],
        [`comment-${one.key}`, one.comment.value.trim()],
      ]),
    );
  const isSame = (one, other) => Object.keys(one).every((name) => one[name] === (other[name] ?? ""));
  function show(one) {
    one.optional.textContent = needsComment(one) ? "required: say why" : "optional";
    one.optional.classList.toggle("is-required", needsComment(one));
    one.comment.toggleAttribute("required", needsComment(one));
    one.article.classList.toggle("is-answered", Boolean(chosen(one)));
  }
  function changed(one) {
    drafts.set(task, { choice: null, comment: "", fields: values() });
    const waiting = outbox.get(task);
    hold(Boolean(waiting));
    show(one);
  }
  for (const one of instances) {
    for (const radio of one.radios) {
      const label = document.querySelector(`label[for="${radio.id}"]`);
      radio.addEventListener("change", () => changed(one));
      radio.addEventListener("focus", () => {
        take(one);
        meaning.textContent = label.title;
      });
      label.addEventListener("mouseenter", () => {
        meaning.textContent = label.title;
      });
      label.addEventListener("mouseleave", () => {
        meaning.textContent = hint;
      });
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
    if (!one) {
      button.focus();
      return;
    }
    take(one);
    one.radios[0].focus({ preventScroll: true });
    one.article.scrollIntoView({ block: "nearest" });
  }

  // -- restore what was chosen before
  function restore() {
    const left = outbox.get(task);
    const fields = left?.fields ?? drafts.get(task)?.fields;
    if (!fields || (!left && isSame(values(), fields))) return false;
    for (const one of instances) {
      for (const radio of one.radios) radio.checked = radio.value === fields[`choice-${one.key}`];
      one.comment.value = fields[`comment-${one.key}`] ?? "";
    }
    if (left && !left.refused) return true;
    keepAsDraft(left);
    return false;
  }
  // A refused submission is sent again only when the assessor, who has read the reason, submits it again.
  function keepAsDraft(left) {
    if (left) outbox.strike(left);
    drafts.set(task, { choice: null, comment: "", fields: values() });
    if (left) say(`Not saved. ${left.refused}`, "bad");
    else say("Your choices from before are here again. They are not submitted yet.", "");
  }

  // -- submitting
  function complaint() {
    const open = nextOpen();
    if (open)
      return [
        `Choose for instance ${instances.indexOf(open) + 1}: all are submitted at once.`,
        open.radios[0],
      ];
    const silent = instances.find((one) => needsComment(one) && !one.comment.value.trim());
    if (silent) return [`“${chosen(silent).dataset.label}” needs a comment that says why.`, silent.comment];
    return null;
  }
  function entry(seconds, uuid) {
    const waiting = outbox.get(task);
    const fields = values();
    if (waiting && !waiting.refused && isSame(fields, waiting.fields)) return waiting;
    const request_id = uuid();
    const before = waiting?.sent ?? [];
    for (const one of instances) fields[`shown-${one.key}`] = one.shown.value;
    const label = instances.map((one) => chosen(one).dataset.label).join(", ");
    return {
      task,
      address: form.action,
      label: main.dataset.label,
      choiceLabel: label,
      fields: { ...fields, seconds, request_id, sent: before.join(",") },
      sent: [...before, request_id],
    };
  }
  function refused(_mine, answer) {
    drafts.set(task, { choice: null, comment: "", fields: values() });
    const standing = answer.standing && instances.find((one) => one.docno === answer.standing.docno);
    if (standing) standing.shown.value = answer.standing.judgment;
  }

  const isAsSubmitted = (waiting) => isSame(values(), waiting.fields);
  const saved = () => drafts.remove(task);
  const page = { complaint, entry, isAsSubmitted, saved, refused, kept: "Your choices are" };
  const { say, submit, hold } = window.assay.submission(form, task, page);

  // -- single keys: for the instance in hand, or the first without a choice
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
