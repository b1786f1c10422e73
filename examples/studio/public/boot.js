// Runs before the first paint. The content policy allows no inline script.
let chosen;
try {
  chosen = JSON.parse(localStorage.getItem("sluice-theme"));
} catch {
  // without storage the page follows the system
}
const isDark =
  chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
document.documentElement.classList.toggle("dark", isDark);
// the headline of index.html belongs to a new chat
if (!/^(#\/?(chat\/?)?)?$/.test(location.hash)) document.documentElement.dataset.boot = "empty";
