import { type ClientEvent, completeChat, generateImages, streamChat } from "@sluice/core";
import { describe, expect, test } from "vitest";
import {
  catchError,
  createTestClient,
  DONE,
  event,
  frame,
  openBody,
  question,
  splitBytes,
  streamResponse,
} from "./support/gateway.js";

const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const completion = {
  id: "chat-1",
  model: "delta-5.3",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
  usage,
};
const json = JSON.stringify(completion);
const streamed =
  frame({ role: "assistant", content: "Hel" }) +
  frame({ content: "lo" }) +
  frame({}, "stop", { usage }) +
  DONE;
const callers = {
  completeChat: (text: string, type: string, onEvent: (event: ClientEvent) => void = () => {}) =>
    completeChat(
      createTestClient(() => new Response(text, { headers: { "content-type": type } }), { onEvent }).client,
      question,
    ),
  streamChat: (text: string, type: string, onEvent: (event: ClientEvent) => void = () => {}) =>
    streamChat(
      createTestClient(() => new Response(text, { headers: { "content-type": type } }), { onEvent }).client,
      question,
    ).result(),
};
const types = ["application/json", "text/event-stream", "text/plain"];

describe.each(Object.entries(callers))("%s", (_, complete) => {
  test.each([
    ["JSON", json],
    ["JSON on several lines", JSON.stringify(completion, null, 2)],
    ["JSON with [DONE] behind it", `${json}\n\n${DONE}`],
    ["JSON on several lines with [DONE] behind it", `${JSON.stringify(completion, null, 2)}\n${DONE}`],
    ["JSON as an event", event(completion) + DONE],
    ["an event stream", streamed],
    ["an event stream without [DONE]", streamed.replace(DONE, "")],
  ])("reads a whole response as %s, whatever its type says", async (_, text) => {
    for (const type of types)
      expect(await complete(text, type)).toMatchObject({
        message: { role: "assistant", content: "Hello" },
        outcome: "complete",
        finishReason: "stop",
        id: "chat-1",
        model: "delta-5.3",
        usage,
      });
  });

  test("reads tool calls of both formats", async () => {
    const call = { index: 0, id: "a", type: "function", function: { name: "pay", arguments: '{"to":"x"}' } };
    const text = frame({ tool_calls: [call] }) + frame({}, "tool_calls") + DONE;
    const toolCalls = [{ id: "a", name: "pay", input: { to: "x" } }];
    expect(await complete(text, "text/event-stream")).toMatchObject({ outcome: "tool-calls", toolCalls });
    const whole = { choices: [{ message: { tool_calls: [call] }, finish_reason: "tool_calls" }] };
    expect(await complete(`${JSON.stringify(whole)}\n\n${DONE}`, types[1] ?? "")).toMatchObject({
      toolCalls,
    });
  });

  test.each([
    ["behind JSON", `${json}\n\n${event({ error: { message: "no quota" } })}`],
    ["in an event stream", frame({ content: "Hello" }) + event({ error: { message: "no quota" } }) + DONE],
  ])("reports an error %s with its words and the text so far", async (_, text) => {
    expect(await catchError(complete(text, "text/event-stream"))).toMatchObject({
      name: "StreamError",
      message: "no quota",
      partial: { content: "Hello" },
    });
  });

  test("reports a broken event stream as truncated", async () => {
    expect(await catchError(complete(frame({ content: "Hello" }), "text/event-stream"))).toMatchObject({
      name: "StreamError",
      reason: "truncated",
      partial: { content: "Hello" },
    });
  });

  test.each([
    ["JSON that broke off", json.replace("Hello", "the secret").slice(0, -20)],
    ["JSON of another API", JSON.stringify({ output: { text: "the secret" } })],
    ["JSON of another API as an event", event({ output: { text: "the secret" } })],
    ["JSON that broke off in an event", `data: {"choices":[{"delta":{"content":"the secret\n\n`],
    ["an event of another name", `event: output\ndata: {"text":"the secret"}\n\n`],
    [
      "broken JSON behind text",
      `${frame({ content: "Hi" })}data: {"choices":[{"delta":{"content":"the secret\n\n`,
    ],
    [
      "an error without words beside text",
      event({
        error: { code: 5 },
        choices: [{ index: 0, delta: { content: "the secret" }, finish_reason: null }],
      }),
    ],
    [
      "a response with a field of a wrong type",
      JSON.stringify({ ...completion, usage: 7 }).replace("Hello", "the secret"),
    ],
    [
      "a response with an error beside it",
      JSON.stringify({ ...completion, error: { reason: 5 } }).replace("Hello", "the secret"),
    ],
  ])("puts no text of a response into the message of an error: %s", async (_, text) => {
    const events: ClientEvent[] = [];
    const error = await catchError(complete(text, "application/json", (event) => events.push(event))).catch(
      () => undefined,
    );
    const errors = [error, ...events.map((event) => "error" in event && event.error)] as (
      | Error
      | undefined
    )[];
    for (const one of errors) {
      expect(String(one)).not.toContain("secret");
      expect(String(one?.stack)).not.toContain("secret");
      expect(JSON.stringify(one) ?? "").not.toContain("secret");
    }
  });
});

test("streamChat reads JSON followed by [DONE] in any pieces", async () => {
  for (const size of [1, 7, 100]) {
    const { client } = createTestClient(() => streamResponse(splitBytes(`${json}\n\n${DONE}`, size)));
    expect((await streamChat(client, question).result()).message.content).toBe("Hello");
  }
});

test("completeChat does not repeat a request whose response was an event stream", async () => {
  const { client, requests } = createTestClient(() => streamResponse(streamed));
  await completeChat(client, question);
  expect(requests).toHaveLength(1);
});

test.each([
  [502, "text/html", "<title>Bad Gateway</title>", /page "Bad Gateway" and not the gateway's JSON$/],
  [504, "text/html", "<p>", /a page and not the gateway's JSON$/],
  [524, "text/html", "<p>", /a page and not the gateway's JSON$/],
  [404, "text/html", "<p>", /check the base URL$/],
  [200, "text/html", "<p>", /check the base URL$/],
  [400, "text/plain", "no such region", /^no such region$/],
])(
  "the error of a response with HTTP %s names the base URL only if that may be wrong",
  async (status, type, text, message) => {
    const respond = () => new Response(text, { status, headers: { "content-type": type } });
    const { client } = createTestClient(respond, { retry: { limit: 0 } });
    const image = { model: "gamma-image-5-0-260128", prompt: "A reef" } as const;
    for (const call of [() => completeChat(client, question), () => generateImages(client, image)])
      expect(await catchError(call())).toMatchObject({
        name: "APIError",
        message: expect.stringMatching(message),
      });
  },
);

test.each([
  [200, '{"choices":[{"message":{"content":"the secret', /^HTTP 200: the response is broken JSON$/],
  [400, '{"error":{"message":"no such', /^HTTP 400: the response is broken JSON: \{"error":/],
  [400, '{"reason":7}', /JSON without a readable error message: \{"reason":7\}$/],
])("the error of HTTP %s with %j says if the JSON is broken", async (status, text, message) => {
  const respond = () => new Response(text, { status, headers: { "content-type": "application/json" } });
  const { client } = createTestClient(respond, { retry: { limit: 0 } });
  expect(await catchError(completeChat(client, question))).toMatchObject({
    name: "APIError",
    message: expect.stringMatching(message),
  });
});

test("a connection that breaks within a whole response is a ConnectionError that may be billed", async () => {
  const connection = openBody();
  const { client, requests } = createTestClient(() => new Response(connection.body));
  const failure = catchError(completeChat(client, question));
  await connection.wanted();
  connection.send('{"choices":[');
  connection.drop();
  expect(await failure).toMatchObject({
    name: "ConnectionError",
    billing: "maybe",
    message: "the connection broke within the response; the gateway may have billed it",
  });
  expect(requests).toHaveLength(1);
});
