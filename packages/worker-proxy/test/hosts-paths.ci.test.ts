import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Host, runtimes, startHost, user } from "./fixture/host-process.js";
import { chat } from "./support/in-process.js";
import { expectNoKey } from "./support/key.js";
import { startUpstream } from "./support/upstream.js";

let upstream: Awaited<ReturnType<typeof startUpstream>>;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.close());

describe.each(runtimes)("on $title", (runtime) => {
  const { keepsPath = false } = runtime;
  let host: Host;
  beforeAll(async () => {
    host = await startHost(runtime, upstream.url);
  });
  afterEach(() => {
    upstream.respondWith();
    host.forget();
  });
  afterAll(() => host.close());

  test("a path is sent as it stands, and reaches the gateway as the constant one", async () => {
    expect(await postRaw(`${host.address}/v1/chat/completions`)).toBe(200);
    expect(upstream.requests.map(({ url }) => url)).toEqual(["/v1/chat/completions"]);
  });

  test.each([
    ["case 1", "/v1/chat/%2e%2e/%2e%2e/admin"],
    ["case 2", "//evil.example/v1/chat/completions"],
    ["case 3", "/v1//chat/completions"],
    ["case 4", "/v1%2fchat%2fcompletions"],
    ["case 5", "/v1\\models"],
    ["case 6", "/v1/chat/completions/"],
    ["case 6", "/v1/chat/completions%00"],
    ["case 6", "/v1/chat/completions;x=1"],
    ["case 7", "/V1/chat/completions"],
    ["case 10", "/v1/models"],
    ["case 10", "/v1/video/generations"],
    ["case 10", "/dashboard/billing/subscription"],
  ])("%s: %s leads nowhere", async (_, path) => {
    expect(await postRaw(host.address + path)).toBe(404);
    expect(upstream.requests).toEqual([]);
  });

  test("a query is refused (case 9)", async () => {
    expect(await postRaw(`${host.address}/v1/chat/completions?key=1`)).toBe(400);
    expect(upstream.requests).toEqual([]);
  });

  test.each(["/v1/x/%2e%2e/chat/completions", "/v1\\chat\\completions", "/v1/./chat/completions"])(
    `%s ${keepsPath ? "leads nowhere" : "is resolved by the host, and leaves as the constant path"} (cases 2 and 5)`,
    async (path) => {
      expect(await postRaw(host.address + path)).toBe(keepsPath ? 404 : 200);
      expect(upstream.requests.map(({ url }) => url)).toEqual(keepsPath ? [] : ["/v1/chat/completions"]);
    },
  );
});

/** Posts a chat to an address without normalizing it, unlike `fetch`. Returns the status. */
function postRaw(address: string): Promise<number> {
  const [, host = "", port = "", path = ""] = /^http:\/\/([\d.]+):(\d+)(.*)$/.exec(address) ?? [];
  const body = JSON.stringify(chat);
  const headers = { ...user, host: "proxy.example", connection: "close", "content-length": body.length };
  const lines = Object.entries(headers).map((header) => header.join(": "));
  return new Promise((resolve, reject) => {
    let response = "";
    const socket = connect(Number(port), host, () =>
      socket.write(`POST ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`),
    );
    socket.setEncoding("latin1").on("data", (data) => {
      response += data;
    });
    socket.on("error", reject);
    socket.on("close", () => {
      expectNoKey(response);
      resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1]));
    });
  });
}
