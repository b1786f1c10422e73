import { readStreams } from "@sluice/worker-proxy";
import type { Usage } from "@sluice/worker-proxy/plugin";
import { expect, test } from "vitest";
import { chat, createRequest, openProxy } from "./support/in-process.js";

/* The proxy says the same of an end as the client does. */

const streamed = { ...chat, stream: true };
const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 };
const event = (json: unknown) => `data: ${JSON.stringify(json)}\n\n`;
const piece = event({ choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: null }] });
const counted = event({ choices: [], usage });
const finish = event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
const done = "data: [DONE]\n\n";

/** Sends a request to a metered proxy. Returns the response, its events, and the settled amounts. */
async function requestEnd(content: string | object, body: object = streamed) {
  const settled: (Usage | undefined | "free")[] = [];
  const waiting: Promise<unknown>[] = [];
  const { send, events } = openProxy(
    {
      plugins: [
        {
          ...readStreams(),
          reserve: async () => ({
            settle: async (spent) => void settled.push(spent),
            release: async () => void settled.push("free"),
          }),
        },
      ],
    },
    () =>
      typeof content === "string"
        ? new Response(content, { headers: { "content-type": "text/event-stream" } })
        : Response.json(content),
  );
  const context = { waitUntil: (work: Promise<unknown>) => void waiting.push(work) };
  const response = await send(createRequest({ body }), undefined, context);
  const text = await response.text();
  await Promise.all(waiting);
  return { text, settled, outcome: events[0]?.outcome, code: events[0]?.code };
}

const completion = (finish_reason: string | null) => ({
  choices: [{ index: 0, message: { content: "Hello" }, finish_reason }],
  usage,
});

test.each([
  ["a stream with a finish_reason", piece + finish + counted + done, "complete"],
  ["a stream with [DONE] alone", piece + counted + done, "unconfirmed"],
  ["a stream with an empty finish_reason", piece.replace("null", '""') + counted + done, "unconfirmed"],
  ["a whole response with a finish_reason", completion("stop"), "complete"],
  ["a whole response without a finish_reason", completion(null), "unconfirmed"],
])("The report of %s names its end, and its usage is billed", async (_, response, outcome) => {
  const body = typeof response === "string" ? streamed : chat;
  expect(await requestEnd(response, body)).toMatchObject({ outcome, settled: [usage] });
});

const error = { message: "overloaded" };
const dresses: readonly (readonly [string, string])[] = [
  ["a frame", event({ error })],
  ["an extension", event({ choices: [], x_groq: { error: "overloaded" } })],
  ["a choice", event({ choices: [{ index: 0, delta: {}, finish_reason: "error", error }] })],
  ["a list", event({ errors: [error] })],
  ["a flat frame", event({ object: "error", message: "overloaded" })],
  ["a frame without choices", event({ code: 503, message: "overloaded" })],
  ["an event", "event: error\ndata: overloaded\n\n"],
  ["a line", "error: overloaded\n\n"],
  ["a bare line", `${JSON.stringify({ error })}\n\n`],
  ["bare JSON on several lines", `${JSON.stringify({ error }, null, 2)}\n\n`],
  ["a page", "<html>\n<title>overloaded</title>\n</html>\n\n"],
  ["broken JSON", 'data: {"error":{"message":"overloaded\n\n'],
];

for (const [name, dress] of dresses)
  test.each([
    ["[DONE] follows", done],
    ["nothing follows", ""],
    ["the rest follows", piece + finish + counted + done],
  ])(
    `An error in ${name} is passed on, reported and not billed by the usage behind it, and %s`,
    async (_, rest) => {
      const { text, ...end } = await requestEnd(piece + dress + rest);
      expect(text).toContain("overloaded");
      expect(text).not.toContain("upstream_cut");
      expect(end).toEqual({ outcome: "truncated", code: "upstream_error", settled: [undefined] });
      // alone it is a refusal, which costs nothing
      expect(await requestEnd(dress + rest)).toMatchObject({ code: "upstream_error", settled: ["free"] });
    },
  );

test("An error line without a blank line behind it is passed on", async () => {
  const { text, code } = await requestEnd(`${piece}error: overloaded`);
  expect([text.endsWith("error: overloaded"), code]).toEqual([true, "upstream_error"]);
});

test("The content in the frame of an error counts as work of the gateway", async () => {
  const last = event({ choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: "error", error }] });
  expect(await requestEnd(last + done)).toMatchObject({ code: "upstream_error", settled: [undefined] });
});

test.each([
  ["an error alone", { error }],
  ["an error beside its choices", { ...completion("stop"), error }],
  [
    "an error in a choice",
    { choices: [{ index: 0, message: { content: "" }, finish_reason: "error", error }] },
  ],
  ["words without choices", { detail: "overloaded" }],
])("A whole response with %s is reported as failed", async (_, response) => {
  expect(await requestEnd(response, chat)).toMatchObject({ outcome: "error", code: "upstream_error" });
});
