import "./styles.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { HostedGuard } from "../demo/hosted/guard.js";
import { Shell } from "./shell.js";
import { isHosted } from "./state.js";

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    {isHosted ? (
      <HostedGuard>
        <Shell />
      </HostedGuard>
    ) : (
      <Shell />
    )}
  </StrictMode>,
);
