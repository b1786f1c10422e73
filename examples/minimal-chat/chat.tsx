import { createClient, type ThreadMessage } from "@sluice/core";
import { type ChatModel, chatModels } from "@sluice/core/schemas";
import { GatewayProvider, useChatStream } from "@sluice/react";
import { describeError, useAttachments } from "@sluice/react/app";
import { type SubmitEvent, useState } from "react";
import { createRoot } from "react-dom/client";
import "./chat.css";

// the page has no key: the server at this address adds it
const client = createClient({ baseURL: location.origin });

function Chat() {
  const [model, setModel] = useState<ChatModel>("alpha-v4.1-flash");
  const { messages, status, error, send, stop, retry } = useChatStream({ model });
  const isBusy = status === "submitted" || status === "streaming";
  const isCut = status === "ready" && messages.at(-1)?.outcome === "length";

  return (
    <main>
      <header>
        <h1>Minimal chat</h1>
        <select
          aria-label="Model"
          value={model}
          onChange={(event) => setModel(event.target.value as ChatModel)}
        >
          {Object.keys(chatModels).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </header>
      <ol aria-label="Messages">
        {messages.map((message) => (
          <Message key={message.id} message={message} />
        ))}
      </ol>
      <p role="status">{status === "submitted" ? "Waiting for the answer …" : ""}</p>
      {error && <Problem error={error} onRetry={retry} />}
      {isCut && (
        <button type="button" onClick={() => void send("Continue")}>
          Continue
        </button>
      )}
      <Composer
        model={model}
        isBusy={isBusy}
        onStop={stop}
        onSend={(text, images) => void send(text, { images })}
      />
    </main>
  );
}

function Message({ message: { role, content, reasoning, images = [] } }: { message: ThreadMessage }) {
  return (
    <li className={role}>
      {reasoning && (
        <details>
          <summary>Reasoning</summary>
          {reasoning}
        </details>
      )}
      {images.map((url) => (
        <img key={url} src={url} alt="Attached" />
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

interface ComposerProps {
  readonly model: ChatModel;
  readonly isBusy: boolean;
  readonly onStop: () => void;
  readonly onSend: (text: string, images: readonly Blob[]) => void;
}

function Composer({ model, isBusy, onStop, onSend }: ComposerProps) {
  const files = useAttachments(model);

  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    onSend(String(new FormData(event.currentTarget).get("text")), files.images);
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
      {files.isBlind && <p role="alert">This model can't see images. Choose another one.</p>}
      <textarea
        name="text"
        aria-label="Message"
        placeholder="Ask something"
        rows={3}
        required
        onPaste={files.onPaste}
      />
      <label>
        Add images <input {...files.inputProps} />
      </label>
      {isBusy ? (
        <button type="button" onClick={onStop}>
          Stop
        </button>
      ) : (
        <button type="submit" disabled={files.isPreparing || files.isBlind}>
          Send
        </button>
      )}
    </form>
  );
}

createRoot(document.getElementById("root") as HTMLElement).render(
  <GatewayProvider client={client}>
    <Chat />
  </GatewayProvider>,
);
