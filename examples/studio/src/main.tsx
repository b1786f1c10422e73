import "./styles.css";
import { GatewayProvider } from "@sluice/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { HostedGuard } from "../demo/hosted/guard.js";
import { client } from "./client.js";
import { Shell } from "./shell.js";

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <GatewayProvider client={client}>
      <HostedGuard>
        <Shell />
      </HostedGuard>
    </GatewayProvider>
  </StrictMode>,
);
