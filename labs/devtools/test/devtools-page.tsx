import { createClient } from "@sluice/core";
import { devtoolsFetch, SluiceDevtools, sluiceDevtoolsPlugin } from "@sluice/devtools";
import { GatewayProvider, useChatStream, useVideoTask } from "@sluice/react";
import { indexedDBStorage } from "@sluice/stores";
import { TanStackDevtools } from "@tanstack/react-devtools";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

/* A page with the developer tools. With `?plain` its client has no tap. With `?tanstack` the tools are a plugin. */

const asked = new URLSearchParams(location.search);
const isPlain = asked.has("plain");
const client = createClient({ baseURL: location.origin, ...(!isPlain && { fetch: devtoolsFetch() }) });
const storage = indexedDBStorage();
const plugins = asked.has("tanstack") ? [sluiceDevtoolsPlugin({ client })] : undefined;

function App() {
  const { messages, status, send } = useChatStream({ id: "reef", model: "delta-5.3", storage });
  const video = useVideoTask({ storage, intervalMs: 100 });
  const film = { model: "beta3.0-video", input: { prompt: "A reef at dawn" } } as const;
  return (
    <main>
      <h1>Reef</h1>
      <button type="button" onClick={() => void send("Why is the sky blue?")}>
        Ask
      </button>
      <button type="button" onClick={() => void video.create(film)}>
        Film
      </button>
      <p role="status">
        {status}, {video.status}
      </p>
      {messages.map(({ id, content }) => (
        <p key={id}>{content}</p>
      ))}
    </main>
  );
}

createRoot(document.body.appendChild(document.createElement("div"))).render(
  <StrictMode>
    <GatewayProvider client={client}>
      <App />
      {plugins ? <TanStackDevtools plugins={plugins} /> : <SluiceDevtools />}
    </GatewayProvider>
  </StrictMode>,
);
