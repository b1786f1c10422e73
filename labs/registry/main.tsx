import "./index.css";
import { createClient } from "@sluice/core";
import { GatewayProvider } from "@sluice/react";
import { createRoot } from "react-dom/client";
import { Gallery } from "./gallery/gallery";

const client = createClient({ baseURL: location.origin });

createRoot(document.getElementById("root") as HTMLElement).render(
  <GatewayProvider client={client}>
    <Gallery />
  </GatewayProvider>,
);
