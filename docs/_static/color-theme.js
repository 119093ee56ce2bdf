// Runs before the page is painted, so that a chosen theme does not flash.
document.body.dataset.theme = localStorage.getItem("theme") || "auto";
