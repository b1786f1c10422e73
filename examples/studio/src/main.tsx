import "./styles.css";
import { GatewayProvider } from "@sluice/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.js";
import { client } from "./client.js";

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <GatewayProvider client={client}>
      <App />
    </GatewayProvider>
  </StrictMode>,
);
