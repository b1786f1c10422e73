import { createProxy } from "@sluice/worker-proxy";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { KEY, read } from "./support/key.js";
import { chunk, finish, reply, startUpstream } from "./support/upstream.js";

expectLog("502 upstream_redirect");

let upstream: Awaited<ReturnType<typeof startUpstream>>;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.close());

/** The proxy on a host other than a Worker: no env, no context, Node's own fetch. */
const call = async (body: object, timeout = {}) => {
  const proxy = createProxy({
    baseURL: upstream.url,
    apiKey: () => KEY,
    authenticate: "public",
    origins: [],
    models: ["delta-5.3"],
    timeout,
  });
  const headers = { "content-type": "application/json" };
  const request = { method: "POST", headers, body: JSON.stringify(body) };
  return read(await proxy.fetch(new Request("http://proxy.example/v1/chat/completions", request)));
};

test("A stream passes in Node, with the key and without its client's headers", async () => {
  upstream.respondWith(reply(200, { "content-type": "text/event-stream" }, chunk("a") + finish));
  const { status, text } = await call({ model: "delta-5.3", stream: true });
  expect([status, text]).toEqual([200, chunk("a") + finish]);
  expect(upstream.requests[0]?.rawHeaders).toContain(`Bearer ${KEY}`);
});

test("the gateway's redirect is not followed in Node (case 38)", async () => {
  upstream.respondWith(reply(307, { location: "/v1/models" }));
  expect((await call({ model: "delta-5.3" })).error?.["code"]).toBe("upstream_redirect");
  expect(upstream.requests).toHaveLength(1);
});

test("a cut stream ends in an error event in Node (case 40)", async () => {
  upstream.respondWith((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(chunk("a"), () => response.destroy());
  });
  expect((await call({ model: "delta-5.3", stream: true })).text).toMatch(
    /event: error\ndata: .*upstream_cut.*\n\n$/,
  );
});

test("Limits in Node may be longer than the longest timer", async () => {
  upstream.respondWith((response, request) => {
    setTimeout(() => reply(200, { "content-type": "application/json" }, "{}")(response, request), 50);
  });
  const timeout = { firstChunkMs: 2 ** 40, totalMs: 2 ** 41 };
  expect((await call({ model: "delta-5.3" }, timeout)).status).toBe(200);
});
