import { connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { chat, startProxy } from "./support/harness.js";
import { expectNoKey } from "./support/key.js";

let proxy: Awaited<ReturnType<typeof startProxy>>;
beforeAll(async () => {
  proxy = await startProxy({
    options: { limits: { maxBodyBytes: 1000 }, timeout: { bodyMs: 300, chunkMs: 300 } },
  });
});
afterAll(() => proxy.close());
afterEach(() => proxy.upstream.respondWith());

const body = JSON.stringify(chat);
const head = (...headers: string[]) =>
  [
    "POST /v1/chat/completions HTTP/1.1",
    `Host: ${proxy.url.host}`,
    "Authorization: Bearer user-token",
    "Content-Type: application/json",
    ...headers,
    "\r\n",
  ].join("\r\n");
const closed = (...headers: string[]) => head("Connection: close", ...headers);
const chunked = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;

/** Returns the bodies that reached the gateway, each in a request of the table's. */
const bodies = () =>
  proxy.upstream.requests.map(({ method, url, body }) => {
    expect([method, url]).toEqual(["POST", "/v1/chat/completions"]);
    return JSON.parse(body);
  });

describe("a request that states its end twice (case 15)", () => {
  test("a length beside a transfer coding: the bytes decide, or it is refused", async () => {
    for (const length of [3, body.length, 5000]) {
      const request = closed(`Content-Length: ${length}`, "Transfer-Encoding: chunked") + chunked(body);
      const { status } = await proxy.raw(request);
      expect(status === 200 || status >= 400).toBe(true);
      expect(bodies()).toEqual(status === 200 ? [chat] : []);
      proxy.upstream.respondWith();
    }
  });

  test.each([
    ["two lengths that differ", ["Content-Length: 5", `Content-Length: ${body.length}`]],
    ["two lengths in one", [`Content-Length: 5, ${body.length}`]],
    ["a length that is no number", ["Content-Length: 0x47"]],
    ["a length with a sign", [`Content-Length: +${body.length}`]],
    ["a length below nothing", ["Content-Length: -1"]],
    ["a coding that is none", ["Transfer-Encoding: xchunked"]],
    ["a coding before another", ["Transfer-Encoding: gzip, chunked"]],
  ])("%s: nothing but the whole body reaches the gateway", async (_, headers) => {
    const { status } = await proxy.raw(closed(...headers) + body);
    expect(status >= 400 ? [] : [chat]).toEqual(bodies());
  });

  test("a length that is too small: the rest is neither a body nor a second request of the same user", async () => {
    const smuggled = "GET /v1/video/generations/a HTTP/1.1\r\nHost: a\r\n\r\n";
    const { text } = await proxy.raw(
      `${head(`Content-Length: ${body.length}`)}${body}${closed("Content-Length: 2")}[]${smuggled}`,
    );
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(bodies()).toEqual([chat]);
  });
});

test("a content-length that is too small cuts the body, which is then not JSON (case 21)", async () => {
  const { status } = await proxy.raw(closed("Content-Length: 5") + body);
  expect([status, proxy.upstream.requests.length]).toEqual([400, 0]);
});

describe("an upload that does not end (case 22)", () => {
  test.each([
    ["that says its length", () => `${closed("Content-Length: 900")}{`],
    ["that does not", () => `${closed("Transfer-Encoding: chunked")}1\r\n{\r\n`],
  ])("%s gets 408 at its deadline, and does not reach the gateway", async (_, request) => {
    const { status, text } = await proxy.raw(request());
    expect([status, text]).toEqual([408, expect.stringContaining("body_timeout")]);
    expect(proxy.upstream.requests).toEqual([]);
  });

  test("an upload that trickles gets its response at the same deadline: a byte does not extend it", async () => {
    const socket = connect(Number(proxy.url.port), proxy.url.hostname);
    socket.write(`${closed("Content-Length: 900")}{`);
    const trickle = setInterval(() => socket.write(" "), 50);
    const response = await readText(socket);
    clearInterval(trickle);
    expect(response).toMatch(/^HTTP\/1\.1 408 /);
    expect(proxy.upstream.requests).toEqual([]);
  });

  test("An upload that is cut off is not sent", async () => {
    const socket = connect(Number(proxy.url.port), proxy.url.hostname);
    socket.end(`${closed("Content-Length: 900")}${body}`);
    await readText(socket);
    expect(proxy.upstream.requests).toEqual([]);
  });
});

test.each([
  ["letters that are no UTF-8", Buffer.from('{"model":"delta-5.3","x":"\xff"}', "latin1")],
  ["a byte order mark", Buffer.from(`\ufeff${body}`)],
  ["a list", Buffer.from(`[${body}]`)],
  ["__proto__", Buffer.from('{"model":"delta-5.3","__proto__":{"a":1}}')],
  ["490 levels", Buffer.from(`{"model":"delta-5.3","x":${"[".repeat(480)}${"]".repeat(480)}}`)],
])("over a socket too, a body of %s does not reach the gateway (case 24)", async (_, bytes) => {
  const request = closed(`Content-Length: ${bytes.length}`);
  const socket = connect(Number(proxy.url.port), proxy.url.hostname);
  socket.write(Buffer.concat([Buffer.from(request), bytes]));
  expect(await readText(socket)).toMatch(/^HTTP\/1\.1 400 /);
  expect(proxy.upstream.requests).toEqual([]);
});

/** Reads a socket until its connection closes. */
function readText(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.setEncoding("latin1").on("data", (data) => {
      text += data;
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      expectNoKey(text);
      resolve(text);
    });
  });
}
