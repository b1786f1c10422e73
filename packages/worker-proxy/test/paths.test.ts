import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startProxy } from "./support/harness.js";
import { signId } from "./support/sign.js";

let proxy: Awaited<ReturnType<typeof startProxy>>;
beforeAll(async () => {
  proxy = await startProxy({ options: { routes: ["chat", "videos"] } });
});
afterAll(() => proxy.close());
afterEach(() => proxy.forget());

/** Sends a request without normalizing its target, unlike `fetch`. */
const request = (method: string, target: string, headers = "", body = "") =>
  proxy.raw(
    `${method} ${target} HTTP/1.1\r\nHost: ${proxy.url.host}\r\nConnection: close\r\n` +
      `Authorization: Bearer user-token\r\n${headers}\r\n${body}`,
  );
const json = '{"model":"delta-5.3","messages":[]}';
const typed = `Content-Type: application/json\r\nContent-Length: ${json.length}\r\n`;

test("a listed path is forwarded, so that the refusals below mean something", async () => {
  expect((await request("POST", "/v1/chat/completions", typed, json)).status).toBe(200);
  expect((await request("GET", `/v1/video/generations/${signId("task_1-A")}`)).status).toBe(200);
  expect(proxy.upstream.requests.map(({ url }) => url)).toEqual([
    "/v1/chat/completions",
    "/v1/video/generations/task_1-A",
  ]);
});

describe("a path that is not exactly in the table gets 404 and is not sent", () => {
  test.each([
    ["dots that are encoded (case 1)", "/v1/chat/%2e%2e/%2e%2e/admin"],
    ["dots that lead back to a listed path (case 1)", "/v1/x/%2e%2e/chat/completions"],
    ["dots that are not encoded (case 1)", "/v1/x/../chat/completions"],
    ["backslashes (case 5)", "/v1\\chat\\completions"],
    ["another host in the path (case 2)", "//evil.example/v1/chat/completions"],
    ["an empty segment (case 3)", "/v1//chat/completions"],
    ["a dot segment (case 3)", "/.//v1/chat/completions"],
    ["encoded slashes (case 4)", "/v1%2fchat%2fcompletions"],
    ["a task id that climbs (case 4)", "/v1/video/generations/a%2f..%2f..%2fchat"],
    ["a backslash before a host (case 5)", "/\\evil.example"],
    ["an encoded NUL (case 6)", "/v1/chat/completions%00"],
    ["an encoded line break (case 6)", "/v1/chat/completions%0d%0a"],
    ["an encoded space (case 6)", "/v1/chat/completions%20"],
    ["a path parameter (case 6)", "/v1/chat/completions;x=1"],
    ["a slash at the end (case 6)", "/v1/chat/completions/"],
    ["dots that are encoded twice (case 6)", "/v1/%252e%252e/chat/completions"],
    ["an escape that is none (case 6)", "/v1/chat/completions%zz"],
    ["an overlong slash (case 6)", "/v1%c0%afchat/completions"],
    ["a task id without letters (case 6)", "/v1/video/generations/"],
    ["a task id of 152 letters (case 6)", `/v1/video/generations/${"a".repeat(152)}`],
    ["capitals (case 7)", "/V1/Chat/Completions"],
    ["a fullwidth letter (case 7)", "/v1/\u00ef\u00bd\u0083hat/completions"],
    ["the list of models (case 10)", "/v1/models"],
    ["the balance (case 10)", "/dashboard/billing/subscription"],
    ["the account (case 10)", "/api/user/self"],
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
  "the target %s is no success and does not reach the gateway (case 8)",
  async (target) => {
    const { status } = await request("POST", target, typed, json);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(proxy.upstream.requests).toEqual([]);
  },
);

test("a target that names another host does not change where the request goes (case 8)", async () => {
  await request("POST", "http://evil.example/v1/chat/completions", typed, json);
  expect(proxy.upstream.requests.map(({ url }) => url)).toEqual(["/v1/chat/completions"]);
});

test.each(["?key=x", "?api_base=http://evil.example", "?", "?a=%zz"])(
  "the query %s is refused with 400 (case 9)",
  async (query) => {
    const { status, text } = await request("POST", `/v1/chat/completions${query}`, typed, json);
    expect([status, text]).toEqual([400, expect.stringContaining("query_not_allowed")]);
    expect(proxy.upstream.requests).toEqual([]);
  },
);

test.each(["TRACE", "PROPFIND", "QUERY", "PUT", "DELETE", "PATCH", "GET", "HEAD"])(
  "%s on the chat path gets 405 and Allow (cases 11 and 12)",
  async (method) => {
    const { status, text } = await request(method, "/v1/chat/completions");
    expect([status, text]).toEqual([405, expect.stringMatching(/^allow: POST, OPTIONS\r$/im)]);
    expect(proxy.upstream.requests).toEqual([]);
  },
);

test("a GET with a body is refused (case 12)", async () => {
  const { status } = await request(
    "GET",
    `/v1/video/generations/${signId("t1")}`,
    "Content-Length: 2\r\n",
    "{}",
  );
  expect(status).toBe(400);
  const chunked = "Transfer-Encoding: chunked\r\n";
  expect(
    (await request("GET", `/v1/video/generations/${signId("t1")}`, chunked, "2\r\n{}\r\n0\r\n\r\n")).status,
  ).toBe(400);
  expect(proxy.upstream.requests).toEqual([]);
});

test("X-HTTP-Method-Override is ignored (case 12)", async () => {
  const { status } = await request("GET", "/v1/chat/completions", "X-HTTP-Method-Override: POST\r\n");
  expect(status).toBe(405);
});
