// Runs before the first paint. The content policy allows no inline script.
try {
  const chosen = JSON.parse(localStorage.getItem("sluice-theme") ?? '"system"');
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // without storage the page follows the system
}
// the headline of index.html belongs to a new chat
if (!/^(#\/?(chat\/?)?)?$/.test(location.hash)) document.documentElement.dataset.boot = "empty";
