import { createProxy, type ProxyEvent, readStreams, type User } from "@sluice/worker-proxy";
import { definePlugin, findServer } from "@sluice/worker-proxy/plugin";
import { describe, expect, test } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { chat, createRequest, fine } from "./support/in-process.js";
import { expectNoKey, KEY, read } from "./support/key.js";
import { SECRET } from "./support/sign.js";

expectLog("502 upstream_type");

const env = { KEY };
const ada: User = { id: "ada", session: "s-1" };

/** A proxy that accepts no sign-in, so that only the operator's own code reaches its gateway. */
function openClosedProxy(options: Partial<Parameters<typeof createProxy<typeof env>>[0]> = {}) {
  const reached: Request[] = [];
  const events: { readonly user?: string; readonly code?: string }[] = [];
  const proxy = createProxy<typeof env>({
    baseURL: "https://gateway.example",
    apiKey: ({ KEY: key }) => key,
    authenticate: () => null,
    origins: ["https://app.example"],
    models: { "delta-5.3": { max_tokens: 100 } },
    fetch: async (request) => {
      reached.push(request);
      return fine(request);
    },
    plugins: [definePlugin({ onEvent: (event: ProxyEvent) => void events.push(event as object) })],
    ...options,
  });
  return { proxy, reached, events };
}

const post = (path: string, body: unknown = chat) =>
  new Request(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

describe("a request of the operator's own code for a user (case 240)", () => {
  test("is sent with the key, and its event names the user", async () => {
    const { proxy, reached, events } = openClosedProxy({ basePath: "/api" });
    const { baseURL, fetch } = findServer(proxy).connectAs(ada, env);
    const { status } = await read(await fetch(post(`${baseURL}/v1/chat/completions`)));
    expect(status).toBe(200);
    expect(reached[0]?.headers.get("authorization")).toBe(`Bearer ${KEY}`);
    await expect.poll(() => events).toMatchObject([{ userId: "ada" }]);
  });

  test.each([
    ["a cap of a model", { ...chat, max_tokens: 101 }, {}, 400],
    ["a model that is not listed", { ...chat, model: "alpha-v4.1-flash" }, {}, 403],
    ["a rate limit", chat, { rateLimit: async () => ({ retryAfterMs: 1000 }) }, 429],
    [
      "a meter that is used up",
      chat,
      { plugins: [{ ...readStreams(), reserve: async () => ({ retryAfterMs: 1000 }) }] },
      429,
    ],
  ])("meets %s as the user's own requests do", async (_, body, options, status) => {
    const { proxy, reached } = openClosedProxy(options);
    const { baseURL, fetch } = findServer(proxy).connectAs(ada, env);
    expect((await fetch(post(`${baseURL}/v1/chat/completions`, body))).status).toBe(status);
    expect(reached).toEqual([]);
  });

  test("cannot be imitated by a header, an address or a field of a request from outside", async () => {
    const { proxy, reached } = openClosedProxy();
    const names = [
      "x-sluice-user",
      "x-sluice-caller",
      "x-sluice-inside",
      "x-sluice-object",
      "x-user",
      "user",
    ];
    for (const name of names) {
      const { status } = await proxy.fetch(createRequest({ headers: { [name]: "ada" } }), env);
      expect(status).toBe(401);
    }
    const there = post("https://inside.invalid/v1/chat/completions", { ...chat, user: "ada" });
    expect((await proxy.fetch(there, env)).status).toBe(401);
    expect(reached).toEqual([]);
  });

  test.each([[undefined], [null], [{}], [{ id: "" }], [{ id: 7 }]])("needs a user: %j is none", (user) => {
    const { proxy } = openClosedProxy();
    expect(() => findServer(proxy).connectAs(user as unknown as User, env)).toThrow(TypeError);
  });

  test("needs a proxy of createProxy", () => {
    const { proxy } = openClosedProxy();
    expect(() => findServer({ ...proxy })).toThrow("give the proxy that createProxy made");
  });

  test("reaches routes of the gateway alone: no operator's, no health, none of a plugin", async () => {
    const serve = async () => Response.json({});
    const { proxy } = openClosedProxy({
      secret: () => SECRET,
      plugins: [
        definePlugin({
          routes: [
            {
              name: "admin",
              method: "POST",
              path: "/v1/admin/all",
              id: "own",
              isOperator: () => true,
              serve,
            },
          ],
        }),
      ],
    });
    const { baseURL, fetch } = findServer(proxy).connectAs(ada, env);
    expect((await fetch(post(`${baseURL}/v1/admin/all`, {}))).status).toBe(404);
    expect((await fetch(new Request(`${baseURL}/health`))).status).toBe(404);
    expect((await fetch(new Request(`${baseURL}/v1/budget`))).status).toBe(404);
  });

  test("gets no part of the key", async () => {
    const { proxy } = openClosedProxy({ fetch: async () => Response.json({ said: KEY }) });
    const { baseURL, fetch } = findServer(proxy).connectAs(ada, env);
    const response = await fetch(post(`${baseURL}/v1/chat/completions`));
    expectNoKey(await response.text());
  });
});
