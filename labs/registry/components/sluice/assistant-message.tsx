"use client";

import type { ChatMessage } from "@sluice/react";
import type { ReactNode } from "react";
import { MessageImages } from "@/components/sluice/message-images";
import { messageWords } from "@/components/sluice/words";

interface AssistantMessageProps {
  /** The responses to one question: several where the model calls tools. */
  readonly replies: readonly ChatMessage[];
  /** True while the response is in flight in this tab. @default false */
  readonly isBusy?: boolean;
  /** Shows the text, for example as Markdown. `isCut` is true for an unfinished text. @default plain text */
  readonly renderText?: (text: string, isLive: boolean, isCut: boolean) => ReactNode;
  /** Content above the text: tool calls. */
  readonly before?: ReactNode;
  /** Content below the text: its ending, and buttons. */
  readonly children?: ReactNode;
}

/** A response of the model: its images and videos, and its text. The text before a tool call is one of the steps. */
export function AssistantMessage(props: AssistantMessageProps) {
  const { replies, isBusy = false, renderText = renderPlainText, before, children } = props;
  const last = replies.at(-1);
  const files = replies.flatMap(({ files = [] }) => files);
  const hasCalls = Boolean(last?.toolCalls?.length);
  const isLive = last?.outcome === undefined;
  return (
    <article
      aria-label={messageWords.assistantMessage}
      aria-busy={isBusy}
      className="flex min-w-0 flex-col gap-3"
    >
      <h2 className="sr-only">{messageWords.assistant}</h2>
      {before}
      <MessageImages images={replies.flatMap(({ images = [] }) => images)} />
      {files.map(({ url }) => (
        // biome-ignore lint/a11y/useMediaCaption: generated videos come without captions
        <video key={url} src={url} controls aria-label={messageWords.video} className="max-h-96 rounded-xl" />
      ))}
      {last &&
        last.content !== "" &&
        !hasCalls &&
        renderText(last.content, isLive, !isLive && last.outcome !== "complete")}
      {children}
    </article>
  );
}

/** Shows plain text. */
export function renderPlainText(text: string): ReactNode {
  return (
    <p dir="auto" className="wrap-anywhere whitespace-pre-wrap">
      {text}
    </p>
  );
}
