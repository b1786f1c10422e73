import "./index.css";
import { createClient } from "@sluice/core";
import { GatewayProvider } from "@sluice/react";
import { createRoot } from "react-dom/client";
import { Gallery } from "./gallery/gallery";
import { Rooms } from "./rooms/rooms";

const client = createClient({ baseURL: location.origin });
const isGallery = new URLSearchParams(location.search).has("gallery");

createRoot(document.getElementById("root") as HTMLElement).render(
  <GatewayProvider client={client}>{isGallery ? <Gallery /> : <Rooms />}</GatewayProvider>,
);
