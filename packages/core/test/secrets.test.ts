import {
  type ClientEvent,
  type ClientOptions,
  ConfigurationError,
  completeChat,
  createVideoTask,
  getVideoTask,
  StreamError,
  streamChat,
} from "@sluice/core";
import { describe, expect, test } from "vitest";
import {
  catchError,
  createTestClient,
  event,
  frame,
  question,
  streamResponse,
  waitUntil,
} from "./support/gateway.js";

const key = "tok_live/0123+456xyz==";
const video = { model: "beta3.0-video", input: { prompt: "A reef" } } as const;

/** A client with a key, all that it emits, and a gateway that responds. */
function createKeyedClient(
  respond: Parameters<typeof createTestClient>[0],
  options: Partial<ClientOptions> = {},
) {
  const events: ClientEvent[] = [];
  const { client, requests } = createTestClient(respond, {
    apiKey: key,
    dangerouslyAllowBrowser: true,
    retry: { limit: 1, maxRetryAfterMs: 0 },
    onEvent: (event) => events.push(event),
    ...options,
  });
  return { client, requests, events };
}

/** Every text in a value, as an inspector of errors shows it: stack, hidden fields and causes too. */
function collectTexts(value: unknown, seen = new Set<unknown>()): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || seen.has(value)) return [];
  seen.add(value);
  return Object.getOwnPropertyNames(value).flatMap((name) => [
    name,
    ...collectTexts(Reflect.get(value, name), seen),
  ]);
}

function expectNoKey(...values: unknown[]): void {
  for (const value of values) {
    for (const shown of [String(value), JSON.stringify(value) ?? "", ...collectTexts(value)])
      for (const secret of [key, "456xyz"]) expect(shown).not.toContain(secret);
  }
}

const message = `denied for ${key}`;
const fields = { message: message, type: message, code: message, param: message };
const escaped = JSON.stringify(fields).replaceAll("/", "\\/");
const odd = JSON.stringify(fields).replaceAll("4", "\\u0034");

describe("a key in a response is in no error and no event", () => {
  const headers = { "x-request-id": `r-${key}` };
  test.each([
    ["an error object", JSON.stringify({ error: fields })],
    ["a flat error", JSON.stringify(fields)],
    ["an error with escaped slashes", escaped],
    ["an error with escaped letters", odd],
    ["an error in a list", JSON.stringify({ errors: [fields] })],
    ["a text", message],
    ["a page", `<html><title>${message}</title>`],
    ["nothing", ""],
    ["a long text, cut in the middle of the key", "x".repeat(8180) + key.repeat(10)],
  ])("%s", async (_, body) => {
    for (const status of [401, 500]) {
      const respond = () => new Response(body, { status, statusText: `No ${key}`, headers });
      for (const call of [
        (client: ReturnType<typeof createKeyedClient>["client"]) => completeChat(client, question),
        (client: ReturnType<typeof createKeyedClient>["client"]) => streamChat(client, question).result(),
        (client: ReturnType<typeof createKeyedClient>["client"]) => createVideoTask(client, video),
        (client: ReturnType<typeof createKeyedClient>["client"]) => getVideoTask(client, "t-1"),
      ]) {
        const { client, events } = createKeyedClient(respond);
        const error = await catchError(call(client));
        expect(error).toMatchObject({ name: "APIError", status });
        expectNoKey(error, ...events);
      }
    }
  });

  test("is removed from a 200 response that does not fit the spec or is not JSON", async () => {
    for (const body of [
      JSON.stringify({ choices: message }),
      JSON.stringify({ error: fields }),
      message,
      escaped,
    ]) {
      const { client, events } = createKeyedClient(() => new Response(body, { headers }));
      expectNoKey(await catchError(completeChat(client, question)), ...events);
    }
  });

  test.each([
    ["an error frame", frame({ content: "Hel" }) + event({ error: fields })],
    ["an error event", `${frame({ content: "Hel" })}event: error\ndata: ${escaped}\n\n`],
    ["a broken frame", `${frame({ content: "Hel" })}data: {"a":"${message}\n\n`],
    ["a cut after the text", frame({ content: message })],
  ])("is removed from a stream: %s", async (_, content) => {
    const { client, events } = createKeyedClient(() => {
      const response = streamResponse(content);
      response.headers.set("x-request-id", `r-${key}`);
      return response;
    });
    const error = await catchError(streamChat(client, question).result());
    expect(error).toBeInstanceOf(StreamError);
    expectNoKey(error, ...events);
  });

  test("is removed from errors of the platform and their causes, and the original stays unchanged", async () => {
    const cause = Object.assign(new Error(`bad header ${key}`), { code: "EHEADER", input: key });
    const thrown = new TypeError(`fetch failed for ${key}`, { cause });
    const { client, events } = createKeyedClient(() => Promise.reject(thrown));
    const error = await catchError(completeChat(client, question));
    expect(error).toMatchObject({ name: "ConnectionError", cause: { cause: { code: "EHEADER" } } });
    expect((error as Error).cause).toBeInstanceOf(TypeError);
    expectNoKey(error, ...events);
    expect(thrown.message).toContain(key);
  });
});

describe("a key that was replaced", () => {
  test("is redacted in a response that arrives after the change", async () => {
    const keys = ["first_key_0123456789", "second_key_012345678"];
    let given = 0;
    const resolvers: ((response: Response) => void)[] = [];
    const { client } = createKeyedClient(() => new Promise((resolve) => resolvers.push(resolve)), {
      apiKey: () => keys[given++] as string,
    });
    const failed = [1, 2].map(() => catchError(completeChat(client, question)));
    await waitUntil(() => resolvers.length === 2);
    for (const resolve of resolvers)
      resolve(Response.json({ error: { message: `Incorrect API key: ${keys}` } }, { status: 401 }));
    for (const error of await Promise.all(failed)) {
      expect((error as Error).message).toBe("Incorrect API key: [redacted],[redacted]");
      for (const old of keys) expect(JSON.stringify(error)).not.toContain(old);
    }
  });

  test("is redacted among two hundred keys in flight", async () => {
    let given = 0;
    const resolvers: ((response: Response) => void)[] = [];
    const { client } = createKeyedClient(() => new Promise((resolve) => resolvers.push(resolve)), {
      apiKey: () => `key-number-${1000 + given++}`,
    });
    const failed = Array.from({ length: 200 }, () => catchError(completeChat(client, question)));
    await waitUntil(() => resolvers.length === 200);
    resolvers.forEach((resolve, nth) => {
      resolve(new Response(`wrong: key-number-${1000 + nth}`, { status: 401 }));
    });
    for (const error of await Promise.all(failed)) expect((error as Error).message).toBe("wrong: [redacted]");
  });
});

describe("a header that cannot be sent", () => {
  test.each([
    ["of the client", { headers: { "x-token": `${key}\nx: y` } }, {}],
    ["of the client's function", { headers: async () => new Map([["x-token", `a\r\n${key}`]]) as never }, {}],
    ["of the request", {}, { headers: [["x-token", `é€${key}`]] as [string, string][] }],
  ])("is named in the error without its value: %s", async (_, options, requestOptions) => {
    const { client, requests, events } = createKeyedClient(() => Response.json({}), options);
    const error = await catchError(completeChat(client, question, requestOptions));
    expect(error).toMatchObject({ name: "ConfigurationError", billing: "none" });
    expect((error as Error).message).toContain('"x-token"');
    expectNoKey(error, ...events);
    expect(requests).toHaveLength(0);
  });
});

// a step that reads a text again from each of its characters would not end within the time of a test
describe("a megabyte of text against slow patterns is cleaned in linear time:", () => {
  const hostile: [string, (length: number) => string][] = [
    ["one endless data URI", (length) => `data:a/${"a".repeat(length)}`],
    ...[
      "data:a/",
      "data:a/b;",
      "data:a/b;c,",
      "bearer ",
      "bearer\n",
      "sk-",
      "http://",
      "https://a@",
      "https://a:b",
      "http://x?",
      "<title",
      "<title>",
      "<title <",
      "//@",
    ].map((part): [string, (length: number) => string] => [
      JSON.stringify(part),
      (length) => part.repeat(length / part.length),
    ]),
    [
      "prefixes in each other",
      (length) => {
        const parts = ["data:", "a/", "https://", "bearer ", "sk-", "x@", "?", ";", ","];
        let text = "";
        for (let at = 7; text.length < length; at = (at * 31 + 11) % 1009) text += parts[at % parts.length];
        return text;
      },
    ],
  ];
  const megabyte = 1_000_000;

  test.each(hostile)("%s, in an error", (_, createText) => {
    const content = createText(megabyte);
    expect(String(new ConfigurationError(content).toJSON()["message"]).length).toBeGreaterThan(0);
    const error = new StreamError("cut", { reason: "truncated", partial: { role: "assistant", content } });
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ reason: "truncated" });
  });

  test.each(hostile)("%s, in a page of the gateway", async (_, createText) => {
    const page = `<p>${createText(megabyte)}`;
    for (const status of [200, 403]) {
      const { client } = createKeyedClient(() => new Response(page, { status }));
      for (const failed of [completeChat(client, question), streamChat(client, question).result()]) {
        const error = await catchError(failed);
        expect(JSON.stringify(error).length).toBeLessThan(40_000);
        expect((error as { body: string }).body.length).toBeLessThan(8200);
      }
    }
  });

  test("an error with any contents of any depth is written as JSON", () => {
    let deep: unknown = "end";
    for (let level = 0; level < 20_000; level += 1) deep = [deep];
    const error = new StreamError("cut", { reason: "truncated", partial: deep });
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ reason: "truncated" });
  });
});
