import type { AdmittedRequest, PluginRoute } from "@sluice/worker-proxy/plugin";
import { describe, expect, test } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { chat, type Env, openProxy } from "./support/in-process.js";
import { KEY } from "./support/key.js";

expectLog("503 plugin_unavailable", "this page may not call the proxy", "there is nothing at this path");

type Options = NonNullable<Parameters<typeof openProxy>[0]>;

/** Opens a proxy with a plugin that accepts bytes, serves links, and records its requests. */
function openBytes(options: Options = {}) {
  const served: AdmittedRequest<Env>[] = [];
  const serve = async (admitted: AdmittedRequest<Env>) => {
    served.push(admitted);
    const bytes = await admitted.request.arrayBuffer();
    if (bytes.byteLength === 3) throw new Error("the disk is full");
    const headers = { "content-type": "image/png", "cache-control": "private, max-age=60", etag: '"1"' };
    return new Response(bytes.byteLength > 0 ? bytes : "bytes", { headers });
  };
  const file = { name: "media", id: "own", isRaw: true, serve } as const;
  const routes: readonly PluginRoute<Env>[] = [
    { ...file, method: "POST", path: "/v1/files" },
    { ...file, method: "PATCH", path: "/v1/files/{id}" },
    { ...file, method: "GET", path: "/v1/files/{id}" },
    { ...file, method: "GET", path: "/v1/links/{id}", isPublic: true },
    { ...file, method: "HEAD", path: "/v1/links/{id}", isPublic: true },
  ];
  const opened = openProxy({ plugins: [{ routes }], ...options });
  const send = (
    path: string,
    { token = "Bearer user-token", ...init }: RequestInit & { token?: string } = {},
  ) =>
    opened.send(
      new Request(`https://proxy.example${path}`, {
        ...init,
        headers: { ...(init.headers as Record<string, string>), ...(token && { authorization: token }) },
      }),
      { KEY },
    );
  return { ...opened, served, send };
}

describe("a path of a plugin that takes bytes", () => {
  test("gets the body unread, and its response leaves as it is", async () => {
    const { send, served, events } = openBytes();
    const body = new Uint8Array([0, 255, 128, 7]);
    for (const [method, path, id] of [
      ["POST", "/v1/files", undefined],
      ["PATCH", "/v1/files/f-1", "f-1"],
    ] as const) {
      const response = await send(path, { method, body, headers: { "content-type": "image/png" } });
      expect([response.status, new Uint8Array(await response.arrayBuffer())]).toEqual([200, body]);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "content-type": "image/png",
        "cache-control": "private, max-age=60",
        etag: '"1"',
        vary: "Origin",
        "x-content-type-options": "nosniff",
      });
      expect(served.at(-1)).toMatchObject({ user: { id: "user-1" }, route: "media", ...(id && { id }) });
    }
    expect(events).toMatchObject([
      { type: "request", route: "media", userId: "user-1", status: 200, method: "POST" },
      { type: "request", route: "media", userId: "user-1", status: 200, method: "PATCH" },
    ]);
  });

  test("is behind sign-in, origins and the rate limit, and a failure of the plugin is 503", async () => {
    const { send, served } = openBytes();
    expect((await send("/v1/files", { method: "POST", body: "x", token: "" })).status).toBe(401);
    const foreign = { method: "POST", body: "x", headers: { origin: "https://evil.example" } };
    expect((await send("/v1/files", foreign)).status).toBe(403);
    const limited = openBytes({ rateLimit: async () => ({ retryAfterMs: 1000 }) });
    expect((await limited.send("/v1/files", { method: "POST", body: "x" })).status).toBe(429);
    expect([served, limited.served]).toEqual([[], []]);
    const broken = await send("/v1/files", { method: "POST", body: "abc" });
    expect([broken.status, await broken.json()]).toMatchObject([
      503,
      { error: { code: "plugin_unavailable" } },
    ]);
  });
});

describe("a public path of a plugin", () => {
  test("needs no sign-in and no rate limit, and its plugin gets no user", async () => {
    const { send, served, events } = openBytes({ rateLimit: async () => ({ retryAfterMs: 1000 }) });
    for (const token of ["", "Bearer user-token", "Bearer forged"]) {
      const response = await send("/v1/links/l-1", { token });
      expect([response.status, (await response.arrayBuffer()).byteLength]).toEqual([200, 5]);
    }
    const head = await send("/v1/links/l-1", { method: "HEAD", token: "" });
    expect([head.status, head.headers.get("etag")]).toEqual([200, '"1"']);
    expect(served.map(({ user, id }) => [user, id])).toEqual(Array(4).fill([{ id: "" }, "l-1"]));
    for (const event of events) expect(event).not.toHaveProperty("userId");
  });

  test("opens no other path or method: they need the user", async () => {
    const { send, served, reached } = openBytes();
    for (const [method, path, status] of [
      ["GET", "/v1/files/l-1", 401],
      ["PATCH", "/v1/files/l-1", 401],
      ["POST", "/v1/files", 401],
      ["POST", "/v1/chat/completions", 401],
      ["POST", "/v1/links/l-1", 405],
      ["DELETE", "/v1/links/l-1", 405],
      ["GET", "/v1/links/l-1/../../files/l-1", 401],
      ["GET", "/v1/links/", 404],
      ["GET", "/v1/links/a%2Fb", 404],
      ["GET", "/v1/links/l-1?x=1", 400],
      ["GET", "/x/v1/links/l-1", 404],
    ] as const) {
      const body = method === "GET" || method === "DELETE" ? null : JSON.stringify(chat);
      const headers = { "content-type": "application/json" };
      const response = await send(path, { method, body, headers, token: "" });
      expect([method, path, response.status]).toEqual([method, path, status]);
    }
    expect([served, reached]).toEqual([[], []]);
  });

  test("only reads: a proxy with another method is refused at its creation", () => {
    const serve = async () => new Response("");
    const route = { name: "media", path: "/v1/links", id: "own", isPublic: true, serve } as const;
    for (const method of ["POST", "PATCH", "DELETE"] as const)
      expect(() => openProxy({ plugins: [{ routes: [{ ...route, method }] }] })).toThrow(
        "plugins: a public route only reads: GET or HEAD",
      );
  });
});

describe("a plugin that checks requests", () => {
  const post = { method: "POST", headers: { "content-type": "application/json" } };

  test("ends a request by what it throws, before any plugin responds", async () => {
    const sent: string[] = [];
    const checkRequest = async ({ body }: AdmittedRequest<Env>) => {
      if (body?.["max_tokens"] === 7) throw new Error("not this one");
    };
    const send = async () => {
      sent.push("plugin");
      return Response.json({ id: "1" });
    };
    const { send: call, reached } = openBytes({ plugins: [{ send }, { checkRequest }] });
    const refused = await call("/v1/chat/completions", {
      ...post,
      body: JSON.stringify({ ...chat, max_tokens: 7 }),
    });
    expect([refused.status, sent, reached]).toEqual([503, [], []]);
    expect((await call("/v1/chat/completions", { ...post, body: JSON.stringify(chat) })).status).toBe(200);
    expect(sent).toEqual(["plugin"]);
  });

  test("sees the JSON of images, and may name addresses of its own files", async () => {
    const received: unknown[] = [];
    const plugin = {
      responded: async ({ route }: AdmittedRequest<Env>, json: unknown) => void received.push([route, json]),
      allowsMediaURL: ({ host }: URL) => host === "files.localhost:1",
    };
    const image = "http://files.localhost:1/a.png";
    const options = { routes: ["chat", "images"], models: ["gamma-image-5-0-260128"], plugins: [plugin] };
    const { send } = openBytes(options as Options);
    const draw = (address: string) => {
      const body = JSON.stringify({ model: "gamma-image-5-0-260128", prompt: "a", image: address });
      return send("/v1/images/generations", { ...post, body });
    };
    expect((await draw(image)).status).toBe(200);
    expect((await draw("http://files.localhost:2/a.png")).status).toBe(400);
    expect(received).toEqual([["images", { id: "1" }]]);
  });
});
