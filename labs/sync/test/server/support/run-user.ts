import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { hashOf } from "@sluice/worker-proxy/internal";
import { expect } from "vitest";
import { expectNoKey } from "../../../../../packages/worker-proxy/test/support/key.js";
import { proxy, runs } from "./runs.js";

const { RUN_CONVERSATIONS } = env;

/** A message as a device reads it. */
export interface SeenMessage {
  readonly createdAt?: number;
  readonly id: string;
  readonly role: string;
  readonly content: string;
  readonly outcome?: string;
  readonly error?: Record<string, unknown>;
  readonly toolCalls?: readonly Record<string, unknown>[];
  readonly images?: readonly string[];
  readonly files?: readonly object[];
}

interface Kept {
  readonly message?: SeenMessage;
  readonly parent: string | null;
  readonly by?: string;
}

/** Opens a user of the proxy of the runs, with one conversation. */
export function openRunUser(user: string, conversation = "c-1") {
  return { user, ask, records, thread, object, ring, lose, ended };

  async function ask(method: string, part: string, body?: object, query = "") {
    const init = {
      method,
      headers: { authorization: user, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    };
    const path = `https://proxy.example/v1/conversations/${conversation}${part}${query}`;
    const response = await proxy.fetch(new Request(path, init), env);
    const text = await response.text();
    expectNoKey(text);
    return { status: response.status, json: text ? JSON.parse(text) : undefined };
  }

  async function records(): Promise<Record<string, Kept>> {
    const { json } = await ask("GET", "/records", undefined, "?limit=1000");
    return Object.fromEntries(
      Object.entries(json.records).map(([key, record]) => [key, (record as { value: Kept }).value]),
    );
  }

  /** The messages from the first to the last one, by their parents. */
  async function thread(): Promise<readonly SeenMessage[]> {
    const all = Object.values(await records()).flatMap(({ message, parent }) =>
      message ? [{ message, parent: parent ?? null }] : [],
    );
    all.sort((one, other) => (one.message.createdAt ?? 0) - (other.message.createdAt ?? 0));
    const path: SeenMessage[] = [];
    for (let at: string | null = null; ; ) {
      const next = all.filter(({ parent }) => parent === at).at(-1);
      if (!next) return path;
      path.push(next.message);
      at = next.message.id;
    }
  }

  async function object() {
    const name = await hashOf(user);
    const isIndex = conversation === "~index";
    return RUN_CONVERSATIONS.get(RUN_CONVERSATIONS.idFromName(isIndex ? name : `${name}:${conversation}`));
  }

  /** Runs the alarm of the conversation. */
  async function ring(): Promise<void> {
    await runDurableObjectAlarm(await object());
  }

  /** Loses the object, and nothing that it has stored. */
  async function lose(): Promise<void> {
    await evictDurableObject(await object());
  }

  /** Resolves when so many turns have ended. */
  async function ended(count = 1): Promise<void> {
    const ends = () => runs.events.filter(({ kind }) => kind === "sync:run").length;
    await expect.poll(ends, { timeout: 30_000 }).toBe(count);
  }
}
