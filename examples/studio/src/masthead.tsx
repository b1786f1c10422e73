import type { ReactNode } from "react";
import { ThemeToggle } from "./theme-toggle.js";

/** The bar on top: `leading`, the name, what the room below offers, and the theme. */
export function Masthead({ leading, children }: { leading?: ReactNode; children?: ReactNode }) {
  return (
    <header className="masthead">
      {leading}
      <h1 className="brand">
        <img src="/favicon.svg" alt="" width="24" height="24" />
        <span>
          Sluice <em>Studio</em>
        </span>
      </h1>
      {children}
      <ThemeToggle />
    </header>
  );
}
