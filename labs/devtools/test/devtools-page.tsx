import { createClient } from "@sluice/core";
import { devtoolsFetch, SluiceDevtools } from "@sluice/devtools";
import { GatewayProvider, useChatStream, useVideoTask } from "@sluice/react";
import { indexedDBStorage } from "@sluice/stores";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

/* A page with the developer tools. With `?plain` its client has no tap. */

const isPlain = new URLSearchParams(location.search).has("plain");
const client = createClient({ baseURL: location.origin, ...(!isPlain && { fetch: devtoolsFetch() }) });
const storage = indexedDBStorage();

function App() {
  const { messages, status, send } = useChatStream({ id: "reef", model: "delta-5.3", storage });
  const video = useVideoTask({ storage, intervalMs: 100 });
  const videoRequest = { model: "beta3.0-video", input: { prompt: "A reef at dawn" } } as const;
  return (
    <main>
      <h1>Reef</h1>
      <button type="button" onClick={() => void send("Why is the sky blue?")}>
        Ask
      </button>
      <button type="button" onClick={() => void video.create(videoRequest)}>
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
      <SluiceDevtools />
    </GatewayProvider>
  </StrictMode>,
);
