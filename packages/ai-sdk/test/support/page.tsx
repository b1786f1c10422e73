import { type UIMessage, useChat } from "@ai-sdk/react";
import { type ChatTransportOptions, createChatTransport } from "@sluice/ai-sdk/transport";
import { renderHook, waitFor } from "@testing-library/react";
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from "ai";
import { StrictMode } from "react";
import { expect } from "vitest";
import type { openWorld, PageOptions } from "./world.js";

export type World = ReturnType<typeof openWorld>;
export type Options = Partial<ChatTransportOptions> & {
  readonly messages?: UIMessage[];
  readonly resume?: boolean;
  readonly strict?: boolean;
  readonly page?: PageOptions;
};

// its own limit of a second is short on a busy machine; a test has five
export const until = (check: () => void) => waitFor(check, { timeout: 3000 });
export const textOf = (message: UIMessage | undefined) =>
  message?.parts.map((part) => (part.type === "text" ? part.text : "")).join("");

/** Opens a page with a chat. */
export function openPage(
  world: World,
  { messages = [], resume = false, strict = false, page = {}, ...options }: Options = {},
) {
  const { client, leave } = world.page(page);
  const transport = createChatTransport(client, { model: "delta-5.3", ...options });
  const finished: { finishReason?: string | undefined; isError: boolean; isAbort: boolean }[] = [];
  const { result, unmount } = renderHook(
    () =>
      useChat({
        id: "chat",
        transport,
        messages,
        resume,
        onFinish: ({ finishReason, isError, isAbort }) =>
          void finished.push({ finishReason, isError, isAbort }),
        sendAutomaticallyWhen: (chat) =>
          lastAssistantMessageIsCompleteWithToolCalls(chat) ||
          lastAssistantMessageIsCompleteWithApprovalResponses(chat),
      }),
    { ...(strict && { wrapper: StrictMode }) },
  );
  const chat = () => result.current;
  const last = () => chat().messages.at(-1);
  return {
    chat,
    last,
    finished,
    shows: (text: string) => until(() => expect(textOf(last())).toBe(text)),
    is: (status: string) => until(() => expect(chat().status).toBe(status)),
    unmount,
    /** Leaves as a reload does: connections are gone, and nothing is said. */
    leave() {
      leave();
      return structuredClone(chat().messages);
    },
  };
}
