import {
  type ChatState,
  type ChatStore,
  type ChatStoreOptions,
  createChatStore,
  type StandardSchema,
} from "@sluice/core";
import { clientOf, DONE, frame, openBody, stoppedClock, streamAnswer } from "./gateway.js";

/** The stream of an answer in one piece of text. */
export function textAnswer(content: string): string {
  return frame({ content }) + frame({}, "stop") + DONE;
}

/** The stream of an answer that calls tools: `callAnswer({ a: ["weather", '{"city":"Rome"}'] })`. */
export function callAnswer(
  calls: Readonly<Record<string, readonly [string, string]>>,
  before: object = {},
): string {
  const tool_calls = Object.entries(calls).map(([id, [name, text]], index) => ({
    index,
    id,
    type: "function",
    function: { name, arguments: text },
  }));
  return frame(before) + frame({ tool_calls }) + frame({}, "tool_calls") + DONE;
}

/** A chat whose gateway gives `answers` one after the other; the last one again and again. */
export function chatOf(answers: readonly string[], options: Partial<ChatStoreOptions> = {}) {
  const clock = stoppedClock();
  const { client, requests } = clientOf(
    (_, nth) => streamAnswer(answers[Math.min(nth, answers.length) - 1] ?? ""),
    { clock },
  );
  const chat = createChatStore(client, { model: "alpha-v4.1-flash", ...options } as ChatStoreOptions);
  const sent = async (nth: number) =>
    (await requests[nth]?.clone().json())?.messages as Record<string, unknown>[];
  return { chat, clock, client, requests, sent };
}

/** A chat whose answers come as the test sends them: `connections[0]` is the first. */
export function liveChat(options: Partial<ChatStoreOptions> = {}) {
  const clock = stoppedClock();
  const connections = Array.from({ length: 8 }, openBody);
  const { client, requests } = clientOf((_, nth) => streamAnswer(connections[nth - 1]?.body ?? ""), {
    clock,
  });
  const chat = createChatStore(client, { model: "alpha-v4.1-flash", ...options } as ChatStoreOptions);
  return { chat, clock, client, connections, requests };
}

/** Resolves as soon as the chat shows a state of the wanted kind. */
export function until(chat: ChatStore, isReached: (state: ChatState) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (!isReached(chat.getSnapshot())) return;
      stop();
      resolve();
    };
    const stop = chat.subscribe(check);
    check();
  });
}

/** Checks that a tool call of the thread is in `state`. */
export function hasCall(wanted: string, id?: string): (state: ChatState) => boolean {
  return ({ messages }) =>
    messages.some(({ toolCalls }) =>
      toolCalls?.some((call) => call.state === wanted && (id === undefined || call.id === id)),
    );
}

/** A schema of a library that cannot write JSON Schema. */
export function onlyChecks(fits: (value: unknown) => boolean): StandardSchema {
  const validate = (value: unknown) => (fits(value) ? { value } : { issues: [{ message: "no" }] });
  return { "~standard": { version: 1, vendor: "other", validate } };
}
