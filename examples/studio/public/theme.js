// Before the first paint, so that a chosen theme does not flash in; a file, since the page allows no inline script.
try {
  const chosen = localStorage.getItem("sluice-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // no storage, no choice: the system's theme it is
}
