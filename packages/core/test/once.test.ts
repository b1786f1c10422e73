import { type ClientEvent, getAsset, streamChat } from "@sluice/core";
import { describe, expect, test } from "vitest";
import { creates } from "./support/creates.js";
import { catchError, createTestClient, question, stoppedClock, streamResponse } from "./support/gateway.js";
import { openOnce } from "./support/once.js";

const withKey = { apiKey: "sk-gateway", dangerouslyAllowBrowser: true };

const silence = (signal: AbortSignal) =>
  new Promise<Response>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
const createFailure = (status: number, headers: Record<string, string> = {}) =>
  Response.json({ error: { message: `failed with ${status}` } }, { status, headers });

describe.each(creates)("%s behind a proxy", (_, create, body) => {
  test("pays once if the proxy remembers responses and the first response was lost", async () => {
    const proxy = openOnce(() => Response.json(body));
    proxy.lose();
    await create(proxy.page());
    expect([proxy.sent.length, proxy.keys.length, new Set(proxy.keys).size]).toEqual([1, 2, 1]);
    expect(proxy.healthRequests.map(({ url }) => new URL(url).pathname)).toEqual(["/health"]);
  });

  test("sends a lost request again with the same key", async () => {
    const proxy = openOnce(() => Response.json(body));
    proxy.lose("request");
    await create(proxy.page());
    expect([proxy.sent.length, proxy.keys.length, new Set(proxy.keys).size]).toEqual([1, 2, 1]);
  });

  test.each([408, 500, 502, 503])("is repeated after a %i whose response has the feature", async (status) => {
    const { client, requests } = createTestClient(
      (_, nth) =>
        nth === 1
          ? createFailure(status, { "x-sluice-features": "video-watch, idempotency" })
          : Response.json(body),
      { random: () => 0 },
    );
    await create(client);
    const keys = requests.map(({ headers }) => headers.get("idempotency-key"));
    expect(keys).toEqual([expect.stringMatching(/^[\x21-\x7e]{16,255}$/), keys[0]]);
  });

  test.each([null, "", "resumable-streams", "idempotency-2", "no idempotency"])(
    "is sent once if the proxy's features are %j",
    async (features) => {
      const proxy = openOnce(() => Response.json(body), { features });
      proxy.lose();
      expect(await catchError(create(proxy.page()))).toMatchObject({ billing: "maybe" });
      expect([proxy.sent.length, proxy.healthRequests.length]).toEqual([1, 1]);
    },
  );

  test("has a new key for each call, or the caller's key", async () => {
    const proxy = openOnce(() => Response.json(body));
    const client = proxy.page();
    await create(client);
    await create(client);
    await create(client, { idempotencyKey: "mine" });
    await create(client, { idempotencyKey: "mine", headers: { "idempotency-key": "its-own" } });
    expect(proxy.keys).toEqual([expect.any(String), expect.any(String), "mine", "its-own"]);
    expect(proxy.keys[0]).not.toBe(proxy.keys[1]);
  });

  test("is not sent again if its caller aborts during the request for the features", async () => {
    const controller = new AbortController();
    const { client, requests } = createTestClient(({ url }) => {
      if (!url.endsWith("/health")) throw new TypeError("fetch failed");
      controller.abort();
      return Response.json({}, { headers: { "x-sluice-features": "idempotency" } });
    });
    expect(await catchError(create(client, { signal: controller.signal }))).toMatchObject({
      name: "AbortError",
    });
    expect(requests.map(({ method }) => method)).toEqual(["POST", "GET"]);
  });
});

describe("the request for the features of the proxy", () => {
  const [, create, body] = creates[0] as (typeof creates)[number];

  test.each([
    ["fails with 503", () => createFailure(503)],
    ["is lost", () => Promise.reject(new TypeError("fetch failed"))],
    ["has no response", silence],
  ] as const)("is sent three times if it %s, and the create once", async (_, health) => {
    const clock = stoppedClock();
    const paths: string[] = [];
    const { client } = createTestClient(
      ({ url, signal }) => {
        paths.push(new URL(url).pathname);
        return url.endsWith("/health") ? health(signal) : Promise.reject(new TypeError("fetch failed"));
      },
      { clock },
    );
    const failed = catchError(create(client));
    expect(await clock.advanceUntil(failed, 1000)).toMatchObject({
      name: "ConnectionError",
      billing: "maybe",
    });
    expect(paths).toEqual(["/v1/images/generations", "/health", "/health", "/health"]);
    expect(clock.sleeping()).toBe(0);
  });

  test("is repeated, so that a short network failure causes no second bill", async () => {
    const clock = stoppedClock();
    let gap = 3;
    const { client, requests } = createTestClient(
      ({ url }) => {
        gap -= 1;
        if (gap >= 0) return Promise.reject(new TypeError("fetch failed"));
        return url.endsWith("/health")
          ? Response.json({}, { headers: { "x-sluice-features": "idempotency" } })
          : Response.json(body);
      },
      { clock },
    );
    expect(await clock.advanceUntil(create(client), 1000)).toMatchObject({ images: [{}] });
    expect(requests.filter(({ method }) => method === "POST")).toHaveLength(2);
  });

  test("is not sent after an unsent request, a rejection, or without retries", async () => {
    const unsent = () => Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } }));
    const lost = () => Promise.reject(new TypeError("fetch failed"));
    for (const [respond, options] of [
      [unsent, {}],
      [() => createFailure(400), {}],
      [lost, { retry: { limit: 0 } }],
      [lost, withKey],
      [lost, { idempotencyKeys: false }],
    ] as const) {
      const { client, requests } = createTestClient(respond, options);
      await catchError(create(client));
      expect(requests).toHaveLength(1);
    }
  });
});

describe("the idempotency-key", () => {
  const readKey = ({ headers }: Request) => headers.get("idempotency-key");
  const text = 'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

  test("is the same in all attempts of a chat request, and new in the next request", async () => {
    const { client, requests } = createTestClient(
      (_, nth) => (nth === 1 ? createFailure(502) : streamResponse(text)),
      {
        random: () => 0,
      },
    );
    await streamChat(client, question).result();
    await streamChat(client, question).result();
    const [first, second, third] = requests.map(readKey);
    expect([first, third]).toEqual([expect.any(String), expect.any(String)]);
    expect([second === first, third === first]).toEqual([true, false]);
  });

  test.each([
    ["a client with the gateway's key", withKey],
    ["a client that has switched it off", { idempotencyKeys: false }],
  ])("is not sent by %s", async (_, options) => {
    const { client, requests } = createTestClient(() => streamResponse(text), options);
    await streamChat(client, question, { idempotencyKey: "mine" }).result();
    expect(requests.map(readKey)).toEqual([null]);
  });

  test("is not part of a query, even if the lookup of an asset is a POST", async () => {
    const { client, requests } = createTestClient(() => Response.json({ Status: "Active" }), {
      gateway: { assetLookup: "/gamma/asset/GetAsset" },
    });
    await getAsset(client, "a-1");
    expect(requests.map((request) => [request.method, readKey(request)])).toEqual([["POST", null]]);
  });

  test("is refused before anything is sent if a header cannot contain it", async () => {
    const { client, requests } = createTestClient(() => streamResponse(text));
    const failed = catchError(streamChat(client, question, { idempotencyKey: "a\nb" }).result());
    expect(await failed).toMatchObject({ name: "ConfigurationError" });
    expect(requests).toHaveLength(0);
  });
});

test("A create that is aborted between two attempts may be billed, and says so", async () => {
  const clock = stoppedClock();
  const controller = new AbortController();
  const events: ClientEvent[] = [];
  const { client } = createTestClient(() => createFailure(502, { "x-sluice-features": "idempotency" }), {
    clock,
    random: () => 0.5,
    onEvent(event) {
      events.push(event);
      if (event.type === "retry") controller.abort();
    },
  });
  const [, create] = creates[0] as (typeof creates)[number];
  await catchError(create(client, { signal: controller.signal }));
  expect(events.map(({ type }) => type)).toEqual(["request", "response", "retry", "end"]);
});
