import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { hashOf } from "@sluice/worker-proxy/internal";
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from "vitest";
import { expectNoKey } from "../../worker-proxy/test/support/key.js";
import { gateway, refusal } from "./support/durable-gateway.js";
import { CANARY, calls, isKeeping, proxy, runs, says, streamed, tool } from "./support/runs.js";

const { RUN_CONVERSATIONS } = env;

let users = 0;
let user = "";
let log: MockInstance<typeof console.error>;

beforeEach(() => {
  user = `run-${++users}`;
  runs.reset();
  isKeeping.value = true;
  log = vi.spyOn(console, "error").mockImplementation(() => {});
  gateway.answers(() => says("Hello"));
});
afterEach(() => {
  vi.restoreAllMocks();
});

interface Message {
  readonly id: string;
  readonly role: string;
  readonly content: string;
  readonly outcome?: string;
  readonly error?: Record<string, unknown>;
  readonly toolCalls?: readonly Record<string, unknown>[];
}
interface Kept {
  readonly message: Message;
  readonly parent: string | null;
  readonly by?: string;
}

async function ask(method: string, part: string, body?: object, id = "c-1") {
  const init = {
    method,
    headers: { authorization: user, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify({ device: "phone", ...body }) }),
  };
  const path = `https://proxy.example/v1/conversations/${id}${part}`;
  const response = await proxy.fetch(new Request(path, init), env);
  const text = await response.text();
  expectNoKey(text);
  return { status: response.status, json: text ? JSON.parse(text) : undefined };
}

const question = (id: string, content = "Hi") => ({ id, role: "user", content, createdAt: 1 });
const turn = (id: string, parent: string | null = null, content?: string) =>
  ask("POST", "/turns", { message: question(id, content), parent });
const write = (key: string, value: unknown, seen = 0) =>
  ask("POST", "/records", { changes: { [key]: { value, seen } } });

async function records(): Promise<Record<string, Kept>> {
  const { json } = await ask("GET", "/records?limit=1000");
  return Object.fromEntries(
    Object.entries(json.records).map(([key, { value }]: [string, never]) => [key, value]),
  ) as never;
}

/** The messages from the first to the last one, by their parents. */
async function thread(): Promise<Message[]> {
  const all = Object.values(await records()).filter((record) => record?.message);
  const path: Message[] = [];
  for (let at: string | null = null; ; ) {
    const next = all.filter(({ parent }) => parent === at).at(-1);
    if (!next) return path;
    path.push(next.message);
    at = next.message.id;
  }
}

async function object(id = "c-1") {
  return RUN_CONVERSATIONS.get(RUN_CONVERSATIONS.idFromName(`${await hashOf(user)}:${id}`));
}

/** Resolves when the turn has ended. */
const ended = (count = 1) => expect.poll(() => runs.events.length, { timeout: 20_000 }).toBe(count);
/** Resolves with the thread once its last message is so. */
async function last(seen: object): Promise<Message> {
  await expect.poll(async () => (await thread()).at(-1), { timeout: 20_000 }).toMatchObject(seen);
  return (await thread()).at(-1) as Message;
}
async function sentBodies() {
  return await Promise.all(
    gateway.requests.map(async (request) => JSON.parse(await request.clone().text())),
  );
}

describe("a turn that a page hands over", () => {
  test("The server answers the question, and the event of the run has its end", async () => {
    const { status, json } = await turn("q-1");
    expect([status, json]).toEqual([202, { messageId: "q-1" }]);
    await ended();
    expect(await thread()).toMatchObject([
      { id: "q-1", role: "user", content: "Hi" },
      { role: "assistant", content: "Hello", outcome: "complete" },
    ]);
    expect(runs.events).toMatchObject([{ kind: "run", id: "q-1", user, outcome: "complete" }]);
    expect(runs.ends).toMatchObject([{ id: "q-1", userId: user, conversation: "c-1", outcome: "complete" }]);
    const answer = (await thread())[1] as Message;
    expect((await records())[answer.id]).toMatchObject({ parent: "q-1", by: "server" });
  });
});
