import { createClient } from "@sluice/core";
import { GatewayProvider } from "@sluice/react";
import { createRoot } from "react-dom/client";
import { Chat, type Models } from "./chat/chat";
import "./chat/chat.css";

// the server at this address adds the key
const client = createClient({ baseURL: location.origin });
const models: Models = ["alpha-v4.1-flash", "gamma-chat-1-6-251015", "delta-5.3"];

createRoot(document.getElementById("root") as HTMLElement).render(
  <div className="chat">
    <h1>Minimal chat</h1>
    <GatewayProvider client={client}>
      <Chat models={models} />
    </GatewayProvider>
  </div>,
);
