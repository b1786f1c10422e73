import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startProxy } from "./support/harness.js";
import { signed } from "./support/sign.js";

let proxy: Awaited<ReturnType<typeof startProxy>>;
beforeAll(async () => {
  proxy = await startProxy({ options: { routes: ["chat", "videos"] } });
});
afterAll(() => proxy.close());
afterEach(() => proxy.forget());

/** As a client that normalises nothing: the target goes over the wire as it is written here. */
const request = (method: string, target: string, headers = "", body = "") =>
  proxy.raw(
    `${method} ${target} HTTP/1.1\r\nHost: ${proxy.url.host}\r\nConnection: close\r\n` +
      `Authorization: Bearer user-token\r\n${headers}\r\n${body}`,
  );
const json = '{"model":"delta-5.3","messages":[]}';
const typed = `Content-Type: application/json\r\nContent-Length: ${json.length}\r\n`;

test("a listed path is forwarded, so that the refusals below mean something", async () => {
  expect((await request("POST", "/v1/chat/completions", typed, json)).status).toBe(200);
  expect((await request("GET", `/v1/video/generations/${signed("task_1-A")}`)).status).toBe(200);
  expect(proxy.upstream.requests.map(({ url }) => url)).toEqual([
    "/v1/chat/completions",
    "/v1/video/generations/task_1-A",
  ]);
});

describe("a path that is not exactly in the table gets 404 and is not sent", () => {
  test.each([
    ["case 1: dots that are encoded", "/v1/chat/%2e%2e/%2e%2e/admin"],
    ["case 1: dots that lead back to a listed path", "/v1/x/%2e%2e/chat/completions"],
    ["case 1: dots that are not encoded", "/v1/x/../chat/completions"],
    ["case 5: backslashes", "/v1\\chat\\completions"],
    ["case 2: another host in the path", "//evil.example/v1/chat/completions"],
    ["case 3: an empty segment", "/v1//chat/completions"],
    ["case 3: a dot segment", "/.//v1/chat/completions"],
    ["case 4: encoded slashes", "/v1%2fchat%2fcompletions"],
    ["case 4: a task id that climbs", "/v1/video/generations/a%2f..%2f..%2fchat"],
    ["case 5: a backslash before a host", "/\\evil.example"],
    ["case 6: an encoded NUL", "/v1/chat/completions%00"],
    ["case 6: an encoded line break", "/v1/chat/completions%0d%0a"],
    ["case 6: an encoded space", "/v1/chat/completions%20"],
    ["case 6: a path parameter", "/v1/chat/completions;x=1"],
    ["case 6: a slash at the end", "/v1/chat/completions/"],
    ["case 6: dots that are encoded twice", "/v1/%252e%252e/chat/completions"],
    ["case 6: an escape that is none", "/v1/chat/completions%zz"],
    ["case 6: an overlong slash", "/v1%c0%afchat/completions"],
    ["case 6: a task id without letters", "/v1/video/generations/"],
    ["case 6: a task id of 152 letters", `/v1/video/generations/${"a".repeat(152)}`],
    ["case 7: capitals", "/V1/Chat/Completions"],
    ["case 7: a fullwidth letter", "/v1/\u00ef\u00bd\u0083hat/completions"],
    ["case 10: the list of models", "/v1/models"],
    ["case 10: the balance", "/dashboard/billing/subscription"],
    ["case 10: the account", "/api/user/self"],
    ["a route that is switched off", "/gamma/asset/CreateAsset"],
    ["the other vendor's routes", "/epsilon/v1/videos/text2video"],
  ])("%s", async (_, target) => {
    for (const method of ["GET", "POST"]) {
      const response = await request(
        method,
        target,
        method === "POST" ? typed : "",
        method === "POST" ? json : "",
      );
      expect(response.status).toBe(404);
      expect(response.text).toMatch(/"code":"not_found"/);
    }
    expect(proxy.upstream.requests).toEqual([]);
  });
});

test.each(["http://evil.example/v1/models", "*", "evil.example:443"])(
  "case 8: the target %s is no success and reaches nobody",
  async (target) => {
    const { status } = await request("POST", target, typed, json);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(proxy.upstream.requests).toEqual([]);
  },
);

test("case 8: a target that names another host does not change where the request goes", async () => {
  await request("POST", "http://evil.example/v1/chat/completions", typed, json);
  expect(proxy.upstream.requests.map(({ url }) => url)).toEqual(["/v1/chat/completions"]);
});

test.each(["?key=x", "?api_base=http://evil.example", "?", "?a=%zz"])(
  "case 9: the query %s is refused with 400",
  async (query) => {
    const { status, text } = await request("POST", `/v1/chat/completions${query}`, typed, json);
    expect([status, text]).toEqual([400, expect.stringContaining("query_not_allowed")]);
    expect(proxy.upstream.requests).toEqual([]);
  },
);

test.each(["TRACE", "PROPFIND", "QUERY", "PUT", "DELETE", "PATCH", "GET", "HEAD"])(
  "cases 11 and 12: %s on the chat path gets 405 and Allow",
  async (method) => {
    const { status, text } = await request(method, "/v1/chat/completions");
    expect([status, text]).toEqual([405, expect.stringMatching(/^allow: POST, OPTIONS\r$/im)]);
    expect(proxy.upstream.requests).toEqual([]);
  },
);

test("case 12: a GET with a body is refused", async () => {
  const { status } = await request(
    "GET",
    `/v1/video/generations/${signed("t1")}`,
    "Content-Length: 2\r\n",
    "{}",
  );
  expect(status).toBe(400);
  const chunked = "Transfer-Encoding: chunked\r\n";
  expect(
    (await request("GET", `/v1/video/generations/${signed("t1")}`, chunked, "2\r\n{}\r\n0\r\n\r\n")).status,
  ).toBe(400);
  expect(proxy.upstream.requests).toEqual([]);
});

test("case 12: X-HTTP-Method-Override is ignored", async () => {
  const { status } = await request("GET", "/v1/chat/completions", "X-HTTP-Method-Override: POST\r\n");
  expect(status).toBe(405);
});
