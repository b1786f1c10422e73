// Runs before the first paint; a file, since the policy of the page allows no inline script.
try {
  const chosen = JSON.parse(localStorage.getItem("sluice-theme") ?? '"system"');
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // without storage the page follows the system
}
// what index.html shows until the page is there belongs to a new chat
if (!/^(#\/?(chat\/?)?)?$/.test(location.hash)) document.documentElement.dataset.boot = "empty";
