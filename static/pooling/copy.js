// The buttons "Copy link": each copies the field before it. Without this script, the field can be selected.
for (const button of document.querySelectorAll("[data-copies]")) {
  const field = button.previousElementSibling;
  button.hidden = false;
  button.addEventListener("click", async () => {
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      document.execCommand("copy"); // a page without HTTPS has no clipboard
    }
    button.textContent = "Copied";
  });
}
