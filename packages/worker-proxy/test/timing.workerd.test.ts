import { describe, expect, test, vi } from "vitest";
import { asked, chat, openProxy } from "./support/in-process.js";
import { KEY } from "./support/key.js";

const own = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const idOf = ({ headers }: { headers: Headers }) => headers.get("x-request-id");

describe("the request id of an answer", () => {
  test.each([
    ["a success", () => Response.json({ id: "1" }, { headers: { "x-request-id": "gw-1:a.b" } })],
    [
      "a refusal",
      () => Response.json({ error: {} }, { status: 429, headers: { "x-request-id": "gw-1:a.b" } }),
    ],
    ["a failure", () => new Response("", { status: 500, headers: { "x-request-id": "gw-1:a.b" } })],
    [
      "a stream",
      () =>
        new Response("data: [DONE]\n\n", {
          headers: { "content-type": "text/event-stream", "x-request-id": "gw-1:a.b" },
        }),
    ],
  ])("is the gateway's, of %s, and the log has the same", async (_, answer) => {
    const { ask, events } = openProxy({}, answer);
    expect(idOf(await ask(asked()))).toBe("gw-1:a.b");
    expect(events).toMatchObject([{ requestId: "gw-1:a.b" }]);
  });

  test.each([
    ["has none", ""],
    ["has one with a space", "a b"],
    ["has one that is too long", "a".repeat(129)],
    ["has one that could be markup", "<script>"],
    ["has the key in it", `req-${KEY}`],
  ])("is the proxy's where the gateway %s", async (_, id) => {
    const { ask, events } = openProxy({}, () =>
      Response.json({}, { headers: id ? { "x-request-id": id } : {} }),
    );
    const answer = await ask(asked());
    expect(idOf(answer)).toMatch(own);
    expect(events).toMatchObject([{ requestId: idOf(answer) }]);
  });

  test("is the proxy's on what it refuses itself, each time another, and never the client's", async () => {
    const { ask, events } = openProxy();
    const ids: unknown[] = [];
    for (const path of ["/v1/models", "/v1/chat/completions?a", "/v1/chat/completions"])
      ids.push(idOf(await ask(asked({ path, body: "[]", headers: { "x-request-id": "mine" } }))));
    for (const id of ids) expect(id).toMatch(own);
    expect(new Set(ids).size).toBe(3);
    expect(events.map(({ requestId }) => requestId)).toEqual(ids);
  });
});

describe("Server-Timing", () => {
  test("says how long the proxy and the gateway took", async () => {
    let now = 1_000_000;
    const clock = vi.spyOn(Date, "now").mockImplementation(() => now);
    const authenticate = () => {
      now += 70;
      return { id: "user-1" };
    };
    const { ask, events } = openProxy({ authenticate }, () => {
      now += 1500;
      return Response.json({});
    });
    expect((await ask(asked())).headers.get("server-timing")).toBe("proxy;dur=70, gateway;dur=1500");
    expect(events).toMatchObject([{ durationMs: 1570 }]);
    clock.mockRestore();
  });

  test("is the proxy's own, whatever the gateway says", async () => {
    const { ask } = openProxy({}, () =>
      Response.json({}, { headers: { "server-timing": "db;desc=10.0.0.1" } }),
    );
    expect((await ask(asked())).headers.get("server-timing")).not.toContain("db");
  });

  test("is on a stream before its first event", async () => {
    const body = new ReadableStream({ pull: () => new Promise(() => {}) });
    const { send } = openProxy(
      {},
      () => new Response(body, { headers: { "content-type": "text/event-stream" } }),
    );
    const response = await send(asked({ body: { ...chat, stream: true } }));
    expect(response.headers.get("server-timing")).toMatch(/gateway;dur=/);
    await response.body?.cancel();
  });
});

test("pages may read these headers, and those of a refusal", async () => {
  const { ask } = openProxy();
  for (const path of ["/v1/chat/completions", "/v1/models"]) {
    const { headers } = await ask(asked({ path, headers: { origin: "https://app.example" } }));
    expect(headers.get("access-control-expose-headers")?.split(", ")).toEqual([
      "retry-after",
      "server-timing",
      "x-request-id",
      "x-sluice-dropped",
      "x-sluice-offers",
      "x-sluice-source",
      "x-stream-id",
    ]);
  }
});
