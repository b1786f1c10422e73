// Runs before the first paint, so that a chosen theme does not flash; a file, since the policy allows no inline script.
try {
  const chosen = JSON.parse(localStorage.getItem("sluice-theme") ?? '"system"');
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // without storage the page follows the system
}
