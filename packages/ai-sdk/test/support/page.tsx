import { type UIMessage, useChat } from "@ai-sdk/react";
import { type ChatTransportOptions, createChatTransport } from "@sluice/ai-sdk/transport";
import { renderHook, waitFor } from "@testing-library/react";
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from "ai";
import { StrictMode } from "react";
import { expect } from "vitest";
import type { createScenario, PageOptions } from "./scenario.js";

export type Scenario = ReturnType<typeof createScenario>;
export type Options = Partial<ChatTransportOptions> & {
  readonly messages?: UIMessage[];
  readonly resume?: boolean;
  readonly strict?: boolean;
  readonly page?: PageOptions;
};

// the default limit of a second is short on a busy machine; a test has five
export const waitUntil = (check: () => void) => waitFor(check, { timeout: 3000 });
export const joinText = (message: UIMessage | undefined) =>
  message?.parts.map((part) => (part.type === "text" ? part.text : "")).join("");

/** Opens a page with a chat. */
export function openPage(
  scenario: Scenario,
  { messages = [], resume = false, strict = false, page = {}, ...options }: Options = {},
) {
  const { client, disconnect } = scenario.openPage(page);
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
  const getChat = () => result.current;
  const getLast = () => getChat().messages.at(-1);
  return {
    getChat,
    getLast,
    finished,
    waitForText: (text: string) => waitUntil(() => expect(joinText(getLast())).toBe(text)),
    waitForStatus: (status: string) => waitUntil(() => expect(getChat().status).toBe(status)),
    unmount,
    /** Reloads the page: connections are closed without a message. */
    disconnect() {
      disconnect();
      return structuredClone(getChat().messages);
    },
  };
}
