import { completeChat, isGatewayError } from "@sluice/core";
import { canReplay, getDelivery, openCall, sendRequest } from "@sluice/core/extend";
import { expect, test } from "vitest";
import { catchError, createTestClient } from "./support/gateway.js";

const chat = { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] } as const;

test("a request of an add-on has the address, headers and key of the client, and follows no redirect", async () => {
  const { client, requests } = createTestClient(() => Response.json({ left: 3 }), {
    apiKey: "key-of-the-app",
    headers: ({ path }) => ({ "x-path": path }),
  });
  const headers = { accept: "text/plain" };
  const quota = await sendRequest(client, "/v1/quota?day=1", { headers }, (response) => response.json());
  expect(quota).toEqual({ left: 3 });
  const [request] = requests;
  expect(request?.url).toBe(`${client.baseURL}/v1/quota?day=1`);
  expect(request?.redirect).toBe("manual");
  expect(Object.fromEntries(request?.headers ?? [])).toMatchObject({
    accept: "text/plain",
    authorization: "Bearer key-of-the-app",
    "x-path": "/v1/quota",
  });
});

test("a request of an add-on fails with the errors of the client", async () => {
  const fail = async (respond: () => Response | Promise<Response>, signal?: AbortSignal) => {
    const { client } = createTestClient(respond);
    return catchError(sendRequest(client, "/v1/quota", signal ? { signal } : {}, () => {}));
  };
  const refused = () => Response.json({ error: { message: "no quota", code: "none_left" } }, { status: 403 });
  expect(await fail(refused)).toMatchObject({
    name: "APIError",
    status: 403,
    message: "no quota",
    code: "none_left",
  });
  expect(await fail(() => Promise.reject(new TypeError("reset")))).toMatchObject({
    name: "ConnectionError",
    billing: "maybe",
  });
  const left = new Error("left");
  expect(await fail(() => new Promise(() => {}), AbortSignal.abort(left))).toBe(left);
});

test("a request is only repeated behind a proxy that stores its response", async () => {
  const hour = 3_600_000;
  const headers = { "x-sluice-features": "idempotency, resumable-streams" };
  const ask = (options: object, ...given: [feature: "idempotency" | "resumable-streams", sentAt?: number]) =>
    canReplay(createTestClient(() => new Response("", { headers }), options).client, ...given);
  expect(await ask({}, "idempotency")).toBe(true);
  expect(await ask({}, "idempotency", Date.now() - 22 * hour)).toBe(true);
  expect(await ask({}, "idempotency", Date.now() - 24 * hour)).toBe(false);
  expect(await ask({}, "resumable-streams", Date.now() - hour)).toBe(false);
  // the clock of the device was changed
  expect(await ask({}, "idempotency", Date.now() + hour)).toBe(false);
  expect(await ask({ idempotencyKeys: false }, "idempotency")).toBe(false);
  const { client } = createTestClient(() => new Response("", { status: 503 }));
  expect(await catchError(canReplay(client, "idempotency"))).toMatchObject({ name: "ConnectionError" });
});

test.each([
  ["refused", () => Response.json({ error: { message: "no" } }, { status: 401 })],
  ["unknown", () => Response.json({ error: { message: "no" } }, { status: 500 })],
  ["not-sent", () => Promise.reject(Object.assign(new TypeError("connect ECONNREFUSED"), {}))],
] as const)("an add-on learns that a request was %s", async (delivery, respond) => {
  const { client } = createTestClient(respond, { retry: { limit: 0 } });
  const error = await catchError(completeChat(client, chat));
  expect([isGatewayError(error), getDelivery(error)]).toEqual([true, delivery]);
});

test("an add-on reads a long body in pieces, and drops the connection when it leaves its loop", async () => {
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(3)),
    cancel() {
      isCancelled = true;
    },
  });
  const { client } = createTestClient(() => new Response(body));
  const call = openCall(client, { kind: "archive", path: "/v1/files" }, {});
  const response = await call.fetch("/v1/files");
  let size = 0;
  for await (const bytes of call.read(response)) {
    size += bytes.length;
    if (size >= 9) break;
  }
  call.end();
  expect([size, isCancelled]).toEqual([9, true]);
});
