import { completeChat, isGatewayError } from "@sluice/core";
import { checkBySchema, createRequest, getDelivery, openCall } from "@sluice/core/extend";
import * as v from "valibot";
import { expect, test } from "vitest";
import { catchError, createTestClient } from "./support/gateway.js";

const chat = { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] } as const;

test("a request of an add-on has the address, headers and key of the client, and follows no redirect", async () => {
  const { client } = createTestClient(() => new Response(), {
    apiKey: "key-of-the-app",
    headers: ({ path }) => ({ "x-path": path }),
  });
  const request = await createRequest(client, "/v1/quota?day=1", { headers: { accept: "text/plain" } });
  expect(request.url).toBe(`${client.baseURL}/v1/quota?day=1`);
  expect(request.redirect).toBe("manual");
  expect(Object.fromEntries(request.headers)).toMatchObject({
    accept: "text/plain",
    authorization: "Bearer key-of-the-app",
    "x-path": "/v1/quota",
  });
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
  const response = await client.fetch(await createRequest(client, "/v1/files"));
  let size = 0;
  for await (const bytes of call.read(response)) {
    size += bytes.length;
    if (size >= 9) break;
  }
  call.end();
  expect([size, isCancelled]).toEqual([9, true]);
});

test("a value is checked by a schema of any library, and all problems are in one text", async () => {
  const schema = v.object({ city: v.string(), days: v.array(v.number()) });
  expect(await checkBySchema(schema, { city: "Oslo", days: [1] })).toMatchObject({
    value: { city: "Oslo", days: [1] },
  });
  const checked = await checkBySchema(schema, { city: 7, days: [1, "two"] });
  expect(checked).toMatchObject({ path: "city", problem: expect.stringMatching(/^city: .+; days\.1: /) });
});
