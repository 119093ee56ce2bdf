// Times of pages: adds the reader's own time to each instant, and keeps the time left up to date.
"use strict";

const MINUTE = 60;
const UNITS = [
  [1440, "day"],
  [60, "hour"],
  [1, "minute"],
];

function own(moment) {
  const shown = moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
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
    if (n > 0 && started <= 2) parts.push(`${n.toLocaleString("en-US")} ${name}${n === 1 ? "" : "s"}`);
  }
  return parts.join(" ") || "less than a minute";
}

function count() {
  for (const place of document.querySelectorAll("[data-until]")) {
    const seconds = (new Date(place.dataset.until) - Date.now()) / 1000;
    place.textContent = seconds > 0 ? left(seconds) : "time is over: reload the page";
  }
}

for (const time of document.querySelectorAll("time[data-local]")) {
  const note = document.createElement("div");
  note.className = "form-text own-time";
  note.textContent = `your time: ${own(new Date(time.dateTime))}`;
  time.after(note);
}
count();
setInterval(count, 15_000);
