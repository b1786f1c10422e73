import { createClient } from "@sluice/core";
import { describeError, GatewayProvider, useChatStream } from "@sluice/react";

const client = createClient({ baseURL: "/api" }); // your proxy or server

function Chat() {
  const { messages, status, error, send, stop, retry } = useChatStream({ model: "delta-5.3" });
  const isBusy = status === "submitted" || status === "streaming";
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isBusy) return; // Enter keeps the text until it can be sent
        void send(String(new FormData(event.currentTarget).get("text")));
        event.currentTarget.reset();
      }}
    >
      {messages.map(({ id, role, content }) => (
        <p key={id}>
          <b>{role}</b> {content}
        </p>
      ))}
      {error && (
        <p role="alert">
          {describeError(error).title}{" "}
          <button type="button" onClick={retry}>
            Try again
          </button>
        </p>
      )}
      <input name="text" aria-label="Message" required />
      {isBusy ? (
        <button type="button" onClick={stop}>
          Stop
        </button>
      ) : (
        <button type="submit">Send</button>
      )}
    </form>
  );
}

export const App = () => (
  <GatewayProvider client={client}>
    <Chat />
  </GatewayProvider>
);
