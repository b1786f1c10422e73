import type { ChatModel } from "@sluice/core";
import {
  type ChatMessage,
  describeError,
  type UseChatStreamResult,
  useAttachments,
  useChatStream,
  webStorage,
} from "@sluice/react";
import { type KeyboardEvent, type SubmitEvent, useState } from "react";

/** Models to choose from. The first model is preselected. */
export type Models = readonly [ChatModel, ...ChatModel[]];

// the messages are there after a reload; a new tab begins a new chat
const storage = webStorage(() => sessionStorage);

/** A chat with one of the models, which its user chooses. */
export function Chat({ models }: { models: Models }) {
  const [model, setModel] = useState(models[0]);
  const chat = useChatStream({ id: "chat", model, storage });
  const { messages, status, persistence, retry } = chat;
  const last = messages.at(-1);
  // an error stays with its message after a reload
  const error = chat.error ?? last?.error;

  return (
    <main>
      <select
        aria-label="Model"
        value={model}
        onChange={(event) => setModel(event.target.value as ChatModel)}
      >
        {models.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <ol aria-label="Messages">
        {messages.map((message) => (
          <Message key={message.id} message={message} />
        ))}
      </ol>
      <p role="status">{status === "submitted" && "Waiting for the response …"}</p>
      {error && <Problem error={error} onRetry={retry} />}
      {persistence?.status === "unsaved" && (
        <p role="alert">Not all is saved. Keep this page open: it tries again by itself.</p>
      )}
      {status === "ready" && last && isUnfinished(last) && <Rest last={last} chat={chat} />}
      <Composer chat={chat} model={model} />
    </main>
  );
}

/** True for a message without a response, and for a response that ended at a limit or unconfirmed. */
function isUnfinished({ role, outcome }: ChatMessage) {
  return role === "user" || ["length", "unconfirmed"].some((end) => end === outcome);
}

function Rest({ last, chat }: { last: ChatMessage; chat: UseChatStreamResult }) {
  const hasText = last.role === "assistant" && last.content !== "";
  return (
    <button type="button" onClick={() => void (hasText ? chat.send("Continue") : chat.retry())}>
      {hasText ? "Continue" : "Try again"}
    </button>
  );
}

function Message({ message }: { message: ChatMessage }) {
  const { role, content, reasoning, images = [], files = [] } = message;
  return (
    <li className={role}>
      {reasoning && (
        <details>
          <summary>Reasoning</summary>
          {reasoning}
        </details>
      )}
      {images.map((url) => (
        <img key={url} src={url} alt={role === "user" ? "Attached" : "Made for you"} />
      ))}
      {files.map(({ url }) => (
        <video key={url} src={url} controls muted aria-label="Made for you" />
      ))}
      <p dir="auto">{content}</p>
    </li>
  );
}

function Problem({ error, onRetry }: { error: Error; onRetry: () => void }) {
  const { title, hint } = describeError(error);
  return (
    <div role="alert">
      <strong>{title}</strong> {hint}{" "}
      <button type="button" onClick={onRetry}>
        Try again
      </button>
    </div>
  );
}

function Composer({ chat, model }: { chat: UseChatStreamResult; model: ChatModel }) {
  const files = useAttachments(model);
  const isUnsupported = files.images.length > 0 && !files.supportsImages;
  const isBusy = chat.status === "submitted" || chat.status === "streaming";

  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    // the text stays until it can be sent
    if (isBusy || files.isPreparing || isUnsupported) return;
    void chat.send(String(new FormData(event.currentTarget).get("text")), { images: files.images });
    event.currentTarget.reset();
    files.clear();
  }

  return (
    <form onSubmit={submit} {...files.dropProps}>
      {files.attachments.map(({ id, file, previewUrl }) => (
        <button key={id} type="button" className="thumbnail" onClick={() => files.remove(id)}>
          <img src={previewUrl} alt={`Remove ${file.name}`} />
        </button>
      ))}
      {files.problems.map(({ id, message }) => (
        <p key={id} role="alert">
          {message}
        </p>
      ))}
      {isUnsupported && <p role="alert">This model sees no images. Choose another one.</p>}
      <textarea
        name="text"
        aria-label="Message"
        placeholder="Ask something"
        required
        onKeyDown={sendOnEnter}
        onPaste={files.onPaste}
      />
      <label>
        Add images <input {...files.inputProps} />
      </label>
      {isBusy ? (
        <button type="button" onClick={chat.stop}>
          Stop
        </button>
      ) : (
        <button type="submit" disabled={files.isPreparing || isUnsupported}>
          Send
        </button>
      )}
    </form>
  );
}

/** Sends the form by Enter. Shift+Enter begins a line, and Enter in an input method chooses its word. */
function sendOnEnter(event: KeyboardEvent<HTMLTextAreaElement>) {
  if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}
