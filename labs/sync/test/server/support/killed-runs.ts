import type { ServerResponse } from "node:http";
import { expect } from "vitest";
import { startDurableProxy } from "../../../../../packages/durable/test/support/workerd.js";
import {
  chunk,
  done,
  finish,
  type Recorded,
} from "../../../../../packages/worker-proxy/test/support/upstream.js";

/** A message as a device reads it. */
export interface KilledMessage {
  readonly id: string;
  readonly createdAt?: number;
  readonly role: string;
  readonly content: string;
  readonly outcome?: string;
  readonly images?: readonly string[];
  readonly error?: { readonly message: string };
  readonly toolCalls?: readonly {
    readonly state: string;
    readonly error?: string;
    readonly output?: unknown;
  }[];
}

type Answer = (response: ServerResponse) => unknown;

const HEADERS = { "content-type": "text/event-stream" };
/** A wait for a process that was killed: another one has its objects only after its lease. */
const patience = { timeout: 55_000, interval: 200 };

/** A stream of the gateway that calls tools. */
export function toolCalls(...names: readonly string[]): string {
  const tool_calls = names.map((name, index) => ({
    index,
    id: `call-${index}`,
    type: "function",
    function: { name, arguments: "{}" },
  }));
  const chunks = [{ delta: { tool_calls } }, { delta: {}, finish_reason: "tool_calls" }];
  return chunks.map((choice) => `data: ${JSON.stringify({ choices: [choice] })}\n\n`).join("") + done;
}

export const says = (text: string) => (response: ServerResponse) => response.end(chunk(text) + finish + done);
export const begins = (text: string) => (response: ServerResponse) => response.write(chunk(text));

/** Opens the proxy of runs in a process that can be killed, with one conversation of a user. */
export async function openKilledRuns() {
  const proxy = await startDurableProxy({
    fixture: "../labs/sync/test/server/fixture/run-proxy.ts",
    objects: { STREAM_LOG: "StreamLog", ONCE: "Once", RUN_CONVERSATIONS: "RunConversations" },
  });
  let address: string | undefined;
  const chats = () => proxy.upstream.requests.filter(({ url }) => url.endsWith("/chat/completions"));
  const ends = () =>
    proxy.logs.flatMap((line) =>
      line.includes("run {") ? [JSON.parse(line.slice(line.indexOf("{"))) as Record<string, unknown>] : [],
    );
  return {
    proxy,
    patience,
    ends,
    /** Requests for answers that reached the upstream. */
    chats,
    images: () => proxy.upstream.requests.filter(({ url }) => url.endsWith("/images/generations")),
    toolRuns: (name: string) => proxy.upstream.requests.filter(({ url }) => url === `/tool/${name}`),
    /** Asks another process from now on. */
    askAt(other: string): void {
      address = other;
    },
    send: () => post("turns", { device: "phone", message: { id: "q-1", content: "Hi" }, parent: null }),
    write: (changes: object) => post("records", { device: "phone", changes }),
    thread,
    ended: () => expect.poll(() => ends().length, patience).toBe(1),
    last: (seen: object) => expect.poll(async () => (await thread()).at(-1), patience).toMatchObject(seen),
    /** Answers chats by their number, and tools at once; what is undefined is left open. */
    answers(...all: readonly Answer[]): void {
      proxy.upstream.answers((response, { url }: Recorded) => {
        if (url.startsWith("/tool/")) return void response.end("ok");
        all[Math.min(chats().length, all.length) - 1]?.(response.writeHead(200, HEADERS));
      });
    },
  };

  function post(part: string, body: object): Promise<Response> {
    return ask(part, { method: "POST", body: JSON.stringify(body) });
  }

  function ask(part: string, init: RequestInit = {}): Promise<Response> {
    const path = `/v1/conversations/c-1/${part}`;
    if (address === undefined) return proxy.ask(path, init);
    const headers = { authorization: "user-1", "content-type": "application/json" };
    return fetch(address + path, { ...init, headers });
  }

  /** The messages from the first to the newest one, by their parents; none where nobody has the conversation just now. */
  async function thread(): Promise<KilledMessage[]> {
    const answer = await ask("records");
    if (!answer.ok) return [];
    const { records } = (await answer.json()) as {
      records: Record<string, { value: { message?: KilledMessage; parent: string | null } }>;
    };
    const all = Object.values(records).map(({ value }) => value);
    const ageOf = ({ message }: { readonly message?: KilledMessage }) => message?.createdAt ?? 0;
    all.sort((one, other) => ageOf(one) - ageOf(other));
    const path: KilledMessage[] = [];
    for (let at: string | null = null; ; ) {
      const next = all.filter(({ message, parent }) => message && parent === at).at(-1)?.message;
      if (!next) return path;
      path.push(next);
      at = next.id;
    }
  }
}
