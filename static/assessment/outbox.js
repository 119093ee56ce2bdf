// Judgments on their way. Each is written to this computer before it is sent, and struck out when the server has it;
// sending one again is harmless, because the server knows it by its request_id. Other people's on a shared computer
// are left alone.
(() => {
  "use strict";
  window.assay ??= {};
  const { assay } = window;
  const person = document.querySelector('meta[name="assay-person"]')?.content ?? "";
  const PREFIX = `assay.outbox.${person}.`;
  const DRAFT = `assay.draft.${person}.`;
  const WAITS = [2, 4, 8, 15, 30]; // seconds between tries
  const memory = new Map(); // where the browser keeps nothing for us

  const store = {
    get(key) {
      try {
        return localStorage.getItem(key) ?? memory.get(key) ?? null;
      } catch {
        return memory.get(key) ?? null;
      }
    },
    set(key, value) {
      memory.set(key, value);
      try {
        localStorage.setItem(key, value);
      } catch {
        /* memory has it while the page is open */
      }
    },
    remove(key) {
      memory.delete(key);
      try {
        localStorage.removeItem(key);
      } catch {
        /* it was never there */
      }
    },
    keys() {
      try {
        return [...new Set([...Object.keys(localStorage), ...memory.keys()])];
      } catch {
        return [...memory.keys()];
      }
    },
  };
  const read = (key) => {
    try {
      return JSON.parse(store.get(key));
    } catch {
      return null;
    }
  };

  const cookie = (name) =>
    document.cookie
      .split("; ")
      .find((part) => part.startsWith(`${name}=`))
      ?.slice(name.length + 1);
  const token = () =>
    cookie("csrftoken") ?? document.querySelector('input[name="csrfmiddlewaretoken"]')?.value ?? "";

  async function post(entry) {
    const headers = { Accept: "application/json", "X-CSRFToken": token() };
    const body = new URLSearchParams(entry.fields);
    const options = {
      method: "POST",
      body,
      headers,
      credentials: "same-origin",
      signal: AbortSignal.timeout(20000),
    };
    try {
      const response = await fetch(entry.address, options);
      const isJson = (response.headers.get("Content-Type") ?? "").includes("json");
      return { status: response.status, answer: isJson ? await response.json() : {} };
    } catch {
      return { status: 0, answer: {} };
    }
  }

  // A new login changes the token that a form must show; reading any page of ours brings the new one.
  async function renewed(entry) {
    try {
      await fetch(entry.address, { credentials: "same-origin", headers: { Accept: "text/html" } });
    } catch {
      return { status: 0, answer: {} };
    }
    return post(entry);
  }

  // Send once. The result says what became of it: saved, refused (it will not be taken as it is), login, or waiting.
  async function send(entry) {
    let { status, answer } = await post(entry);
    if (status === 403) ({ status, answer } = await renewed(entry));
    if (status === 409 && entry.sent.includes(answer.standing?.request_id)) {
      // The answer to an earlier try of ours was lost on the way: what stands is our own, and this changes it.
      entry.fields.shown = String(answer.standing.judgment);
      keep(entry);
      ({ status, answer } = await post(entry));
    }
    if (status === 200 && answer.judgment) {
      strike(entry);
      return { outcome: "saved", answer };
    }
    if (status === 401) return { outcome: "login", answer };
    if (status === 409 || status === 422) return { outcome: "refused", answer };
    if (status === 404)
      return {
        outcome: "refused",
        answer: { detail: "This task is not yours: is somebody else logged in here?" },
      };
    return { outcome: "waiting", answer, status };
  }

  const key = (task) => PREFIX + task;
  const keep = (entry) => {
    store.set(key(entry.task), JSON.stringify(entry));
    tell();
  };
  const get = (task) => read(key(task));
  function strike(entry) {
    if (get(entry.task)?.fields.request_id === entry.fields.request_id) {
      store.remove(key(entry.task));
      const draft = read(DRAFT + entry.task);
      if (draft?.choice === entry.fields.choice && draft.comment.trim() === entry.fields.comment)
        store.remove(DRAFT + entry.task);
    }
    tell();
  }
  const all = () =>
    store
      .keys()
      .filter((name) => name.startsWith(PREFIX))
      .map(read)
      .filter(Boolean);

  // What other pages left unsent: shown where the page has a place for it, and sent again until it is saved.
  const here = () => document.querySelector("main")?.dataset.task ?? "";
  const others = () => all().filter((entry) => String(entry.task) !== here());
  let isFlushing = false;
  let tries = 0;
  let timer = 0;

  async function flush() {
    clearTimeout(timer);
    if (isFlushing || !person) return;
    isFlushing = true;
    let isLeft = false;
    for (const entry of others().filter((one) => !one.refused)) {
      const result = await send(entry);
      if (result.outcome === "refused") keep({ ...entry, refused: result.answer.detail ?? "Not taken." });
      isLeft ||= result.outcome === "login" || result.outcome === "waiting";
    }
    isFlushing = false;
    tell();
    tries = isLeft ? tries + 1 : 0;
    if (isLeft) timer = setTimeout(flush, 1000 * WAITS[Math.min(tries, WAITS.length) - 1]);
  }

  function tell() {
    const place = document.getElementById("outbox");
    if (!place) return;
    const left = others();
    place.hidden = !left.length;
    place.replaceChildren(...left.map(line));
  }

  function line(entry) {
    const row = document.createElement("p");
    row.className = "note is-unsaved";
    const link = document.createElement("a");
    link.href = entry.address;
    link.textContent = entry.label;
    const why = entry.refused ?? "It is kept on this computer and sent again.";
    row.append("Not saved yet: ", link, ` · ${entry.choiceLabel}. ${why}`);
    return row;
  }

  assay.outbox = { keep, get, strike, send, flush, wait: (n) => 1000 * WAITS[Math.min(n, WAITS.length - 1)] };
  assay.drafts = {
    get: (task) => read(DRAFT + task),
    set: (task, draft) => store.set(DRAFT + task, JSON.stringify(draft)),
    remove: (task) => store.remove(DRAFT + task),
  };

  for (const event of ["online", "focus"]) window.addEventListener(event, flush);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) flush();
  });
  tell();
  flush();
})();
