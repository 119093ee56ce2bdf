// Times of pages: adds the reader's own time to each instant, and keeps the time left up to date.
"use strict";

const MINUTE = 60;
const UNITS = [
  [1440, "day"],
  [60, "hour"],
  [1, "minute"],
];
const { gettext } = window.assay;
const language = document.documentElement.lang;

function own(moment) {
  const shown = moment.toLocaleString("sv", { dateStyle: "short", timeStyle: "short" }); // 2026-05-02 17:29, as elsewhere
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return zone ? `${shown} ${zone}` : shown;
}

// as web.times.time_left
function left(seconds) {
  let minutes = Math.floor(seconds / MINUTE);
  const parts = [];
  let started = 0;
  for (const [size, name] of UNITS) {
    const n = Math.floor(minutes / size);
    minutes -= n * size;
    if (n > 0 || started > 0) started += 1;
    const words = new Intl.NumberFormat(`${language}-u-nu-latn`, {
      style: "unit",
      unit: name,
      unitDisplay: "long",
    });
    if (n > 0 && started <= 2) parts.push(words.format(n));
  }
  return parts.join(" ") || gettext("less than a minute");
}

function count() {
  for (const element of document.querySelectorAll("[data-until]")) {
    const seconds = (new Date(element.dataset.until) - Date.now()) / 1000;
    element.textContent = seconds > 0 ? left(seconds) : gettext("time is over: reload the page");
  }
}

for (const time of document.querySelectorAll("time[data-local]")) {
  const moment = new Date(time.dateTime);
  if (!moment.getTimezoneOffset()) continue; // the page states it in UTC
  const note = document.createElement("div");
  note.className = "form-text own-time";
  note.textContent = gettext("your time: {time}", { time: own(moment) });
  time.after(note);
}
count();
setInterval(count, 15_000);
