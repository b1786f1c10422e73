import { createSluice } from "@sluice/ai-sdk";
import { createChatTransport } from "@sluice/ai-sdk/transport";
import type { ClientOptions } from "@sluice/core";
import { systemClock } from "@sluice/core/extend";
import * as ai from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { open, routes } from "./support/routes.js";
import { createScenario } from "./support/scenario.js";

const prompt = "Tell me of rivers";
const schema = z.object({ river: z.string() });

/** A clock without waits. The limit for the headers ends calls without a response. */
const options: Partial<ClientOptions> = {
  clock: systemClock,
  random: () => 0,
  timeout: { firstChunkMs: 50 },
};

/** Loses a response. Returns the response, or throws the error, that the client gets instead. */
type Loss = (request: Request, response: Response) => Promise<Response>;

/** Ways to lose a response that the gateway has created and billed. */
const losses: Readonly<Record<string, Loss>> = {
  "a 502 of a load balancer": async () => new Response("<html>Bad gateway</html>", { status: 502 }),
  "a 503 that asks for another try": async () =>
    new Response("", { status: 503, headers: { "retry-after": "0" } }),
  "a 408": async () => new Response("", { status: 408 }),
  "a connection reset": async () => {
    throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
  },
  "a timeout": ({ signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    }),
  "a response that breaks off": async (_, response) => {
    const bytes = new Uint8Array(await response.arrayBuffer());
    const half = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes.subarray(0, bytes.length / 2));
      },
      pull: (controller) => controller.error(new TypeError("terminated")),
    });
    return new Response(half, { status: response.status, headers: response.headers });
  },
};

const { generateImage, generateObject, generateText, streamObject, streamText } = ai;
type Opened = ReturnType<typeof open>;
type Functions = Readonly<Record<string, (opened: Opened) => PromiseLike<unknown>>>;

/** Reads a stream of the SDK to its end, and rejects with the error of `onError`. */
function readStream(start: (onError: (event: { error: unknown }) => void) => AsyncIterable<unknown>) {
  return new Promise<void>((resolve, reject) => {
    const read = async () => {
      for await (const _ of start(({ error }) => reject(error)));
    };
    read().then(resolve, reject);
  });
}

/** Functions that the first versions of `ai` 7 lack. */
const videoFunctions: Functions = {
  startVideo: ({ sluice }) =>
    ai.experimental_startVideo({ model: sluice.videoModel("beta3.0-video"), prompt }),
  generateVideo: ({ sluice }) =>
    ai.experimental_generateVideo({ model: sluice.videoModel("beta3.0-video"), prompt }),
};

/** Functions of the AI SDK that send billed requests. */
const functions: Functions = {
  generateText: ({ sluice }) => generateText({ model: sluice("delta-5.3"), prompt }),
  streamText: ({ sluice }) =>
    readStream((onError) => streamText({ model: sluice("delta-5.3"), prompt, onError }).textStream),
  generateObject: ({ sluice }) => generateObject({ model: sluice("delta-5.3"), prompt, schema }),
  streamObject: ({ sluice }) =>
    readStream((onError) => streamObject({ model: sluice("delta-5.3"), prompt, schema, onError }).textStream),
  generateImage: ({ sluice }) =>
    generateImage({ model: sluice.imageModel("gamma-image-5-0-260128"), prompt, size: "2048x2048" }),
  ...("experimental_startVideo" in ai && videoFunctions),
  "a message of useChat": ({ client }) => sendMessage(client),
};

async function sendMessage(client: Opened["client"]): Promise<string> {
  const stream = await createChatTransport(client, { model: "delta-5.3" }).sendMessages({
    chatId: "chat-1",
    messageId: undefined,
    abortSignal: undefined,
    trigger: "submit-message",
    messages: [{ id: "1", role: "user", parts: [{ type: "text", text: prompt }] }],
  });
  let text = "";
  for await (const chunk of stream) if (chunk.type === "text-delta") text += chunk.delta;
  return text;
}

describe.each(routes)("one call is billed once, through the %s", (route) => {
  describe.each(Object.entries(functions))("%s", (_, run) => {
    test.each(Object.entries(losses))("is not sent again after %s", async (_, lose) => {
      let bills = 0;
      const opened = open(route, {
        client: options,
        async network(request, send) {
          if (request.method !== "POST") return send(request);
          bills += 1;
          const { status, headers, body } = await send(request.clone());
          // the gateway generates its message to the end
          const bytes = await new Response(body).arrayBuffer();
          return lose(request, new Response(bytes, { status, headers }));
        },
      });
      await expect(run(opened)).rejects.toThrow();
      expect(bills).toBe(1);
    });
  });
});

describe("a proxy that stores chats", () => {
  test.each([
    [
      "streamText",
      async (client: Opened["client"]) =>
        streamText({ model: createSluice(client)("delta-5.3"), prompt }).text,
    ],
    ["a message of useChat", sendMessage],
  ] as const)("%s gets the lost response, and the gateway gets one request", async (_, run) => {
    const { openPage, chatRequests } = createScenario();
    const { client } = openPage({ lost: 2, random: () => 0 });
    expect((await run(client)).length).toBeGreaterThan(20);
    expect(chatRequests).toHaveLength(1);
  });

  test("generateText is not sent again: a proxy stores only streams", async () => {
    const { openPage, chatRequests } = createScenario();
    const { client } = openPage({ lost: 1, random: () => 0 });
    await expect(generateText({ model: createSluice(client)("delta-5.3"), prompt })).rejects.toMatchObject({
      isRetryable: false,
      data: { billing: "maybe" },
    });
    expect(chatRequests).toHaveLength(1);
  });
});

test("Several images are not requested again after a refusal if another image may be billed", async () => {
  let posts = 0;
  const { sluice } = open("gateway", {
    client: { retry: { limit: 0 }, random: () => 0 },
    async network(request, send) {
      if (request.method !== "POST") return send(request);
      posts += 1;
      if (posts !== 2) return Response.json({ error: { message: "later" } }, { status: 429 });
      throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
    },
  });
  const images = generateImage({ model: sluice.imageModel("gamma-image-4-0-250828"), prompt, n: 3 });
  await expect(images).rejects.toMatchObject({ isRetryable: false, data: { billing: "maybe" } });
  expect(posts).toBe(3);
});
