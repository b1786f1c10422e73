import type { ClientOptions } from "@sluice/core";
import { fetchMedia } from "@sluice/media";
import { describe, expect, test } from "vitest";
import { createTestClient, openBody, stoppedClock } from "../../../core/test/support/gateway.js";

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13];
const url = "https://files.test/reef.png?signature=abc";

/** Creates a client that has a key and headers, and whose requests a server of files receives. */
function openFileServer(
  respond: (request: Request, nth: number) => Response,
  options: Partial<ClientOptions> = {},
) {
  const events: unknown[] = [];
  const opened = createTestClient(respond, {
    apiKey: "sk-0123456789",
    dangerouslyAllowBrowser: true,
    headers: { "x-user": "u-1", cookie: "a=b" },
    onEvent: (event) => void events.push(event),
    ...options,
  });
  return { ...opened, events };
}

const createPNG = (headers: Record<string, string> = {}) => new Response(new Uint8Array(PNG), { headers });

describe("the file of a result", () => {
  test("is read as bytes with a type, and its server gets no key, no header and no cookie", async () => {
    const { client, requests, events } = openFileServer(() =>
      createPNG({ "content-type": "application/octet-stream" }),
    );
    const file = await fetchMedia(client, url);
    expect([...new Uint8Array(await file.arrayBuffer())]).toEqual(PNG);
    expect(file.type).toBe("image/png");
    expect([...(requests[0]?.headers ?? [])]).toEqual([]);
    expect(requests[0]).toMatchObject({ url, method: "GET", redirect: "follow" });
    expect(events).toEqual([]);
  });

  test("has the type that its server names if its first bytes have no signature", async () => {
    const { client } = openFileServer(
      () => new Response(new Uint8Array([1, 2]), { headers: { "content-type": "Model/GLTF-Binary; a=b" } }),
    );
    expect((await fetchMedia(client, new URL(url))).type).toBe("model/gltf-binary");
  });

  test("is read from a data: URL without a request, and within maxBytes", async () => {
    const { client, requests } = openFileServer(() => createPNG());
    const whole = `data:image/jpeg;base64,${btoa(String.fromCharCode(...PNG))}`;
    const file = await fetchMedia(client, whole);
    expect([...new Uint8Array(await file.arrayBuffer())]).toEqual(PNG);
    expect(file.type).toBe("image/png");
    expect((await fetchMedia(client, "data:model/gltf-binary;base64,AAEC")).type).toBe("model/gltf-binary");
    await expect(fetchMedia(client, whole, { maxBytes: 11 })).rejects.toMatchObject({
      message: "the file is larger than 11 bytes (maxBytes)",
    });
    await expect(fetchMedia(client, "data:image/png;base64,=A=")).rejects.toMatchObject({
      issues: [{ path: "url", rule: "media.url" }],
    });
    expect(requests).toEqual([]);
  });

  test("is refused when its server declares more than maxBytes, and its connection is dropped", async () => {
    const body = openBody();
    const { client } = openFileServer(() => new Response(body.body, { headers: { "content-length": "13" } }));
    await expect(fetchMedia(client, url, { maxBytes: 12 })).rejects.toMatchObject({
      name: "ResponseError",
      message: "the file is larger than 12 bytes (maxBytes)",
    });
    expect(body.cancelled).toBe(true);
  });

  test("is dropped at the first chunk beyond maxBytes, whatever its server declares", async () => {
    let sent = 0;
    const endless = new ReadableStream({
      pull: (controller) => {
        sent += 1000;
        controller.enqueue(new Uint8Array(1000));
      },
    });
    const { client } = openFileServer(() => new Response(endless, { headers: { "content-length": "10" } }));
    await expect(fetchMedia(client, url, { maxBytes: 10_000 })).rejects.toThrow("maxBytes");
    expect(sent).toBeLessThan(20_000);
  });

  test.each<Record<string, string>>([{}, { "content-length": String(PNG.length) }])(
    "is read if it has exactly maxBytes, with the headers %j",
    async (headers) => {
      const { client } = openFileServer(() => createPNG(headers));
      expect((await fetchMedia(client, url, { maxBytes: PNG.length })).size).toBe(PNG.length);
    },
  );

  test("is refused beyond 100 MiB without maxBytes", async () => {
    const { client } = openFileServer(() => createPNG({ "content-length": String(100 * 1024 ** 2 + 1) }));
    await expect(fetchMedia(client, url)).rejects.toThrow("larger than 104857600 bytes");
  });

  test.each([403, 404, 410])(
    "is refused after a %i with the words that its link has ended",
    async (status) => {
      const { client, requests } = openFileServer(() => new Response("<Error/>", { status }));
      await expect(fetchMedia(client, url)).rejects.toMatchObject({
        name: "APIError",
        status,
        message: `HTTP ${status}: the file could not be read; its link has ended`,
      });
      expect(requests).toHaveLength(1);
    },
  );

  test("is refused after a 503 with its Retry-After, and without the words that its link has ended", async () => {
    const { client } = openFileServer(
      () => new Response("", { status: 503, headers: { "retry-after": "86400" } }),
    );
    await expect(fetchMedia(client, url)).rejects.toMatchObject({
      message: "HTTP 503: the file could not be read",
      retryAfterMs: 86_400_000,
    });
  });

  test.each([
    ["empty", () => new Response(new Uint8Array()), "the file is empty", ""],
    [
      "a page",
      () => new Response("<p>Sign in</p>", { headers: { "content-type": "text/html" } }),
      "no media",
      "<p>Sign in</p>",
    ],
    ["JSON", () => Response.json({ error: "no" }), "of type application/json", '{"error":"no"}'],
  ])("is an error with its text if the response is %s", async (_, respond, message, body) => {
    await expect(fetchMedia(openFileServer(respond).client, url)).rejects.toMatchObject({
      name: "ResponseError",
      message: expect.stringContaining(message),
      body,
    });
  });

  test("is an error if the connection breaks, even if the platform does not notice", async () => {
    const { client } = openFileServer(() => createPNG({ "content-length": "100" }));
    await expect(fetchMedia(client, url)).rejects.toMatchObject({
      name: "ConnectionError",
      message: expect.stringContaining("12 of 100 bytes"),
    });
  });

  test("is an error with its cause if the connection fails before or after the headers", async () => {
    const cause = new TypeError("fetch failed");
    const { client } = openFileServer(() => {
      throw cause;
    });
    await expect(fetchMedia(client, url)).rejects.toMatchObject({ name: "ConnectionError", cause });
    const body = openBody();
    const later = fetchMedia(openFileServer(() => new Response(body.body)).client, url);
    await body.wanted();
    body.drop();
    await expect(later).rejects.toMatchObject({ name: "ConnectionError", billing: "none" });
  });

  test.each([
    "data:image/png,not-base64",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "https://user:word@files.test/reef.png",
    "http://",
  ])("is not requested from %s", async (address) => {
    const { client, requests } = openFileServer(() => createPNG());
    await expect(fetchMedia(client, address)).rejects.toMatchObject({
      name: "ValidationError",
      issues: [{ path: "url", rule: "media.url" }],
    });
    expect(requests).toEqual([]);
  });
});

describe("the time for the file of a result", () => {
  const waitForever = () => new Promise<Response>(() => {});
  test("ends without a response, and no timer remains", async () => {
    const clock = stoppedClock();
    const { client } = createTestClient(waitForever, { clock });
    await expect(clock.advanceUntil(fetchMedia(client, url), 1000)).rejects.toMatchObject({
      name: "TimeoutError",
      phase: "first-chunk",
    });
    expect([clock.now(), clock.sleeping()]).toEqual([60_000, 0]);
  });

  test("ends if the response stalls", async () => {
    const clock = stoppedClock();
    const body = openBody();
    const { client } = createTestClient(() => new Response(body.body), { clock });
    await expect(clock.advanceUntil(fetchMedia(client, url), 1000)).rejects.toMatchObject({
      phase: "chunk",
    });
    expect([body.cancelled, clock.sleeping()]).toEqual([true, 0]);
  });

  test("ends after 10 minutes, even if single bytes arrive", async () => {
    const clock = stoppedClock();
    const trickle = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          await clock.sleep(30_000);
          controller.enqueue(new Uint8Array(1));
        },
      },
      { highWaterMark: 0 },
    );
    const { client } = createTestClient(() => new Response(trickle), { clock });
    await expect(clock.advanceUntil(fetchMedia(client, url), 10_000)).rejects.toMatchObject({
      phase: "total",
    });
    expect(clock.now()).toBe(600_000);
  });

  test("ends with the reason of the signal, before and while it is read", async () => {
    const { client, requests } = openFileServer(() => createPNG());
    const reason = new Error("closed");
    await expect(fetchMedia(client, url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(requests).toEqual([]);
    const body = openBody();
    const closing = new AbortController();
    const reading = fetchMedia(openFileServer(() => new Response(body.body)).client, url, {
      signal: closing.signal,
    });
    await body.wanted();
    closing.abort(reason);
    await expect(reading).rejects.toBe(reason);
    expect(body.cancelled).toBe(true);
  });
});
