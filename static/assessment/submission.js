// A Submit that loses nothing, for every judging page: what it sends goes through the outbox, and again until it is saved.
// The page says what stands on it:
//   complaint()            nothing, or [what is missing, the element to go to]
//   entry(seconds, uuid)   what is to be sent: what waits already if that says the same
//   isAsSubmitted(waiting) whether the page still says what waits
//   refused(mine, answer)  takes in what the server has instead
//   kept                   how its choices are called where they are kept: "Your choice is"
(() => {
  "use strict";
  window.assay ??= {};
  const { outbox } = window.assay;

  // crypto.randomUUID is only there on https and localhost
  function uuid() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 15) | 64;
    bytes[8] = (bytes[8] & 63) | 128;
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }

  // the time that the page was looked at
  function stopwatch() {
    let seen = 0;
    let since = document.hidden ? null : performance.now();
    document.addEventListener("visibilitychange", () => {
      if (document.hidden && since !== null) {
        seen += performance.now() - since;
        since = null;
      }
      if (!document.hidden && since === null) since = performance.now();
    });
    return () => Math.round((seen + (since === null ? 0 : performance.now() - since)) / 1000);
  }

  window.assay.submission = (form, task, page) => {
    const button = document.getElementById("submit");
    const state = document.getElementById("state");
    const seconds = stopwatch();
    let isSending = false;
    let tries = 0;
    let timer = 0;

    function say(text, kind = "", link = null) {
      state.className = `state ${kind}`;
      state.replaceChildren(text);
      if (link) state.append(" ", link);
    }
    function busy(is) {
      isSending = is;
      button.classList.toggle("is-busy", is);
      button.setAttribute("aria-disabled", String(is));
    }

    async function submit() {
      if (isSending || button.disabled) return;
      const wrong = page.complaint();
      if (wrong) {
        say(wrong[0], "bad");
        wrong[1].focus();
        return;
      }
      clearTimeout(timer);
      const mine = page.entry(String(seconds()), uuid);
      outbox.keep(mine);
      busy(true);
      const slow = setTimeout(() => say("Saving…"), 400);
      const result = await outbox.send(mine);
      clearTimeout(slow);
      if (result.outcome === "saved") {
        page.saved?.();
        say("Saved.");
        window.location.assign(result.answer.next);
        return;
      }
      busy(false);
      if (result.outcome === "refused") {
        outbox.strike(mine);
        say(`Not saved. ${result.answer.detail ?? ""}`, "bad");
        page.refused(mine, result.answer);
      } else again(result);
    }

    function again(result) {
      if (result.outcome === "login") {
        const link = document.createElement("a");
        link.href = result.answer.login;
        link.target = "_blank";
        link.textContent = "Log in in a new tab";
        say(`Not saved: you are logged out. ${page.kept} kept here.`, "bad", link);
      } else {
        const what = result.status ? "the server had a problem" : "no connection";
        say(`Not saved yet: ${what}. ${page.kept} kept here and sent again without you.`, "bad");
      }
      timer = setTimeout(retry, outbox.wait(tries++));
    }
    // Only what was submitted is sent again: a choice that changed meanwhile waits for its own Submit.
    function retry() {
      const waiting = outbox.get(task);
      if (waiting && page.isAsSubmitted(waiting)) submit();
    }

    // What stands on the page has changed: what waits is not sent any more.
    function hold(isWaiting) {
      if (isSending) return;
      if (isWaiting) clearTimeout(timer);
      say(isWaiting ? "Not saved. Submit to save what you have chosen." : "", isWaiting ? "bad" : "");
    }

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      tries = 0;
      submit();
    });
    for (const event of ["online", "focus", "storage"]) window.addEventListener(event, retry);
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) retry();
    });
    window.addEventListener("pageshow", (event) => {
      if (event.persisted) window.location.reload();
    });
    return { say, submit, hold };
  };
})();
