import { Monitor, Moon, Sun } from "lucide-react";
import { IconButton } from "../ui/button.js";
import { createKeptValue, useValue } from "../value.js";

const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];

/** The chosen theme. `public/boot.js` applies it before the first paint of the next visit. */
export const theme = createKeptValue<Theme>("sluice-theme", "system", (kept): kept is Theme =>
  themes.some((known) => known === kept),
);

theme.subscribe(() => {
  const chosen = theme.getSnapshot();
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
});

const looks = {
  system: { Icon: Monitor, label: "Theme: system" },
  light: { Icon: Sun, label: "Theme: light" },
  dark: { Icon: Moon, label: "Theme: dark" },
};

/** Chooses the next theme: system, light, dark. */
function nextTheme(): void {
  theme.set((chosen) => themes[(themes.indexOf(chosen) + 1) % themes.length] ?? "system");
}

/** The button of the theme. */
export function ThemeButton() {
  const { Icon, label } = looks[useValue(theme)];
  return (
    <IconButton label={label} onClick={nextTheme}>
      <Icon aria-hidden />
    </IconButton>
  );
}
