import type { Store } from "@sluice/core";
import { type ChatState, type ChatStoreOptions, createChatStore } from "@sluice/stores";
import {
  createTestClient,
  openBody,
  stoppedClock,
  streamResponse,
} from "../../../core/test/support/gateway.js";

/** Creates a chat whose gateway sends `responses` in order; the last one is repeated. */
export function createChat(responses: readonly string[], options: Partial<ChatStoreOptions> = {}) {
  const clock = stoppedClock();
  const { client, requests } = createTestClient(
    (_, nth) => streamResponse(responses[Math.min(nth, responses.length) - 1] ?? ""),
    { clock },
  );
  const chat = createChatStore(client, { model: "alpha-v4.1-flash", ...options } as ChatStoreOptions);
  const sent = async (nth: number) =>
    (await requests[nth]?.clone().json())?.messages as Record<string, unknown>[];
  return { chat, clock, client, requests, sent };
}

/** Creates a chat whose responses the test sends: `connections[0]` is the first. */
export function createLiveChat(options: Partial<ChatStoreOptions> = {}) {
  const clock = stoppedClock();
  const connections = Array.from({ length: 8 }, openBody);
  const { client, requests } = createTestClient(
    (_, nth) => streamResponse(connections[nth - 1]?.body ?? ""),
    {
      clock,
    },
  );
  const chat = createChatStore(client, { model: "alpha-v4.1-flash", ...options } as ChatStoreOptions);
  return { chat, clock, client, connections, requests };
}

/** Waits until the store shows a state. */
export function until<State = ChatState>(
  store: Store<State>,
  isReached: (state: State) => boolean,
): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (!isReached(store.getSnapshot())) return;
      stop();
      resolve();
    };
    const stop = store.subscribe(check);
    check();
  });
}

/** Creates a check that a tool call of the thread is in the state `wanted`. */
export function hasCall(wanted: string, id?: string): (state: ChatState) => boolean {
  return ({ messages }) =>
    messages.some(({ toolCalls }) =>
      toolCalls?.some((call) => call.state === wanted && (id === undefined || call.id === id)),
    );
}
