import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { chat, startProxy } from "./support/harness.js";
import { expectNoKey, KEY, read } from "./support/key.js";
import { signId } from "./support/sign.js";
import { chunk, done, finish, reply } from "./support/upstream.js";

let proxy: Awaited<ReturnType<typeof startProxy>>;
beforeAll(async () => {
  proxy = await startProxy({ options: { routes: ["chat", "videos"] } });
});
afterAll(() => proxy.close());
afterEach(() => proxy.forget());

const body = JSON.stringify(chat);
const post = (headers: string) =>
  proxy.raw(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: ${proxy.url.host}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\n${headers}\r\n${body}`,
  );

test("nothing of the client's headers reaches the gateway, and the key is there once (case 13)", async () => {
  const { status } = await post(
    [
      "Authorization: Bearer user-token",
      "x-api-key: secret-1",
      "api-key: secret-1",
      "Cookie: session=secret-1",
      "Proxy-Authorization: Basic secret-1",
      "X-Forwarded-For: 10.9.8.7",
      "X-Forwarded-Host: secret-1",
      "Forwarded: for=10.9.8.7",
      "Via: 1.1 secret-1",
      "cf-connecting-ip: 10.9.8.7",
      "cf-access-jwt-assertion: secret-1",
      "TE: trailers",
      "Accept: text/secret-1",
      "Accept-Encoding: br",
      "User-Agent: secret-1",
      "Origin: https://app.example",
      "Referer: https://app.example/secret-1",
      "Connection: close, authorization",
      "",
    ].join("\r\n"),
  );
  expect(status).toBe(200);
  const [request] = proxy.upstream.requests;
  const sent = request?.rawHeaders ?? [];
  const names = sent.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  expect(sent.join("\n")).not.toMatch(/secret-1|10\.9\.8\.7|user-token|app\.example/);
  expect(names.sort()).toEqual([
    "accept",
    "accept-encoding",
    "authorization",
    "cf-worker", // workerd's own
    "content-length",
    "content-type",
    "host",
    "x-request-id",
  ]);
  expect(sent).toContain(`Bearer ${KEY}`);
  expect(sent[sent.findIndex((name) => /accept-encoding/i.test(name)) + 1]).toBe("identity");
  expect(request?.body).toBe(body);
});

test("a request for a task carries no other headers (case 13)", async () => {
  await proxy.call(
    chat,
    { method: "GET", body: null, headers: { cookie: "a=b" } },
    `/v1/video/generations/${signId("t1")}`,
  );
  const [request] = proxy.upstream.requests;
  expect(request?.rawHeaders.join()).not.toMatch(/cookie|content-type|user-token/i);
  expect(request?.rawHeaders).toContain(`Bearer ${KEY}`);
});

test("two Authorization headers get 401 (case 14)", async () => {
  const two = "Authorization: Bearer user-token\r\nAuthorization: Bearer user-token\r\nConnection: close\r\n";
  expect((await post(two)).status).toBe(401);
  expect(proxy.upstream.requests).toEqual([]);
});

test("only the listed headers of the gateway are passed on, and the response is not cached (cases 16 and 45)", async () => {
  proxy.upstream.respondWith(
    reply(
      200,
      {
        "content-type": "application/json; charset=utf-8",
        "set-cookie": ["a=1", "b=2"],
        "access-control-allow-origin": "*",
        server: "gateway/1.0",
        "alt-svc": 'h3=":443"',
        "clear-site-data": '"*"',
        "cache-control": "public, max-age=3600",
        etag: '"1"',
        "x-request-id": "req_1",
        "x-account-balance": "12",
      },
      "{}",
    ),
  );
  const { headers } = await proxy.call();
  // the test's HTTP server adds these headers
  const names = [...headers.keys()].filter(
    (name) => !/^(connection|content-length|keep-alive|date|transfer-encoding)$/.test(name),
  );
  expect(names.sort()).toEqual([
    "cache-control",
    "content-type",
    "vary",
    "x-content-type-options",
    "x-request-id",
    "x-sluice-source",
  ]);
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("x-request-id")).toBe("req_1");
});

test("does not send a request id that contains the key, and responds with a new one", async () => {
  proxy.upstream.respondWith(reply(200, { "content-type": "application/json", "x-request-id": KEY }, "{}"));
  expect((await proxy.call()).headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
});

test.each([
  "text/html",
  "text/plain",
  "application/javascript",
  "image/svg+xml",
  "application/json+html",
  "",
])("a response of the type %j becomes 502 (case 16)", async (type) => {
  proxy.upstream.respondWith(reply(200, type ? { "content-type": type } : {}, `<script>${KEY}</script>`));
  const { status, headers, error } = await proxy.call();
  expect([status, error?.["code"]]).toEqual([502, "upstream_type"]);
  expect(headers.get("content-type")).toBe("application/json");
});

test("events of a gateway that compresses nonetheless arrive unpacked and whole (case 43)", async () => {
  const events = chunk("a") + finish + done;
  proxy.upstream.respondWith((response) => {
    response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" });
    response.end(gzipSync(events));
  });
  const { headers, text } = await proxy.call({ ...chat, stream: true });
  expect(headers.get("content-encoding")).toBeNull();
  expect(headers.get("content-type")).toBe("text/event-stream");
  expect(text).toBe(events);
});

test("each event arrives when the gateway sends it (case 43)", async () => {
  let next: (event: string) => void = () => {};
  proxy.upstream.respondWith((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(chunk("0"));
    next = (event) => response.write(event);
  });
  const response = await proxy.send({ ...chat, stream: true });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let n = 0; n < 5; n += 1) {
    // the gateway sends the next event only after this one arrived: a proxy that gathers events would never end
    expect((await reader?.read())?.value).toBe(chunk(String(n)));
    next(chunk(String(n + 1)));
  }
  await reader?.cancel();
});

test("two users with the same request each get their own response (case 45)", async () => {
  let count = 0;
  proxy.upstream.respondWith((response) => {
    count += 1;
    response.writeHead(200, { "content-type": "application/json", "cache-control": "public, max-age=60" });
    response.end(JSON.stringify({ count }));
  });
  const call = async (name: string) => {
    const init = { method: "GET", body: null, headers: { authorization: `Bearer user-token-of-${name}` } };
    return read(await proxy.send(chat, init, `/v1/video/generations/${signId("same", "task", name)}`));
  };
  expect([(await call("ann")).text, (await call("bob")).text]).toEqual(['{"count":1}', '{"count":2}']);
});

test("a body over the limit is refused by its length, without being read (case 21)", async () => {
  const { status, text } = await proxy.raw(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: ${proxy.url.host}\r\nConnection: close\r\n` +
      "Authorization: Bearer user-token\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n{",
  );
  expect([status, text]).toEqual([413, expect.stringContaining("body_too_large")]);
  expectNoKey(text);
  expect(proxy.upstream.requests).toEqual([]);
});
