// The outbox: judgments that are not saved yet. Each is stored on this computer before it is sent, and removed when the
// server has saved it. Sending a judgment again is harmless, because the server recognizes its request_id. On a shared
// computer, the script ignores the judgments of other people.
(() => {
  "use strict";
  window.assay ??= {};
  const { assay } = window;
  const { gettext } = assay;
  const person = document.querySelector('meta[name="assay-person"]')?.content ?? "";
  const PREFIX = `assay.outbox.${person}.`;
  const DRAFT = `assay.draft.${person}.`;
  const WAITS = [2, 4, 8, 15, 30]; // seconds between tries
  const memory = new Map(); // used if the browser stores nothing

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
        /* memory keeps it while the page is open */
      }
    },
    remove(key) {
      memory.delete(key);
      try {
        localStorage.removeItem(key);
      } catch {
        /* it was not stored */
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

  // With `withPage`, the answer contains the page of the next task (RFC 7240).
  async function post(entry, { withPage } = {}) {
    const headers = { Accept: "application/json", "X-CSRFToken": token() };
    if (withPage) headers.Prefer = "return=representation";
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

  // A new login changes the CSRF token. Any page of the site sets the new one.
  async function postWithNewToken(entry, options) {
    try {
      await fetch(entry.address, { credentials: "same-origin", headers: { Accept: "text/html" } });
    } catch {
      return { status: 0, answer: {} };
    }
    return post(entry, options);
  }

  // Send once. The outcome is saved, refused (the server does not accept it as it is), login, or waiting.
  async function send(entry, options) {
    let { status, answer } = await post(entry, options);
    if (status === 403) ({ status, answer } = await postWithNewToken(entry, options));
    if (status === 409 && entry.sent.includes(answer.current?.request_id)) {
      // The server saved an earlier try of this page, but its answer was lost. This submission replaces it.
      entry.fields.shown = String(answer.current.judgment);
      keep(entry);
      ({ status, answer } = await post(entry, options));
    }
    if (status === 200 && answer.judgment) {
      remove(entry);
      return { outcome: "saved", answer };
    }
    if (status === 401) return { outcome: "login", answer };
    if (status === 409 || status === 422) return { outcome: "refused", answer };
    if (status === 404)
      return {
        outcome: "refused",
        answer: { detail: gettext("This task is not yours. Is another person logged in here?") },
      };
    return { outcome: "waiting", answer, status };
  }

  const key = (task) => PREFIX + task;
  const keep = (entry) => {
    store.set(key(entry.task), JSON.stringify(entry));
    showUnsent();
  };
  const get = (task) => read(key(task));
  // The draft goes too, unless it differs from what was sent.
  const isSent = (draft, entry) =>
    Object.entries(draft?.fields ?? {}).every(([name, value]) => value.trim() === entry.fields[name]);
  function remove(entry) {
    if (get(entry.task)?.fields.request_id === entry.fields.request_id) {
      store.remove(key(entry.task));
      if (isSent(read(DRAFT + entry.task), entry)) store.remove(DRAFT + entry.task);
    }
    showUnsent();
  }
  const all = () =>
    store
      .keys()
      .filter((name) => name.startsWith(PREFIX))
      .map(read)
      .filter(Boolean);

  // What other pages left unsent is shown in #outbox, if the page has it, and sent again until it is saved.
  const taskOfPage = () => document.querySelector("main")?.dataset.task ?? "";
  const others = () => all().filter((entry) => String(entry.task) !== taskOfPage());
  let isFlushing = false;
  let tries = 0;
  let timer = 0;

  async function flush() {
    clearTimeout(timer);
    if (isFlushing || !person) return;
    isFlushing = true;
    let isLeft = false;
    for (const entry of others().filter(({ refused }) => !refused)) {
      const result = await send(entry);
      if (result.outcome === "refused")
        keep({ ...entry, refused: result.answer.detail ?? gettext("Not accepted.") });
      isLeft ||= result.outcome === "login" || result.outcome === "waiting";
    }
    isFlushing = false;
    showUnsent();
    tries = isLeft ? tries + 1 : 0;
    if (isLeft) timer = setTimeout(flush, 1000 * WAITS[Math.min(tries, WAITS.length) - 1]);
  }

  function showUnsent() {
    const place = document.getElementById("outbox");
    if (!place) return;
    const unsent = others();
    place.hidden = !unsent.length;
    place.replaceChildren(...unsent.map(line));
  }

  function line(entry) {
    const row = document.createElement("p");
    row.className = "note is-unsaved";
    const link = document.createElement("a");
    link.href = entry.address;
    link.textContent = entry.label;
    const reason = entry.refused ?? gettext("It is kept on this computer and sent again automatically.");
    row.append(gettext("Not saved yet:"), " ", link, ` · ${entry.choiceLabel}. ${reason}`);
    return row;
  }

  assay.outbox = {
    keep,
    get,
    remove,
    send,
    show: showUnsent,
    wait: (n) => 1000 * WAITS[Math.min(n, WAITS.length - 1)],
  };
  assay.drafts = {
    get: (task) => read(DRAFT + task),
    set: (task, draft) => store.set(DRAFT + task, JSON.stringify(draft)),
  };

  for (const event of ["online", "focus"]) window.addEventListener(event, flush);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) flush();
  });
  showUnsent();
  flush();
})();
