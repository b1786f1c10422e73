import type { ProxyPlugin } from "@sluice/worker-proxy";
import type { AdmittedRequest } from "@sluice/worker-proxy/plugin";
import { describe, expect, test } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { chat, createRequest, type Env, openProxy } from "./support/in-process.js";
import { KEY } from "./support/key.js";
import { SECRET, signId } from "./support/sign.js";

expectLog(
  "there is nothing at this path",
  "this page may not call the proxy",
  "503 plugin_unavailable",
  "502 upstream_type",
  "502 upstream_redirect",
  "504 upstream_timeout",
  "502 upstream_error",
);

type Options = Parameters<typeof openProxy>[0];

/** Opens a proxy with a plugin that has one path of each kind, and records its requests. */
function openPlugin(
  respond: (admitted: AdmittedRequest<Env>) => Response | Promise<Response> = () =>
    Response.json({ said: "by the plugin" }),
  options: Options = {},
  more: Partial<ProxyPlugin<Env>> = {},
) {
  const served: AdmittedRequest<Env>[] = [];
  const serve = async (admitted: AdmittedRequest<Env>) => {
    served.push(admitted);
    return respond(admitted);
  };
  const plugin: ProxyPlugin<Env> = {
    routes: [
      { name: "videos", method: "GET", path: "/v1/video/generations/{id}/events", id: "task", serve },
      { name: "chat", method: "GET", path: "/v1/chat/streams/{id}", id: "own", serve },
      { name: "chat", method: "DELETE", path: "/v1/chat/streams/{id}", id: "own", serve },
    ],
    features: { videos: "video-events" },
    ...more,
  };
  const opened = openProxy({
    routes: ["chat", "videos"],
    secret: () => SECRET,
    plugins: [plugin],
    ...options,
  });
  const request = (method: string, path: string) => opened.call(createRequest({ method, path }));
  return {
    ...opened,
    served,
    request,
    resume: (id: string) => request("GET", `/v1/chat/streams/${id}`),
    watch: (id: string) => request("GET", `/v1/video/generations/${id}/events`),
  };
}

describe("a path of a plugin", () => {
  test("is served after the checks, with their results", async () => {
    const { resume, served, reached, events } = openPlugin();
    const { status, text, headers } = await resume("s-1");
    expect([status, text]).toEqual([200, '{"said":"by the plugin"}']);
    expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual([
      "no-store",
      "nosniff",
    ]);
    expect(served).toMatchObject([
      { user: { id: "user-1" }, route: "chat", id: "s-1", signedId: "s-1", env: { KEY } },
    ]);
    expect(reached).toEqual([]);
    expect(events).toMatchObject([{ route: "chat", method: "GET", status: 200, userId: "user-1" }]);
  });

  test("needs no id", async () => {
    const serve = async (admitted: AdmittedRequest<Env>) => Response.json({ id: admitted.id ?? "none" });
    const { request } = openPlugin(
      undefined,
      {},
      { routes: [{ name: "budget", method: "GET", path: "/v1/budget", id: "own", serve }] },
    );
    expect((await request("GET", "/v1/budget")).text).toBe('{"id":"none"}');
  });

  test("a path that names a task gets the gateway's own id, and the response has the user's mark", async () => {
    const { watch, served } = openPlugin(({ id }) => Response.json({ data: { task_id: id } }));
    const { text } = await watch(signId("t-1"));
    expect(served).toMatchObject([{ id: "t-1", signedId: signId("t-1") }]);
    expect(JSON.parse(text)).toEqual({ data: { task_id: signId("t-1") } });
  });

  test("is 404 for the task of another user (case 34)", async () => {
    const { watch, served } = openPlugin();
    const foreign = await watch(signId("t-1", "task", "user-2"));
    const unknown = await watch("t-1");
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text]);
    expect(served).toEqual([]);
  });

  test("may return nothing, or a stream without `[DONE]`", async () => {
    const { request } = openPlugin(() => new Response(null, { status: 204 }));
    const gone = await request("DELETE", "/v1/chat/streams/s-1");
    expect([gone.status, gone.text, gone.headers.get("vary")]).toEqual([204, "", "Origin"]);
    const headers = { "content-type": "text/event-stream" };
    const { watch } = openPlugin(() => new Response("event: end\ndata: {}\n\n", { headers }));
    expect((await watch(signId("t-1"))).text).toBe("event: end\ndata: {}\n\n");
  });

  test("a wrong method is refused, and the refusal names the methods", async () => {
    const { request, call } = openPlugin();
    const { status, headers } = await request("POST", "/v1/chat/streams/s-1");
    expect([status, headers.get("allow")]).toEqual([405, "GET, DELETE, OPTIONS"]);
    const origin = { origin: "https://app.example" };
    const preflight = await call(
      createRequest({ method: "OPTIONS", path: "/v1/chat/streams/s-1", headers: origin }),
    );
    expect(preflight.headers.get("access-control-allow-methods")).toBe("GET, DELETE");
  });

  test("takes ids of plain letters alone", async () => {
    const { resume, served } = openPlugin();
    for (const id of ["", "a/b", "a%2fb", "..", "a.b", "a b", "a".repeat(152)])
      expect((await resume(id)).status).toBe(404);
    expect(served).toEqual([]);
  });

  test("takes no body", async () => {
    const { served, call } = openPlugin();
    const headers = { "content-length": "2" };
    expect(
      (await call(createRequest({ method: "DELETE", path: "/v1/chat/streams/s-1", headers }))).status,
    ).toBe(400);
    expect(served).toEqual([]);
  });

  test("takes a DELETE with an empty stream for a body, as some hosts give it", async () => {
    const { served, call } = openPlugin();
    const init = { method: "DELETE", headers: { authorization: "Bearer user-token" }, body: "" };
    const request = new Request("https://proxy.example/v1/chat/streams/s-1", init);
    expect(request.body).not.toBeNull();
    expect((await call(request)).status).toBe(200);
    expect(served).toHaveLength(1);
  });

  test("may be silent for longer than the gateway", async () => {
    const headers = { "content-type": "text/event-stream" };
    const { watch } = openPlugin(
      () => {
        const { readable, writable } = new TransformStream<string, string>();
        const writer = writable.getWriter();
        void writer.write(":\n\n");
        setTimeout(() => void writer.write("event: end\ndata: {}\n\n").then(() => writer.close()), 60);
        return new Response(readable.pipeThrough(new TextEncoderStream()), { headers });
      },
      { timeout: { chunkMs: 10 } },
    );
    expect((await watch(signId("t-1"))).text).toBe(":\n\nevent: end\ndata: {}\n\n");
  });

  test("is closed while its group is closed", async () => {
    const { watch, served } = openPlugin(undefined, { routes: ["chat"] });
    expect([(await watch(signId("t-1"))).status, served.length]).toEqual([404, 0]);
  });

  test("is refused without a user, above the rate, and to other pages", async () => {
    const closed = openPlugin(undefined, { authenticate: () => null });
    expect((await closed.resume("s-1")).status).toBe(401);
    const limited = openPlugin(undefined, { rateLimit: () => ({ retryAfterMs: 1 }) });
    expect((await limited.resume("s-1")).status).toBe(429);
    const { call, served } = openPlugin();
    const headers = { origin: "https://evil.example" };
    expect((await call(createRequest({ method: "GET", path: "/v1/chat/streams/s-1", headers }))).status).toBe(
      403,
    );
    expect([closed, limited, { served }].flatMap((each) => each.served)).toEqual([]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("at 10.0.0.1");
      },
      503,
      "plugin_unavailable",
    ],
    [
      "refuses in the gateway's shape",
      () => Response.json({ error: { message: "gone", code: "stream_gone" } }, { status: 404 }),
      404,
      "stream_gone",
    ],
    [
      "responds with a page",
      () => new Response("<h1>", { headers: { "content-type": "text/html" } }),
      502,
      "upstream_type",
    ],
    [
      "sends elsewhere",
      () => new Response(null, { status: 302, headers: { location: "https://evil.example" } }),
      502,
      "upstream_redirect",
    ],
    ["quotes the key", () => Response.json({ key: KEY }), 502, "upstream_type"],
  ] as [string, () => Response, number, string][])(
    "gets the response of a gateway's path if it %s",
    async (_, respond, status, code) => {
      const { resume } = openPlugin(respond);
      const refused = await resume("s-1");
      expect([refused.status, refused.error?.["code"]]).toEqual([status, code]);
      expect(refused.headers.has("location")).toBe(false);
    },
  );

  test("`timeout.firstChunkMs` bounds the gateway's response, and not the paths of a plugin", async () => {
    let respond: (response: Response) => void = () => {};
    const late = new Promise<Response>((resolve) => {
      respond = resolve;
    });
    const { call, resume } = openPlugin(() => late, {
      timeout: { firstChunkMs: 5 },
      fetch: () => new Promise(() => {}),
    });
    const resumed = resume("s-1");
    // begun later, under the same limit
    expect((await call(createRequest())).error?.["code"]).toBe("upstream_timeout");
    respond(Response.json({ said: "late" }));
    expect((await resumed).text).toBe('{"said":"late"}');
  });

  test("gives `upstream_timeout` if it does not respond within `firstChunkMs`", async () => {
    const { call } = openPlugin(
      undefined,
      { timeout: { firstChunkMs: 5 } },
      { send: () => new Promise(() => {}) },
    );
    expect((await call(createRequest())).error?.["code"]).toBe("upstream_timeout");
  });
});

test("names a feature only on responses of its group", async () => {
  const { call } = openPlugin();
  const poll = () => call(createRequest({ method: "GET", path: `/v1/video/generations/${signId("t-1")}` }));
  expect((await poll()).headers.get("x-sluice-features")).toBe("video-events");
  expect((await call(createRequest())).headers.get("x-sluice-features")).toBeNull();
  const without = openPlugin(undefined, {}, { features: {} });
  const { headers } = await without.call(
    createRequest({ method: "GET", path: `/v1/video/generations/${signId("t-1")}` }),
  );
  expect(headers.get("x-sluice-features")).toBeNull();
});

const HEALTH = {
  name: "health",
  method: "GET",
  path: "/health",
  id: "own",
  isPublic: true,
  isRaw: true,
} as const;

test("Refusals and /health name the features, too, because a lost response says nothing", async () => {
  const features = { chat: "resumable-streams", health: "resumable-streams" };
  const { call, resume } = openPlugin(
    () => Response.json({ error: { message: "no" } }, { status: 502 }),
    { routes: ["chat", "videos"] },
    { features, createRoutes: () => [{ ...HEALTH, serve: async () => Response.json({}) }] },
  );
  const health = await call(
    createRequest({ method: "GET", path: "/health", headers: { origin: "https://app.example" } }),
  );
  expect([health.status, health.headers.get("x-sluice-features")]).toEqual([200, "resumable-streams"]);
  expect(health.headers.get("access-control-expose-headers")).toContain("x-sluice-features");
  const refused = [
    await resume("s-1"),
    await call(createRequest({ body: {} })),
    await call(createRequest({ headers: { authorization: "" } })),
  ];
  expect(refused.map(({ status, headers }) => [status, headers.get("x-sluice-features")])).toEqual([
    [502, "resumable-streams"],
    [403, "resumable-streams"],
    [401, "resumable-streams"],
  ]);
});

describe("a plugin that responds in place of the gateway", () => {
  test("responds to the requests it chooses; the rest reach the gateway", async () => {
    const received: AdmittedRequest<Env>[] = [];
    const send = (admitted: AdmittedRequest<Env>) => {
      if (admitted.body?.["stream"] !== true) return undefined;
      received.push(admitted);
      return Promise.resolve(Response.json({ id: "taken" }));
    };
    const { call, reached } = openPlugin(undefined, {}, { send });
    const streamed = await call(createRequest({ body: { ...chat, stream: true } }));
    expect([streamed.text, reached.length]).toEqual(['{"id":"taken"}', 0]);
    expect(received).toMatchObject([
      { user: { id: "user-1" }, route: "chat", path: "/v1/chat/completions", model: "delta-5.3" },
    ]);
    await call(createRequest());
    expect(reached).toHaveLength(1);
  });

  test("gets the body as it would be sent, and no refused request", async () => {
    const bodies: unknown[] = [];
    const send = ({ body }: AdmittedRequest<Env>) => void bodies.push(body);
    const { call } = openPlugin(undefined, { models: { "delta-5.3": { max_tokens: 9 } } }, { send });
    await call(createRequest({ body: chat }));
    await call(createRequest({ body: { ...chat, max_tokens: 10 } }));
    await call(createRequest({ body: { model: "other" } }));
    expect(bodies).toEqual([{ ...chat, max_tokens: 9 }]);
  });

  test("is called in the order of the list, until one responds", async () => {
    const order: string[] = [];
    const createRoute = (name: string, takes: boolean): ProxyPlugin<Env> => ({
      routes: [],
      send() {
        order.push(name);
        return takes ? Promise.resolve(Response.json({ name })) : undefined;
      },
    });
    const { call } = openProxy({
      plugins: [createRoute("a", false), createRoute("b", true), createRoute("c", true)],
    });
    expect((await call(createRequest())).text).toBe('{"name":"b"}');
    expect(order).toEqual(["a", "b"]);
  });

  test("is 503 if it fails (case 59)", async () => {
    const { call } = openPlugin(undefined, {}, { send: () => Promise.reject(new Error("at 10.0.0.1")) });
    const { status, text } = await call(createRequest());
    expect([status, text.includes("10.0.0.1")]).toEqual([503, false]);
  });
});

test("without a plugin the gateway's own `x-stream-id` is not passed on", async () => {
  const { call } = openProxy({}, () => Response.json({}, { headers: { "x-stream-id": "s-1" } }));
  expect((await call(createRequest())).headers.get("x-stream-id")).toBeNull();
});
