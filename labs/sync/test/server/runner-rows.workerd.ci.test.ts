import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { hashOf } from "@sluice/worker-proxy/internal";
import { afterEach, beforeEach, describe, expect, vi } from "vitest";
import { workerdTest } from "../../../../packages/durable/test/support/platform.js";
import type { Rows } from "../../../../packages/durable/test/support/rows.js";
import { expectNoKey } from "../../../../packages/worker-proxy/test/support/key.js";
import { bodies, isKeeping, proxy, runs, says, script } from "./support/runs.js";

const { RUN_CONVERSATIONS } = env;

let users = 0;
let user = "";

beforeEach(() => {
  user = `run-${++users}`;
  runs.reset();
  isKeeping.value = true;
  vi.spyOn(console, "error").mockImplementation(() => {});
  script(() => says("Hello"));
});
afterEach(() => {
  vi.restoreAllMocks();
});

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
async function object(id = "c-1") {
  return RUN_CONVERSATIONS.get(RUN_CONVERSATIONS.idFromName(`${await hashOf(user)}:${id}`));
}

/** Resolves when the turn has ended. */
const ended = (count = 1) =>
  expect.poll(() => runs.events.length, { timeout: 20_000, interval: 5 }).toBe(count);
describe("case 247: a step beside 10,000 messages", () => {
  /** Counts the rows of one turn beside some messages. */
  async function rowsBeside(messages: number): Promise<Rows> {
    user = `${user}-${messages}`;
    for (let at = 0; at < messages; at += 900) {
      const part = Array.from({ length: Math.min(900, messages - at) }, (_, nth) => oldMessage(at + nth));
      expect((await ask("POST", "/records", { changes: Object.fromEntries(part) })).status).toBe(200);
    }
    const rowsOf = async () =>
      runInDurableObject(await object(), (instance) => ({ ...(instance as unknown as { rows: Rows }).rows }));
    const before = await rowsOf();
    const count = runs.events.length;
    await turn("q-1", `m-${messages - 1}`);
    await ended(count + 1);
    const after = await rowsOf();
    return { read: after.read - before.read, written: after.written - before.written };
  }

  workerdTest(
    "It reads and writes no more rows than beside 40, and sends the newest ones alone",
    async () => {
      const few = await rowsBeside(40);
      const many = await rowsBeside(10_000);
      expect(many.read).toBeLessThanOrEqual(few.read + 20);
      expect(many.written).toBeLessThanOrEqual(few.written + 10);
      expect(bodies.map(({ messages }) => messages.length)).toEqual([20, 20]);
      expect(bodies[1]?.messages.at(-1)).toMatchObject({ content: "Hi" });
    },
  );
});

function oldMessage(nth: number): [string, object] {
  const id = `m-${nth}`;
  const role = nth % 2 ? "assistant" : "user";
  const message = { id, role, content: "x", ...(nth % 2 && { outcome: "complete" }) };
  return [id, { value: { message, parent: nth ? `m-${nth - 1}` : null, revision: 0 }, seen: 0 }];
}
