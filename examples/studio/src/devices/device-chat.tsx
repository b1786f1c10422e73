import type { RecordStorage } from "@sluice/core";
import { type ChatMessage, useChatStream } from "@sluice/react";
import { serverRunner } from "@sluice/sync";
import clsx from "clsx";
import { ArrowUp, Square } from "lucide-react";
import type { SubmitEvent } from "react";
import { Badge, Button, Chip, IconButton } from "@/components/sluice/button";
import { describeSyncError } from "@/components/sluice/devices";
import { devicePrompts } from "../../demo/prompts.js";
import { authorWords, deviceWords } from "../room-words.js";
import { later } from "../ui/later.js";
import { toolWords } from "../words.js";

const Markdown = later(async () => (await import("../chat/diagram.js")).Markdown);
// without a network it could not be loaded any more
void Markdown.preload();

const runner = serverRunner();

interface DeviceChatProps {
  readonly id: string;
  readonly storage: RecordStorage;
  readonly isOffline: boolean;
}

/** One conversation on one device. The server does its turns, so that the page may close. */
export function DeviceChat({ id, storage, isOffline }: DeviceChatProps) {
  const chat = useChatStream({ id, model: "delta-5.3", storage, runner });
  const { messages, pendingActions, status, syncError, isRunningElsewhere } = chat;
  const isSyncing = chat.isSyncing || syncError !== undefined;
  const isWorking = status === "submitted" || status === "streaming" || isRunningElsewhere;
  const last = messages.at(-1);
  const error = isOffline ? undefined : (chat.error ?? last?.error);
  const canRetry = !isWorking && !isOffline && last?.role === "user";
  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    void chat.send(String(new FormData(event.currentTarget).get("text")));
    event.currentTarget.reset();
  }
  return (
    <>
      <div className="flex min-h-0 grow flex-col-reverse overflow-y-auto p-4">
        <ol aria-label="Messages" className="flex flex-col gap-4">
          {messages.map((message) => (
            <Message key={message.id} message={message} />
          ))}
          {pendingActions.map(({ toolCallId, input }) => (
            <li
              key={toolCallId}
              className="flex flex-wrap items-center gap-2 rounded-lg bg-warn-soft p-3 text-sm"
            >
              <span className="grow">{String((input as { prompt?: string })?.prompt ?? "")}</span>
              <span className="flex gap-2">
                <Button look="primary" onClick={() => chat.approve(toolCallId)}>
                  Approve
                </Button>
                <Button onClick={() => chat.deny(toolCallId)}>Deny</Button>
              </span>
            </li>
          ))}
          {messages.length === 0 &&
            devicePrompts.map((prompt) => (
              <li key={prompt}>
                <Chip onClick={() => chat.send(prompt)}>{prompt}</Chip>
              </li>
            ))}
        </ol>
      </div>
      <div className="flex min-h-10 items-center gap-2 px-4 text-sm text-muted">
        <p role="status" className="grow">
          {deviceWords({ isOffline, isWorking, isSyncing })}
        </p>
        {error && <p role="alert">{describeSyncError(error).title}</p>}
        {canRetry && <Button onClick={() => chat.retry()}>Try again</Button>}
      </div>
      <form key={id} onSubmit={submit} className="flex shrink-0 items-center gap-2 border-t bg-surface p-2">
        <input
          name="text"
          aria-label="Message"
          required
          autoComplete="off"
          placeholder="Ask something"
          className="control min-w-0 grow rounded-lg border border-input bg-card px-3"
        />
        <IconButton label="Send" type="submit" look="primary" disabled={isWorking}>
          <ArrowUp aria-hidden />
        </IconButton>
        {isWorking && (
          <IconButton label="Stop" onClick={chat.stop}>
            <Square aria-hidden />
          </IconButton>
        )}
      </form>
    </>
  );
}

function Message({ message }: { readonly message: ChatMessage }) {
  const { role, content, outcome, toolCalls = [], images = [] } = message;
  const isUser = role === "user";
  return (
    <li className={clsx("flex flex-col gap-1", isUser && "items-end")}>
      <small className="text-xs text-muted">{authorWords(message)}</small>
      {content && isUser && (
        <p dir="auto" className="rounded-2xl bg-hover px-4 py-2 whitespace-pre-wrap wrap-anywhere">
          {content}
        </p>
      )}
      {content && !isUser && (
        <Markdown
          text={content}
          isLive={outcome === undefined}
          isCut={outcome !== "complete"}
          fallback={content}
        />
      )}
      {toolCalls.map(({ id, name, state }) => (
        <p key={id} className="flex items-center gap-2 text-sm">
          <code className="font-mono">{name}</code>{" "}
          <Badge tone={state === "done" ? "accent" : "neutral"}>{toolWords[state]}</Badge>
        </p>
      ))}
      {images.map((url) => (
        <img key={url} src={url} alt="Made on the server" className="max-h-64 w-fit max-w-full rounded-lg" />
      ))}
    </li>
  );
}
