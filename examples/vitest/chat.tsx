import { describeError, useChatStream } from "@sluice/react";

/** The component under test: a question, its response, and its error. */
export function Chat() {
  const { messages, status, error, send, retry } = useChatStream({ model: "delta-5.3" });
  return (
    <>
      <ol>
        {messages
          .filter(({ content }) => content)
          .map(({ id, content }) => (
            <li key={id}>{content}</li>
          ))}
      </ol>
      {error && (
        <p role="alert">
          {describeError(error).title}.{" "}
          <button type="button" onClick={retry}>
            Try again
          </button>
        </p>
      )}
      <button type="button" disabled={status !== "ready"} onClick={() => send("How deep is the Elbe?")}>
        Ask
      </button>
    </>
  );
}
