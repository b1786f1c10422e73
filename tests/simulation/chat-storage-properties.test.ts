import { createChatStore, memoryStorage } from "@sluice/stores";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createTestClient, streamResponse } from "../../packages/core/test/support/gateway.js";
import { streamText } from "../../packages/core/test/support/reply-streams.js";
import { until } from "../../packages/stores/test/support/chat.js";
import { readRuns } from "../support/seed.js";
import { listReachable } from "../support/tabs-scenario.js";

const throwGone = () => Response.json({ error: { message: "no such stream" } }, { status: 404 });
const image = "data:image/png;base64,iVBORw0KGgo=";
const call = (id: string, state: string, rest: object = {}) => ({
  id,
  name: "weather",
  arguments: "{}",
  input: {},
  state,
  ...rest,
});
const messages: readonly object[] = [
  { role: "user", content: "Hello", images: [image, "https://cdn.test/a.png"] },
  {
    role: "assistant",
    content: "Let me see",
    reasoning: "Hm",
    outcome: "tool-calls",
    model: "alpha-v4.1-flash",
    usage: { total_tokens: 3 },
    timing: { totalMs: 5 },
    toolCalls: [call("a", "done", { output: { degrees: 20 } }), call("b", "failed", { error: "no" })],
  },
  { role: "assistant", content: "It is warm", outcome: "complete", object: { warm: true } },
  { role: "user", content: "And?" },
  { role: "assistant", content: "Ha", outcome: "truncated", error: { name: "StreamError", message: "cut" } },
  { role: "user", content: "Go on" },
  { role: "assistant", content: "On", streamId: "s-1", toolCalls: [call("c", "needs-approval")] },
];

function readRecords(): Map<string, unknown> {
  const stored = messages.map((message, index) => {
    const id = `m${index}`;
    const parent = index > 0 ? `m${index - 1}` : null;
    return [id, { message: { id, createdAt: index + 1, ...message }, parent, revision: index }] as const;
  });
  return new Map<string, unknown>([...stored, ["/leaf", `m${messages.length - 1}`]]);
}

/** Every place in a value where another one can stand, as keys from the outside. */
function listPaths(value: unknown, path: readonly string[]): (readonly string[])[] {
  const inside =
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([key, inner]) => listPaths(inner, [...path, key]))
      : [];
  return [path, ...inside];
}

const paths = [...readRecords()].flatMap(([key, record]) => listPaths(record, [key]));

function withValueAt(value: unknown, [key, ...rest]: readonly string[], put: unknown): unknown {
  if (key === undefined) return put;
  if (typeof value !== "object" || value === null) return value;
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
  copy[key] = withValueAt(copy[key], rest, put);
  return copy;
}

const anyJSON = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom("m0", "m3", "m6", "", "assistant", "user", "needs-output", "running", null, -1, 1e308),
);

test("records with any contents leave all other messages visible, and the next message is sent", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...paths), anyJSON), { minLength: 1, maxLength: 3 }),
      async (replaced) => {
        const storage = memoryStorage();
        const broken = readRecords();
        for (const [[key, ...path], put] of replaced as [[string, ...string[]], unknown][])
          broken.set(key, withValueAt(broken.get(key), path, put));
        const id = `broken-${Math.random()}`;
        await storage.write(`chat/${id}`, broken);
        const failures: unknown[] = [];
        // the chat may first look for an interrupted reply
        const { client } = createTestClient(
          ({ method }) => (method === "POST" ? streamResponse(streamText("Yes")) : throwGone()),
          { onEvent: (event) => event.type === "storage-error" && failures.push(event) },
        );
        const chat = createChatStore(client, { id, model: "alpha-v4.1-flash", storage });
        await until(chat, ({ persistence }) => persistence?.status !== "restoring");
        const all = listReachable(chat);
        const touched = new Set(replaced.map(([[key]]) => key));
        for (const index of messages.keys())
          if (!touched.has(`m${index}`)) expect([...all.keys()]).toContain(`m${index}`);
        chat.stop();
        expect(await chat.send("More")).toMatchObject({ outcome: "complete" });
        expect(failures).toEqual([]);
        chat.close();
      },
    ),
    readRuns(10),
  );
}, 600_000);
