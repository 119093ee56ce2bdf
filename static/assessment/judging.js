// The judging page: keys, drafts, and a Submit that loses nothing. Without this script the form works as a plain one.
//
// A page asks for one answer, or for one answer for each formula instance of a unit (`data-instances` on main). An
// answer is a choice with its comment. The fields of an answer end in its suffix: none, or "-17" for instance 17.
// The script sets `data-judging="ready"` on the html element when the page takes keys and clicks. It runs for each task.
window.assay.eachTask((main, signal) => {
  "use strict";
  const { outbox, drafts, questions, formFrame, gettext } = window.assay;
  const form = document.getElementById("judgment");
  const button = document.getElementById("submit");
  const state = document.getElementById("state");
  const meaning = document.getElementById("meaning");
  const hasKeys = main.dataset.shortcuts !== undefined && !matchMedia("(pointer: coarse)").matches;
  const hasKeyOfChoice = hasKeys && main.querySelector("[data-key]") !== null; // a protocol may have no shortcuts
  const gradeSubmits = main.dataset.gradeSubmits !== undefined; // one key or click, if nothing else is asked
  const keyHint = hasKeyOfChoice ? meaning.dataset.withKeys : meaning.textContent.trim();
  const hint = gradeSubmits ? meaning.dataset.submits : keyHint;
  const enterKey = button.querySelector("kbd");
  const { task } = main.dataset;
  const isPreview = main.dataset.preview !== undefined; // try the form and its keys; nothing is kept
  const hasInstances = main.dataset.instances !== undefined;
  const texts = hasInstances
    ? {
        restored: gettext("Your choices from before are here again. They are not submitted yet."),
        loggedOut: gettext("Not saved: you are logged out. Your choices are kept here."),
        broken: gettext(
          "Not saved yet: the server had a problem. Your choices are kept here and sent again automatically.",
        ),
        offline: gettext(
          "Not saved yet: no connection. Your choices are kept here and sent again automatically.",
        ),
      }
    : {
        restored: gettext("Your choice from before is here again. It is not submitted yet."),
        loggedOut: gettext("Not saved: you are logged out. Your choice is kept here."),
        broken: gettext(
          "Not saved yet: the server had a problem. Your choice is kept here and sent again automatically.",
        ),
        offline: gettext(
          "Not saved yet: no connection. Your choice is kept here and sent again automatically.",
        ),
      };

  // -- the answers of the page
  const answers = [...document.querySelectorAll(".choices")].map((fieldset) => {
    const suffix = fieldset.dataset.suffix ?? "";
    const comment = form.elements[`comment${suffix}`];
    const answer = {
      suffix,
      comment,
      fieldset,
      article: fieldset.closest(".instance"),
      radios: [...fieldset.querySelectorAll('input[type="radio"]')],
      shown: form.elements[`shown${suffix}`],
      commentState: comment.parentElement.querySelector(".optional"),
    };
    answer.questions = questions(main, answer, () => changed(answer));
    return answer;
  });
  // The frame of a form, which says when its answers are ready to be submitted.
  const unasked = () =>
    say(gettext("The form tried to submit by itself. Check your answers, then submit them."), "bad");
  const missing = (name) =>
    say(gettext("The form requires “{name}”, and does not show it.", { name }), "bad");
  const frame = formFrame?.(
    main,
    { changed: () => changed(answers[0]), submitted: () => submit(), unasked, missing },
    signal,
  );
  const chosen = (answer) => answer.radios.find((radio) => radio.checked);
  const nextOpen = () => answers.find((answer) => !chosen(answer) || answer.questions.hasOpen());
  const needsComment = (answer) => chosen(answer)?.dataset.needsComment !== undefined;
  const lacksComment = (answer) => needsComment(answer) && !answer.comment.value.trim();
  const isGraded = (answer) => !chosen(answer)?.closest(".is-other"); // only then questions are asked
  const labelOf = (radio) => document.querySelector(`label[for="${radio.id}"]`);
  const values = (clean = (text) => text.trim()) =>
    Object.fromEntries(
      answers.flatMap((answer) => [
        [`choice${answer.suffix}`, chosen(answer)?.value ?? ""],
        [`comment${answer.suffix}`, clean(answer.comment.value)],
        ...Object.entries(answer.questions.values()),
        ...Object.entries(frame?.values() ?? {}),
      ]),
    );
  const isOnPage = (fields) =>
    Object.entries(values()).every(([name, value]) => value === (fields[name] ?? ""));

  function say(text, kind = "", link = null) {
    state.className = `state ${kind}`;
    state.replaceChildren(text);
    if (link) state.append(" ", link);
  }
  function showMeaning() {
    const radio = hasInstances ? null : chosen(answers[0]);
    meaning.textContent = radio ? labelOf(radio).title : hint;
  }
  function show(answer) {
    const isNeeded = needsComment(answer);
    answer.commentState.textContent = isNeeded ? gettext("required: say why") : gettext("optional");
    answer.commentState.classList.toggle("is-required", isNeeded);
    answer.comment.toggleAttribute("required", isNeeded);
    answer.comment.setAttribute("aria-required", String(isNeeded));
    answer.questions.show();
  }
  function changed(answer) {
    saveDraft();
    hold();
    show(answer);
    showMeaning();
  }

  // -- the current answer: single keys are for it
  let current = null;
  function makeCurrent(answer) {
    current?.article?.classList.remove("is-current");
    current = answer;
    current?.article?.classList.add("is-current");
  }
  function goToNextOpen() {
    const answer = nextOpen();
    if (!answer) {
      button.focus();
      return;
    }
    makeCurrent(answer);
    if (!answer.questions.goToOpen()) answer.radios[0].focus({ preventScroll: true });
    answer.article.scrollIntoView({ block: "nearest" });
  }
  // Ctrl+Enter is no single key: it works, and is shown, also if these are switched off.
  function showEnterKey(name, isShown) {
    enterKey.textContent = name;
    enterKey.hidden = !isShown;
  }
  function listen(answer) {
    for (const radio of answer.radios) {
      const label = labelOf(radio);
      const showDefinition = () => {
        meaning.textContent = label.title;
      };
      radio.addEventListener("change", () => changed(answer));
      radio.addEventListener("focus", () => makeCurrent(answer));
      if (hasInstances) radio.addEventListener("focus", showDefinition);
      // A click on the radio itself may be a screen reader's, or an arrow key's.
      label.addEventListener("click", () => setTimeout(() => submitGrade(answer)));
      label.addEventListener("mouseenter", showDefinition);
      label.addEventListener("mouseleave", showMeaning);
    }
    answer.comment.addEventListener("input", () => changed(answer));
    answer.comment.addEventListener("focus", () => {
      makeCurrent(answer);
      showEnterKey("Ctrl+Enter", true);
    });
    answer.comment.addEventListener("blur", () => {
      showEnterKey("Enter", main.dataset.shortcuts !== undefined);
    });
    answer.comment.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      form.requestSubmit();
    });
    answer.article?.addEventListener("click", () => makeCurrent(answer));
  }

  // -- single keys
  const isTyping = (element) =>
    element.matches('textarea, select, input:not([type="radio"], [type="checkbox"]), [contenteditable]');
  const isCommand = (event) =>
    event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing;
  function pressed(event) {
    if (isCommand(event)) return;
    const isElsewhere = !event.target.closest("a, button, summary, form");
    const isAnswer = event.target.matches(".question :is(button, input), .choices input");
    const isEnter = event.key === "Enter" && (isElsewhere || isAnswer) && !event.target.matches("textarea");
    if (isTyping(event.target) && !isEnter) return;
    if (isEnter && !goesOn()) form.requestSubmit();
    if (isEnter || takes(event.key.toLowerCase())) event.preventDefault();
  }
  // Enter goes on to an answer that is missing elsewhere; it submits if there is none, or to say that this one is missing.
  function goesOn() {
    const answer = current ?? answers[0];
    return !frame && Boolean(chosen(answer)) && answer.questions.goToMissing();
  }
  // True if the key chooses a grade or answers a question.
  function takes(key) {
    const answer = current ?? nextOpen() ?? answers[0];
    const radio = answer.radios.find((each) => each.dataset.key?.toLowerCase() === key);
    if (radio && !radio.matches(":disabled")) {
      choose(answer, radio);
      return true;
    }
    const isAnswered = answer.questions.press(key);
    if (isAnswered && hasInstances && !answer.questions.hasOpen()) goToNextOpen();
    return isAnswered;
  }
  function choose(answer, radio) {
    radio.checked = true;
    changed(answer);
    if (lacksComment(answer)) answer.comment.focus();
    else if (answer.questions.goToOpen()) return;
    else if (hasInstances) goToNextOpen();
    else radio.focus({ preventScroll: true });
    submitGrade(answer);
  }
  function submitGrade(answer) {
    if (gradeSubmits && chosen(answer) && !lacksComment(answer)) form.requestSubmit();
  }

  // -- restoring what was entered before
  const saveDraft = () => isPreview || drafts.set(task, { fields: values((text) => text) });
  function fill(fields) {
    for (const { suffix, radios, comment, questions: own } of answers) {
      for (const radio of radios) radio.checked = radio.value === fields[`choice${suffix}`];
      comment.value = fields[`comment${suffix}`] ?? "";
      own.fill(fields);
    }
    frame?.fill(fields);
  }
  function restoreDraft() {
    const fields = drafts.get(task)?.fields ?? {};
    if (!Object.values(fields).some(Boolean) || isOnPage(fields)) return;
    fill(fields);
    say(texts.restored);
  }
  // True if there is a submission to send now. A refused one waits for the assessor, who reads the reason first.
  function restore() {
    const unsent = outbox.get(task);
    if (unsent) fill(unsent.fields);
    else restoreDraft();
    if (!unsent?.refused) return Boolean(unsent);
    outbox.remove(unsent);
    saveDraft();
    say(gettext("Not saved. {reason}", { reason: unsent.refused }), "bad");
    return false;
  }

  // -- what a submission contains
  // crypto.randomUUID exists only on https and localhost.
  function uuid() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 15) | 64;
    bytes[8] = (bytes[8] & 63) | 128;
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }
  // The seconds for which the page was visible.
  function stopwatch() {
    let seen = 0;
    let since = document.hidden ? null : performance.now();
    document.addEventListener(
      "visibilitychange",
      () => {
        if (document.hidden && since !== null) {
          seen += performance.now() - since;
          since = null;
        }
        if (!document.hidden && since === null) since = performance.now();
      },
      { signal },
    );
    return () => Math.round((seen + (since === null ? 0 : performance.now() - since)) / 1000);
  }
  const seconds = stopwatch();
  // Nothing, or what is missing and the element to go to.
  function complaint() {
    const open = answers.find((answer) => !chosen(answer));
    if (open)
      return [
        hasInstances
          ? gettext("Choose for instance {n}: all are submitted at once.", { n: answers.indexOf(open) + 1 })
          : gettext("Choose a grade, or one of the other choices."),
        open.fieldset, // not a grade, which would look chosen
      ];
    const unanswered = answers.find((answer) => answer.questions.hasOpen());
    if (unanswered) return unanswered.questions.complaint();
    const silent = answers.find(lacksComment);
    if (!silent) return silent;
    const choice = chosen(silent).dataset.label;
    return [gettext("“{choice}” needs a comment that says why.", { choice }), silent.comment];
  }
  // The entry of the outbox that waits already, if the page still says the same; otherwise a new one.
  function entry() {
    const waiting = outbox.get(task);
    if (waiting && !waiting.refused && isOnPage(waiting.fields)) return waiting;
    const request_id = uuid();
    const before = waiting?.sent ?? [];
    const shown = Object.fromEntries(answers.map((answer) => [`shown${answer.suffix}`, answer.shown.value]));
    const sending = { seconds: String(seconds()), request_id, sent: before.join(",") };
    return {
      task,
      address: form.action,
      label: main.dataset.label,
      choiceLabel: answers.map((answer) => chosen(answer).dataset.label).join(", "),
      fields: { ...values(), ...shown, ...sending },
      sent: [...before, request_id],
    };
  }

  // -- submitting: through the outbox, and again until it is saved
  let isSending = false;
  let tries = 0;
  let timer = 0;

  function setBusy(isBusy) {
    isSending = isBusy;
    button.classList.toggle("is-busy", isBusy);
    button.setAttribute("aria-disabled", String(isBusy));
  }
  async function submit() {
    if (isSending || button.disabled) return;
    const missing = complaint();
    if (missing) {
      say(missing[0], "bad");
      missing[1].focus();
      return;
    }
    clearTimeout(timer);
    const mine = entry();
    outbox.keep(mine);
    setBusy(true);
    const slow = setTimeout(() => say(gettext("Saving…")), 400);
    const result = await outbox.send(mine, { withPage: true });
    clearTimeout(slow);
    if (result.outcome === "saved") {
      say(gettext("Saved."));
      window.assay.goOn(result.answer);
      return;
    }
    setBusy(false);
    if (result.outcome === "refused") refused(mine, result.answer);
    else sendLater(result);
  }
  // The page keeps what was entered, and takes over which judgment the server has instead.
  function refused(mine, reply) {
    outbox.remove(mine);
    say(gettext("Not saved. {reason}", { reason: reply.detail ?? "" }), "bad");
    saveDraft();
    const { current: stored, errors } = reply;
    const judged =
      stored && answers.find(({ article }) => !article || article.dataset.docno === stored.docno);
    if (judged) judged.shown.value = stored.judgment;
    answers.find(({ suffix }) => errors?.[`comment${suffix}`])?.comment.focus();
    for (const answer of answers) answer.questions.goTo(errors);
  }
  function sendLater(result) {
    if (result.outcome === "login") {
      const link = document.createElement("a");
      link.href = result.answer.login;
      link.target = "_blank";
      link.textContent = gettext("Log in in a new tab");
      say(texts.loggedOut, "bad", link);
    } else {
      say(result.status ? texts.broken : texts.offline, "bad");
    }
    timer = setTimeout(retry, outbox.wait(tries++));
  }
  // Only what was submitted is sent again: a choice that changed meanwhile waits for its own Submit.
  function retry() {
    const waiting = outbox.get(task);
    if (waiting && isOnPage(waiting.fields)) submit();
  }
  // The page has changed: what waits is not sent any more.
  function hold() {
    if (isSending || isPreview) return;
    const isWaiting = Boolean(outbox.get(task));
    if (isWaiting) clearTimeout(timer);
    say(isWaiting ? gettext("Not saved. Submit to save what you have chosen.") : "", isWaiting ? "bad" : "");
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    tries = 0;
    if (!frame || !isGraded(answers[0])) submit();
    else if (!frame.submit()) say(gettext("The form is still loading. Wait, or reload the page."), "bad");
  });
  for (const event of ["online", "focus", "storage"]) window.addEventListener(event, retry, { signal });
  document.addEventListener(
    "visibilitychange",
    () => {
      if (!document.hidden) retry();
    },
    { signal },
  );
  window.addEventListener(
    "pageshow",
    (event) => {
      if (event.persisted) window.location.reload();
    },
    { signal },
  );
  signal.addEventListener("abort", () => clearTimeout(timer));
  if (main.dataset.shortcuts !== undefined) document.addEventListener("keydown", pressed, { signal });
  for (const answer of answers) listen(answer);

  const mustSubmit = !button.disabled && restore();
  for (const answer of answers) show(answer);
  showMeaning();
  outbox.show();
  makeCurrent(nextOpen() ?? answers[0]);
  document.getElementById("document-panel").focus({ preventScroll: true });
  document.documentElement.dataset.judging = "ready";
  if (mustSubmit) submit();
});
