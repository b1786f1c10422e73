import { describe, expect, test } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { createRequest, openProxy } from "./support/in-process.js";
import { KEY } from "./support/key.js";

expectLog("502 upstream_error");

const own = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const readId = ({ headers }: { headers: Headers }) => headers.get("x-request-id");

describe("the request id of a response", () => {
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
  ])("is the gateway's id of %s, and the log has it", async (_, respond) => {
    const { call, events } = openProxy({}, respond);
    expect(readId(await call(createRequest()))).toBe("gw-1:a.b");
    expect(events).toMatchObject([{ requestId: "gw-1:a.b" }]);
  });

  test.each([
    ["has none", ""],
    ["has one with a space", "a b"],
    ["has one that is too long", "a".repeat(129)],
    ["has one that could be markup", "<script>"],
    ["has the key in it", `req-${KEY}`],
  ])("is the proxy's where the gateway %s", async (_, id) => {
    const { call, events } = openProxy({}, () =>
      Response.json({}, { headers: id ? { "x-request-id": id } : {} }),
    );
    const response = await call(createRequest());
    expect(readId(response)).toMatch(own);
    expect(events).toMatchObject([{ requestId: readId(response) }]);
  });

  test("is a new id of the proxy for each of its refusals, and never the client's", async () => {
    const { call, events } = openProxy();
    const ids: unknown[] = [];
    for (const path of ["/v1/models", "/v1/chat/completions?a", "/v1/chat/completions"])
      ids.push(readId(await call(createRequest({ path, body: "[]", headers: { "x-request-id": "mine" } }))));
    for (const id of ids) expect(id).toMatch(own);
    expect(new Set(ids).size).toBe(3);
    expect(events.map(({ requestId }) => requestId)).toEqual(ids);
  });
});

test("pages may read these headers, and those of a refusal", async () => {
  const { call } = openProxy();
  for (const path of ["/v1/chat/completions", "/v1/models"]) {
    const { headers } = await call(createRequest({ path, headers: { origin: "https://app.example" } }));
    expect(headers.get("access-control-expose-headers")?.split(", ")).toEqual([
      "retry-after",
      "x-request-id",
      "x-sluice-account",
      "x-sluice-dropped-fields",
      "x-sluice-features",
      "x-sluice-source",
      "x-stream-id",
    ]);
  }
});
