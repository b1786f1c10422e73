import "./styles.css";
import { GatewayProvider } from "@sluice/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.js";
import { client } from "./client.js";
import { routeOf } from "./routes.js";
import { preloadRoom } from "./shell/rooms.js";

const root = createRoot(document.getElementById("root") as HTMLElement);
// until then index.html shows the frame: the page is never empty
void preloadRoom(routeOf(location.hash).room).then(() =>
  root.render(
    <StrictMode>
      <GatewayProvider client={client}>
        <App />
      </GatewayProvider>
    </StrictMode>,
  ),
);
