import { APICallError, generateText, RetryError, streamText, tool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { open, routes, TOOLS_UNLISTED, watchLog } from "./support/routes.js";

const CHAT = "/v1/chat/completions";
const model = "delta-5.3";

/** Runs a failing action, and returns its error. */
async function catchError(run: () => PromiseLike<unknown>): Promise<APICallError> {
  const error = await Promise.resolve(run()).then(
    () => undefined,
    (cause) => cause,
  );
  expect(RetryError.isInstance(error)).toBe(false);
  if (!APICallError.isInstance(error)) throw error;
  return error;
}

/** Streams to the end, and rejects with the error of `onError`. */
function readStream(settings: Parameters<typeof streamText>[0]): Promise<never> {
  return new Promise((_, reject) => {
    void streamText({ ...settings, onError: ({ error }) => reject(error) }).consumeStream();
  });
}

describe.each(routes)("an error of a chat, through the %s", (route) => {
  const gatewayFailed = route === "proxy" ? 502 : 500;
  /** Returns the log lines that the proxy must write for this code. */
  const listLogLines = (code: string | undefined) =>
    route === "proxy" && code ? [expect.stringContaining(`502 ${code}`)] : [];

  const functions = { streamText: readStream, generateText };
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
      const { sluice, gateway, listPaid } = open(route);
      const error = await catchError(() => run({ model: sluice(model), prompt: `Hello ${fault}` }));
      expect(error).toMatchObject({
        statusCode: status,
        responseBody: expect.stringContaining("error"),
        isRetryable: false,
        data: { name: "APIError", billing },
        cause: { name: "APIError" },
      });
      expect(error.url).toMatch(/\/v1\/chat\/completions$/);
      expect(gateway.requests).toHaveLength(count);
      expect(listPaid(CHAT)).toEqual([]);
      expect(log()).toEqual(listLogLines(code));
    },
  );

  test.each(["[[drop]]", "[[truncate]]", "[[error-frame]]"])(
    "A stream that ends by %s is an error everywhere",
    async (fault) => {
      const { sluice, gateway } = open(route);
      const errors: unknown[] = [];
      const start = () =>
        streamText({
          model: sluice(model),
          prompt: `Hello ${fault}`,
          onError: ({ error }) => void errors.push(error),
        });
      const read = start();
      let text = "";
      const runLoop = async () => {
        for await (const piece of read.textStream) text += piece;
      };
      await expect(runLoop()).rejects.toSatisfy(APICallError.isInstance);
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
  ])("generateText with %s is an error without a retry", async (fault, code) => {
    const log = watchLog();
    const { sluice, gateway } = open(route);
    const error = await catchError(() => generateText({ model: sluice(model), prompt: `Hello ${fault}` }));
    expect(error).toMatchObject({ isRetryable: false, data: { billing: "maybe" } });
    expect(gateway.requests).toHaveLength(1);
    expect(log()).toEqual(listLogLines(code));
  });

  test("A broken rule is an error with its field, and nothing is sent", async () => {
    const { sluice, gateway } = open(route);
    const settings = { model: sluice(model), prompt: "Hello", maxOutputTokens: 9_999_999 };
    for (const run of [() => generateText(settings), () => readStream(settings)])
      expect(await catchError(run)).toMatchObject({
        statusCode: undefined,
        isRetryable: false,
        data: { billing: "none", issues: [{ path: "max_tokens" }] },
      });
    expect(gateway.requests).toEqual([]);
  });

  test("A stopped stream stops at the gateway, by the signal and by a break of the loop", async () => {
    const { sluice, gateway } = open(route);
    const stop = new AbortController();
    const stopped = streamText({ model: sluice(model), prompt: "Hello [[stall]]", abortSignal: stop.signal });
    for await (const _ of stopped.textStream) stop.abort();
    await expect.poll(() => gateway.requests[0]?.aborted).toBe(true);
    const { stream } = await sluice(model).doStream({
      prompt: [{ role: "user", content: [{ type: "text", text: "Hello again [[stall]]" }] }],
    });
    const reader = stream.getReader();
    while ((await reader.read()).value?.type !== "text-delta");
    // a read waits for text that never arrives
    const pending = reader.read();
    await reader.cancel();
    expect(await pending).toEqual({ done: true, value: undefined });
    await expect.poll(() => gateway.requests[1]?.aborted).toBe(true);
  });
});

describe("a failed connection", () => {
  test("A complete message with a lost response is not requested again", async () => {
    const { sluice, gateway, listPaid } = open();
    const lost = open("gateway", {
      client: {
        fetch: async (request) => {
          request.headers.set("authorization", "Bearer sk-gateway-0123456789");
          await (await gateway.fetch(request)).text();
          throw new TypeError("fetch failed");
        },
      },
    });
    const error = await catchError(() => generateText({ model: lost.sluice(model), prompt: "Hello" }));
    expect(error).toMatchObject({
      isRetryable: false,
      data: { name: "ConnectionError", billing: "maybe" },
    });
    expect(listPaid(CHAT)).toHaveLength(1);
    expect((await generateText({ model: sluice(model), prompt: "Hello" })).text).not.toBe("");
  });

  test("A request that was never sent is sent again by the SDK, and paid once", async () => {
    let tries = 0;
    const { gateway, listPaid } = open();
    const { sluice } = open("gateway", {
      client: {
        fetch: async (request) => {
          if (++tries === 1) throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
          request.headers.set("authorization", "Bearer sk-gateway-0123456789");
          return gateway.fetch(request);
        },
      },
    });
    const error = await catchError(() =>
      generateText({ model: sluice(model), prompt: "Hello", maxRetries: 0 }),
    );
    expect(error).toMatchObject({
      isRetryable: true,
      data: { name: "ConnectionError", billing: "none" },
    });
    await generateText({ model: sluice(model), prompt: "Hello" });
    expect(listPaid(CHAT)).toHaveLength(1);
  });

  test("A refusal is retried by the client after the time that the gateway asks for", async () => {
    const { sluice, gateway } = open();
    const error = await catchError(() => generateText({ model: sluice(model), prompt: "Hello [[429]]" }));
    expect(error.responseHeaders).toMatchObject({ "retry-after-ms": "1000" });
    await generateText({ model: sluice(model), prompt: "Hello you [[429:1]]" });
    expect(gateway.requests.map(({ status }) => status)).toEqual([429, 429, 429, 429, 200]);
  });

  test.each(Object.entries({ streamText: readStream, generateText }))(
    "%s of a client that retries nothing may be repeated by the SDK after a refusal",
    async (_, run) => {
      const { sluice } = open("gateway", { client: { retry: { limit: 0 } } });
      const settings = { model: sluice(model), maxRetries: 0 };
      expect(await catchError(() => run({ ...settings, prompt: "Hello [[429]]" }))).toMatchObject({
        isRetryable: true,
      });
      expect(await catchError(() => run({ ...settings, prompt: "Hello [[500]]" }))).toMatchObject({
        isRetryable: false,
      });
    },
  );
});

/** Creates a model that calls a tool. `edit` changes its stream. */
function createCallingModel(edit: (text: string) => string, warnings: readonly string[]) {
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
  ])("A tool runs only for a complete response: the response %s", async (name, edit, count) => {
    const warnings = [TOOLS_UNLISTED, ...(name === "has no finish_reason" ? ["chat.unconfirmed"] : [])];
    const { model: edited, gateway } = createCallingModel(edit, warnings);
    let runs = 0;
    const result = streamText({
      model: edited,
      prompt: "Use get_depth for the Elbe",
      tools: { get_depth: tool({ inputSchema: z.object({}).loose(), execute: () => ++runs }) },
      onError: () => {},
    });
    await result.consumeStream();
    expect(runs).toBe(count);
    const { stream } = await createCallingModel(edit, warnings).model.doStream({
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
  });
});
