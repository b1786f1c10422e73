import {
  type Client,
  completeChat,
  createAsset,
  createVideoTask,
  generateImages,
  getVideoTask,
  streamChat,
} from "@sluice/core";
import { createEpsilonTask } from "@sluice/core/epsilon";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  catchError,
  createTestClient,
  openBody,
  question,
  settled,
  stoppedClock,
} from "./support/gateway.js";

const creates: [string, (client: Client) => Promise<unknown>][] = [
  [
    "generateImages",
    (client) => generateImages(client, { model: "gamma-image-5-0-260128", prompt: "A reef" }),
  ],
  [
    "createVideoTask",
    (client) => createVideoTask(client, { model: "beta3.0-video", input: { prompt: "A reef" } }),
  ],
  [
    "createAsset",
    (client) =>
      createAsset(client, {
        model: "gamma-asset",
        GroupId: "g",
        Name: "n",
        AssetType: "Image",
        URL: "https://a.test/1.png",
      }),
  ],
  ["createEpsilonTask", (client) => createEpsilonTask(client, "text2video", { prompt: "A reef" })],
];
const functions: typeof creates = [
  ["completeChat", (client) => completeChat(client, question)],
  ["streamChat", (client) => streamChat(client, question).result()],
  ["getVideoTask", (client) => getVideoTask(client, "t-1")],
  ...creates,
];

describe.each(functions)("a refusal of %s is an APIError", (_, call) => {
  test("if its body is silent: after 5 seconds of the client's clock, with the text so far", async () => {
    const clock = stoppedClock();
    const body = openBody();
    const { client, requests } = createTestClient(() => new Response(body.body, { status: 401 }), { clock });
    const failed = catchError(call(client));
    await body.wanted();
    body.send("the key is");
    await body.wanted();
    await clock.advance(5000);
    expect(await failed).toMatchObject({
      name: "APIError",
      status: 401,
      message: "the key is",
      billing: "none",
    });
    expect(body.cancelled).toBe(true);
    expect(requests).toHaveLength(1);
  });

  test("if its body is cut: it is not repeated", async () => {
    const { client, requests } = createTestClient(() => {
      const body = openBody();
      body.drop();
      return new Response(body.body, { status: 400 });
    });
    expect(await catchError(call(client))).toMatchObject({
      name: "APIError",
      status: 400,
      billing: "none",
    });
    expect(requests).toHaveLength(1);
  });

  test("if its body is endless: 64 kB are read, and the connection is closed", async () => {
    let pulled = 0;
    let isCancelled = false;
    const { client } = createTestClient(
      () =>
        new Response(
          new ReadableStream({
            pull(controller) {
              pulled += 1;
              controller.enqueue(new TextEncoder().encode("x".repeat(8192)));
            },
            cancel() {
              isCancelled = true;
            },
          }),
          { status: 403 },
        ),
    );
    const error = await catchError(call(client));
    expect(error).toMatchObject({ name: "APIError", status: 403, billing: "none" });
    expect((error as { body: string }).body).toHaveLength(8193);
    expect(pulled).toBeLessThanOrEqual(10);
    expect(isCancelled).toBe(true);
  });

  test("if a limit ends while its body is read, but the caller's abort is an abort", async () => {
    for (const timeout of [{ firstChunkMs: 1000 }, { totalMs: 1000 }]) {
      const clock = stoppedClock();
      const body = openBody();
      const { client } = createTestClient(() => new Response(body.body, { status: 422 }), { clock, timeout });
      const failed = catchError(call(client));
      await body.wanted();
      await clock.advance(5000);
      expect(await failed).toMatchObject({ name: "APIError", status: 422, billing: "none" });
    }
  });
});

describe("a response of a server that is neither the gateway nor the proxy", () => {
  const at = (response: Response) =>
    Object.defineProperty(response, "url", { value: "https://app.test/v1/x" });

  test.each([
    ["an empty 404, as Vite sends it", 404, "", "the response is empty and"],
    ["a text with status 404", 404, "404 Not Found", "the response is 404 Not Found and"],
    ["an empty 405, as a file server sends it", 405, "", "the response is empty and"],
    ["a page with status 501", 501, "<html><title>Error</title>", 'the response is the page "Error" and'],
    [
      "the page of a site with status 200",
      200,
      "<title>My app</title>",
      'the response is the page "My app" and',
    ],
  ])("says that the address is wrong: %s", async (_, status, body, message) => {
    for (const [, call] of functions.slice(0, 2)) {
      const { client } = createTestClient(() => at(new Response(body, { status })), { retry: { limit: 0 } });
      const error = await catchError(call(client));
      expect(error).toMatchObject({ name: "APIError", status, reason: "wrong-address" });
      expect((error as Error).message).toContain(`${message} not the gateway's JSON; check the base URL`);
    }
  });

  test("names the requested address", async () => {
    const { client } = createTestClient(() => at(new Response("", { status: 404 })));
    expect(await catchError(completeChat(client, question))).toMatchObject({
      message: expect.stringMatching(/; https:\/\/app\.test\/v1\/x is neither the gateway nor the proxy$/),
    });
  });

  test("is distinguished from a path that the proxy does not serve and from a redirect, which are wrong addresses too", async () => {
    const headers = { "x-sluice-source": "proxy" };
    const error = { message: "there is nothing at this path", code: "not_found" };
    const responses = [
      () => Response.json({ error }, { status: 404, headers }),
      () => new Response(null, { status: 307, headers: { location: "/v2" } }),
    ];
    for (const respond of responses)
      expect(await catchError(completeChat(createTestClient(respond).client, question))).toMatchObject({
        name: "APIError",
        reason: "wrong-address",
      });
  });

  test.each([
    ["an error in JSON with status 404", 404, '{"error":{"message":"no such model","code":"not_found"}}'],
    ["an empty 500", 500, ""],
    ["a page with status 502, of a proxy on the way", 502, "<title>Bad gateway</title>"],
    ["a text with status 200", 200, "busy"],
  ])("is not guessed from %s", async (_, status, body) => {
    const { client } = createTestClient(() => new Response(body, { status }), { retry: { limit: 0 } });
    expect(await catchError(completeChat(client, question))).not.toHaveProperty("reason");
  });
});

test.each([
  ["no body", 502, "", "HTTP 502"],
  ["a page", 502, "<title>Bad gateway</title>", 'HTTP 502: the page "Bad gateway"'],
  ["a text", 500, "overloaded", "HTTP 500: overloaded"],
])(
  "in production, a refusal with %s is described by its status and its words",
  async (_, status, body, message) => {
    vi.stubEnv("NODE_ENV", "production");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { client } = createTestClient(() => new Response(body, { status }), { retry: { limit: 0 } });
    expect(await catchError(completeChat(client, question))).toMatchObject({ message });
  },
);

test("an abort while the body of a refusal is read rejects with the abort", async () => {
  const controller = new AbortController();
  const body = openBody();
  const { client } = createTestClient(() => new Response(body.body, { status: 422 }));
  const failed = catchError(completeChat(client, question, { signal: controller.signal }));
  await body.wanted();
  controller.abort();
  expect(await failed).toBe(controller.signal.reason);
  await settled();
  expect(body.cancelled).toBe(true);
});

describe("a request that cannot be made", () => {
  const circular: Record<string, unknown> = { model: "delta-5.3" };
  circular.messages = circular;
  const abort = new DOMException("signed out", "AbortError");
  const broken = {
    "whose headers() rejects": { headers: () => Promise.reject(new Error("session expired")) },
    "whose headers() throws": {
      headers: () => {
        throw new Error("session expired");
      },
    },
    "whose apiKey() rejects": {
      apiKey: () => Promise.reject(new Error("session expired")),
      dangerouslyAllowBrowser: true,
    },
  };

  describe.each(Object.entries(broken))("%s", (_, options) => {
    test.each(functions)("was not sent, with the reason: %s", async (_, call) => {
      const { client, requests } = createTestClient(() => Response.json({}), options);
      const error = (await catchError(call(client))) as Error;
      expect(error).toMatchObject({ name: "ConfigurationError", billing: "none" });
      expect(error.message).toContain("session expired");
      expect(error.cause).toBeInstanceOf(Error);
      expect(requests).toHaveLength(0);
    });
  });

  test.each(functions)("keeps an AbortError of %s from headers()", async (_, call) => {
    const { client, requests } = createTestClient(() => Response.json({}), {
      headers: () => Promise.reject(abort),
    });
    expect(await catchError(call(client))).toBe(abort);
    expect(requests).toHaveLength(0);
  });

  const bodies: [string, unknown][] = [
    ["circular", circular],
    ["a bigint", { seed: 7n }],
    [
      "a failing toJSON",
      {
        toJSON() {
          throw new Error("no JSON");
        },
      },
    ],
  ];
  test.each(bodies)("is not sent because its body is %s", async (_, body) => {
    const { client, requests } = createTestClient(() => Response.json({}));
    const sent = { model: "any", body };
    const options = { checks: false } as const;
    for (const failed of [
      completeChat(client, sent, options),
      streamChat(client, sent, options).result(),
      generateImages(client, sent, options),
      createVideoTask(client, sent, options),
      createAsset(client, sent, options),
      createEpsilonTask(client, "text2video", body),
    ])
      expect(await catchError(failed)).toMatchObject({ name: "ConfigurationError", billing: "none" });
    expect(requests).toHaveLength(0);
  });

  test("is not sent because its file cannot be read", async () => {
    const gone = new Blob(["x"], { type: "image/png" });
    const value = () => {
      throw new DOMException("gone", "NotReadableError");
    };
    Object.defineProperties(gone, { arrayBuffer: { value }, slice: { value }, stream: { value } });
    const { client, requests } = createTestClient(() => Response.json({}));
    const asset = { model: "gamma-asset", GroupId: "g", Name: "n", AssetType: "Image", URL: gone } as const;
    expect(await catchError(createAsset(client, asset))).toMatchObject({
      name: "ValidationError",
      billing: "none",
    });
    expect(requests).toHaveLength(0);
  });
});
