import { useEffect, useState, useSyncExternalStore } from "react";
import { recall, remember } from "./stored.js";

const KEY = "sluice-theme";
const darkSystem = matchMedia("(prefers-color-scheme: dark)");

/** Follows the system until somebody presses it; `public/theme.js` applies the choice on the next visit. */
export function ThemeToggle() {
  const systemIsDark = useSyncExternalStore(watchSystem, () => darkSystem.matches);
  const [choice, setChoice] = useState(() => recall(KEY));
  const isDark = choice === undefined ? systemIsDark : choice === "dark";

  useEffect(() => {
    if (choice === undefined) return;
    document.documentElement.dataset.theme = choice;
    remember(KEY, choice);
  }, [choice]);

  return (
    <button
      type="button"
      className="quiet icon"
      aria-label="Dark theme"
      aria-pressed={isDark}
      title={isDark ? "Switch to the light theme" : "Switch to the dark theme"}
      onClick={() => setChoice(isDark ? "light" : "dark")}
    >
      <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
        <circle cx="10" cy="10" r="7.25" fill="none" stroke="currentColor" strokeWidth="1.5" />
        <path d="M10 2.75a7.25 7.25 0 0 1 0 14.5z" fill="currentColor" />
      </svg>
    </button>
  );
}

function watchSystem(onChange: () => void): () => void {
  darkSystem.addEventListener("change", onChange);
  return () => darkSystem.removeEventListener("change", onChange);
}
