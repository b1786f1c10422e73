import { APICallError, generateText, RetryError, streamText, tool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { open, places, TOOLS_UNLISTED, watchLog } from "./support/places.js";

const CHAT = "/v1/chat/completions";
const model = "delta-5.3";

/** Runs what has to fail, and returns its error. */
async function errorOf(run: () => PromiseLike<unknown>): Promise<APICallError> {
  const error = await Promise.resolve(run()).then(
    () => undefined,
    (cause) => cause,
  );
  expect(RetryError.isInstance(error)).toBe(false);
  if (!APICallError.isInstance(error)) throw error;
  return error;
}

/** Streams to the end, and rejects with the error that `onError` got. */
function streamed(settings: Parameters<typeof streamText>[0]): Promise<never> {
  return new Promise((_, reject) => {
    void streamText({ ...settings, onError: ({ error }) => reject(error) }).consumeStream();
  });
}

describe.each(places)("an error of a chat, by way of the %s", (place) => {
  const gatewayFailed = place === "proxy" ? 502 : 500;
  /** The proxy's log, with one line of this code. */
  const logged = (code: string | undefined) =>
    place === "proxy" && code ? [expect.stringContaining(`502 ${code}`)] : [];

  const functions = { streamText: streamed, generateText };
  const refusals = [
    ["[[429]]", 429, "none", undefined, 3],
    ["[[500]]", gatewayFailed, "maybe", "upstream_error", 1],
  ] as const;
  test.each(
    refusals.flatMap((refusal) =>
      Object.entries(functions).map(([name, run]) => [name, ...refusal, run] as const),
    ),
  )(
    "%s after %s is an APICallError with its status, and only the client retries, where nothing is billed",
    async (_, fault, status, billing, code, count, run) => {
      const log = watchLog();
      const { sluice, gateway, paid } = open(place);
      const error = await errorOf(() => run({ model: sluice(model), prompt: `Hello ${fault}` }));
      expect(error).toMatchObject({
        statusCode: status,
        responseBody: expect.stringContaining("error"),
        isRetryable: false,
        data: { name: "APIError", billing },
        cause: { name: "APIError" },
      });
      expect(error.url).toMatch(/\/v1\/chat\/completions$/);
      expect(gateway.requests).toHaveLength(count);
      expect(paid(CHAT)).toEqual([]);
      expect(log()).toEqual(logged(code));
    },
  );

  test.each(["[[drop]]", "[[truncate]]", "[[error-frame]]"])(
    "A stream that ends by %s is an error everywhere",
    async (fault) => {
      const { sluice, gateway } = open(place);
      const errors: unknown[] = [];
      const start = () =>
        streamText({
          model: sluice(model),
          prompt: `Hello ${fault}`,
          onError: ({ error }) => void errors.push(error),
        });
      const read = start();
      let text = "";
      const loop = async () => {
        for await (const piece of read.textStream) text += piece;
      };
      await expect(loop()).rejects.toSatisfy(APICallError.isInstance);
      expect(text.length).toBeGreaterThan(0);
      expect(errors).toMatchObject([
        { name: "AI_APICallError", isRetryable: false, cause: { name: "StreamError" } },
      ]);
      for (const key of ["text", "usage", "steps", "finishReason"] as const)
        await expect(Promise.resolve(read[key]), key).rejects.toSatisfy(APICallError.isInstance);
      expect(gateway.requests).toHaveLength(1);
    },
  );

  test.each([
    ["[[drop]]", "upstream_cut"],
    ["[[truncate]]", "upstream_type"],
  ])("generateText with %s is an error, and nothing is repeated", async (fault, code) => {
    const log = watchLog();
    const { sluice, gateway } = open(place);
    const error = await errorOf(() => generateText({ model: sluice(model), prompt: `Hello ${fault}` }));
    expect(error).toMatchObject({ isRetryable: false, data: { billing: "maybe" } });
    expect(gateway.requests).toHaveLength(1);
    expect(log()).toEqual(logged(code));
  });

  test("A broken rule is an error with its field, and nothing is sent", async () => {
    const { sluice, gateway } = open(place);
    const settings = { model: sluice(model), prompt: "Hello", maxOutputTokens: 9_999_999 };
    for (const run of [() => generateText(settings), () => streamed(settings)])
      expect(await errorOf(run)).toMatchObject({
        statusCode: undefined,
        isRetryable: false,
        data: { billing: "none", issues: [{ path: "max_tokens" }] },
      });
    expect(gateway.requests).toEqual([]);
  });

  test("A stopped stream stops at the gateway, by the signal and by leaving the loop", async () => {
    const { sluice, gateway } = open(place);
    const stop = new AbortController();
    const stopped = streamText({ model: sluice(model), prompt: "Hello [[stall]]", abortSignal: stop.signal });
    for await (const _ of stopped.textStream) stop.abort();
    await expect.poll(() => gateway.requests[0]?.aborted).toBe(true);
    const { stream } = await sluice(model).doStream({
      prompt: [{ role: "user", content: [{ type: "text", text: "Hello again [[stall]]" }] }],
    });
    const reader = stream.getReader();
    while ((await reader.read()).value?.type !== "text-delta");
    // a read is waiting for text that never comes
    const pending = reader.read();
    await reader.cancel();
    expect(await pending).toEqual({ done: true, value: undefined });
    await expect.poll(() => gateway.requests[1]?.aborted).toBe(true);
  });
});

describe("a failed connection", () => {
  test("A whole answer whose response is lost is not asked for again", async () => {
    const { sluice, gateway, paid } = open();
    const lost = open("gateway", {
      client: {
        fetch: async (request) => {
          request.headers.set("authorization", "Bearer sk-gateway-0123456789");
          await (await gateway.fetch(request)).text();
          throw new TypeError("fetch failed");
        },
      },
    });
    const error = await errorOf(() => generateText({ model: lost.sluice(model), prompt: "Hello" }));
    expect(error).toMatchObject({
      isRetryable: false,
      data: { name: "ConnectionError", billing: "maybe" },
    });
    expect(paid(CHAT)).toHaveLength(1);
    expect((await generateText({ model: sluice(model), prompt: "Hello" })).text).not.toBe("");
  });

  test("A request that never left is sent again by the SDK, and paid once", async () => {
    let tries = 0;
    const { gateway, paid } = open();
    const { sluice } = open("gateway", {
      client: {
        fetch: async (request) => {
          if (++tries === 1) throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
          request.headers.set("authorization", "Bearer sk-gateway-0123456789");
          return gateway.fetch(request);
        },
      },
    });
    const error = await errorOf(() => generateText({ model: sluice(model), prompt: "Hello", maxRetries: 0 }));
    expect(error).toMatchObject({
      isRetryable: true,
      data: { name: "ConnectionError", billing: "none" },
    });
    await generateText({ model: sluice(model), prompt: "Hello" });
    expect(paid(CHAT)).toHaveLength(1);
  });

  test("A refusal is retried by the client after the time that the gateway asks for", async () => {
    const { sluice, gateway } = open();
    const error = await errorOf(() => generateText({ model: sluice(model), prompt: "Hello [[429]]" }));
    expect(error.responseHeaders).toMatchObject({ "retry-after-ms": "1000" });
    await generateText({ model: sluice(model), prompt: "Hello you [[429:1]]" });
    expect(gateway.requests.map(({ status }) => status)).toEqual([429, 429, 429, 429, 200]);
  });

  test.each(Object.entries({ streamText: streamed, generateText }))(
    "%s of a client that retries nothing may be repeated by the SDK after a refusal",
    async (_, run) => {
      const { sluice } = open("gateway", { client: { retry: { limit: 0 } } });
      const settings = { model: sluice(model), maxRetries: 0 };
      expect(await errorOf(() => run({ ...settings, prompt: "Hello [[429]]" }))).toMatchObject({
        isRetryable: true,
      });
      expect(await errorOf(() => run({ ...settings, prompt: "Hello [[500]]" }))).toMatchObject({
        isRetryable: false,
      });
    },
  );
});

/** A model whose answer calls a tool, and comes as `edit` writes it. */
function calling(edit: (text: string) => string, warnings: readonly string[]) {
  const { gateway } = open();
  const { sluice } = open("gateway", {
    warnings,
    client: {
      fetch: async (request) => {
        request.headers.set("authorization", "Bearer sk-gateway-0123456789");
        const response = await gateway.fetch(request);
        return new Response(edit(await response.text()), { headers: response.headers });
      },
    },
  });
  return { gateway, model: sluice(model) };
}

describe("a tool call", () => {
  test.each([
    ["is whole", (text: string) => text, 1],
    ["is cut", (text: string) => text.replace(/data: \{[^\n]*finish_reason":"tool_calls[\s\S]*/, ""), 0],
    [
      "has no finish_reason",
      (text: string) => text.replaceAll('"finish_reason":"tool_calls"', '"finish_reason":null'),
      0,
    ],
    [
      "is cut at its length",
      (text: string) => text.replaceAll('"finish_reason":"tool_calls"', '"finish_reason":"length"'),
      0,
    ],
    [
      "may have two calls",
      (text: string) =>
        text.replace(
          /data: [^\n]*"index":0,"id":"call_[^\n]*\n\n/,
          (line) => line + line.replace('"index":0,"id":"call_', '"index":1,"id":"call_'),
        ),
      0,
    ],
  ])(
    "A call of an answer that %s is given to the SDK, and runs, or not at all",
    async (name, edit, count) => {
      const warnings = [TOOLS_UNLISTED, ...(name === "has no finish_reason" ? ["chat.unconfirmed"] : [])];
      const { model: edited, gateway } = calling(edit, warnings);
      let runs = 0;
      const result = streamText({
        model: edited,
        prompt: "Use get_depth for the Elbe",
        tools: { get_depth: tool({ inputSchema: z.object({}).loose(), execute: () => ++runs }) },
        onError: () => {},
      });
      await result.consumeStream();
      expect(runs).toBe(count);
      const { stream } = await calling(edit, warnings).model.doStream({
        prompt: [{ role: "user", content: [{ type: "text", text: "Use get_depth for the Elbe" }] }],
        tools: [{ type: "function", name: "get_depth", inputSchema: { type: "object" } }],
      });
      const types: string[] = [];
      const reading = async () => {
        for await (const { type } of stream) types.push(type);
      };
      await reading().catch(() => {});
      expect(types).toContain("tool-input-start");
      expect(types.filter((type) => type === "tool-call")).toHaveLength(count);
      expect(gateway.requests).toHaveLength(1);
    },
  );
});
