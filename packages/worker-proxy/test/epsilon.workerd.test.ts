import type { ProxyOptions } from "@sluice/worker-proxy";
import { describe, expect, test } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { createRequest, openProxy } from "./support/in-process.js";
import { SECRET, signId } from "./support/sign.js";

expectLog("there is nothing at this path");

type Options = Parameters<typeof openProxy>[0];

const path = "/epsilon/v1/videos/text2video";
const receipt = { code: 0, request_id: "r", data: { task_id: "e-1", task_status: "submitted" } };

function openEpsilon(options: Options = {}, respond = () => Response.json(receipt)) {
  const opened = openProxy(
    {
      routes: ["chat", "videos", "epsilon"],
      secret: () => SECRET,
      models: ["epsilon", "beta3.0-video"],
      authenticate: ({ headers }) => ({ id: headers.get("authorization")?.slice(7) ?? "" }),
      ...options,
    },
    respond,
  );
  const as = (user: string) => ({ authorization: `Bearer ${user}` });
  return {
    ...opened,
    create: (body: unknown, to = path) =>
      opened.call(createRequest({ path: to, headers: as("user-1"), body })),
    query: (id: string, user = "user-1") =>
      opened.call(createRequest({ method: "GET", path: `/epsilon/v1/videos/${id}`, headers: as(user) })),
  };
}

describe("epsilon", () => {
  test.each(["text2video", "image2video", "multi-image2video"])(
    "%s: a body passes as it is",
    async (name) => {
      const { create, sent, reached } = openEpsilon();
      const body = {
        prompt: "A reef\nat dawn: n // 1",
        mode: "std",
        camera: { deep: [[1, null, "x"]] },
        n: 2,
      };
      const { status, text, headers } = await create(body, `/epsilon/v1/videos/${name}`);
      expect([status, reached[0]?.url]).toEqual([200, `https://gateway.example/epsilon/v1/videos/${name}`]);
      expect(await sent()).toEqual(body);
      expect(headers.has("x-sluice-dropped-fields")).toBe(false);
      expect(JSON.parse(text).data.task_id).toBe(signId("e-1", "epsilon"));
    },
  );

  test("a task is polled by its own user, and its id keeps its mark in the response", async () => {
    const { query, reached } = openEpsilon();
    const { status, text } = await query(signId("e-1", "epsilon"));
    expect([status, reached[0]?.url]).toEqual([200, "https://gateway.example/epsilon/v1/videos/e-1"]);
    expect(JSON.parse(text).data.task_id).toBe(signId("e-1", "epsilon"));
  });

  test("a task of another user, of the other vendor or without a mark is not found (case 34)", async () => {
    const { query, reached, call } = openEpsilon();
    for (const id of ["e-1", signId("e-1", "task"), signId("e-1", "epsilon", "user-2")])
      expect((await query(id)).status).toBe(404);
    const headers = { authorization: "Bearer user-1" };
    const video = `/v1/video/generations/${signId("e-1", "epsilon")}`;
    expect((await call(createRequest({ method: "GET", path: video, headers }))).status).toBe(404);
    expect(reached).toEqual([]);
  });

  test.each([
    ["where no model is listed for it", { prompt: "a" }, ["beta3.0-video"]],
    ["for a model that is not listed", { model: "epsilon-2" }, ["epsilon"]],
    ["for a model by its other name", { model_name: "epsilon-2" }, ["epsilon"]],
    ["for two of which one is not listed", { model: "epsilon", model_name: "epsilon-2" }, ["epsilon"]],
    ["for a model of another route", { model: "beta3.0-video" }, ["epsilon", "beta3.0-video"]],
    ["for what is no name", { model_name: ["epsilon"] }, ["epsilon"]],
  ] as [string, object, ProxyOptions["models"]][])("is refused %s", async (_, body, models) => {
    const { create, reached } = openEpsilon({ models });
    const { status, error } = await create(body);
    expect([status, error?.["code"], reached.length]).toEqual([403, "model_not_allowed", 0]);
  });

  test("a model in another spelling is refused, and a listed one passes", async () => {
    const { create } = openEpsilon({ models: ["epsilon", "epsilon-2", "kling-9"] });
    for (const key of ["Model", "modelName", "MODEL_NAME", "model-id"])
      expect((await create({ [key]: "epsilon-3" })).status).toBe(400);
    expect((await create({ model: "epsilon-2" })).status).toBe(200);
    expect((await create({ model_name: "kling-9" })).status).toBe(200);
    expect((await create({ model: null })).status).toBe(200);
  });

  test("caps apply to the fields that it shares with other videos", async () => {
    const models: ProxyOptions["models"] = {
      epsilon: { duration: ["5", 5] },
      "epsilon-2": { duration: 10, "camera.speed": [1] },
    };
    const { create, sent } = openEpsilon({ models });
    for (const body of [
      { duration: 10 },
      { duration: "10" },
      { model: "epsilon-2", duration: 11 },
      { model: "epsilon-2", duration: [11] },
      { model: "epsilon-2", camera: { speed: 2 } },
      { model: "epsilon", model_name: "epsilon-2", duration: 5, camera: { speed: 2 } },
    ]) {
      const { status, error } = await create(body);
      expect([status, error?.["code"]]).toEqual([400, "limit_exceeded"]);
    }
    await create({ prompt: "a" });
    expect(await sent()).toEqual({ prompt: "a", duration: "5" });
    const textForObject = { model: "epsilon-2", duration: 5, camera: "slow" };
    expect((await create(textForObject)).status).toBe(200);
  });

  test.each([
    "http://10.0.0.1/a",
    "https://127.0.0.1/a",
    "ht\ntps://127.0.0.1/a",
    " https://cdn.example:22/a",
    "https:127.0.0.1",
    "//10.0.0.1/a",
    "\\\\10.0.0.1\\a",
    "file:/etc/passwd",
    "data:text/html;base64,AAAA",
  ])("the gateway is not sent to %j, wherever it stands (case 30)", async (url) => {
    const { create, reached } = openEpsilon();
    for (const body of [{ image: url }, { images: [{ a: [url] }] }]) {
      const { status, error } = await create(body);
      expect([status, error?.["code"]]).toEqual([400, "media_not_allowed"]);
    }
    expect(reached).toEqual([]);
  });

  test("public media, files in the request and own assets pass; another user's assets do not", async () => {
    const { create, sent } = openEpsilon();
    const image = "https://cdn.example/a.png";
    await create({ image, tail: `asset://${signId("a-1", "asset")}`, raw: "iVBORw0KGgo=" });
    expect(await sent()).toEqual({ image, tail: "asset://a-1", raw: "iVBORw0KGgo=" });
    expect((await create({ image: `asset://${signId("a-1", "asset", "user-2")}` })).status).toBe(404);
  });

  test("refuses __proto__ and infinite numbers here, too (case 24)", async () => {
    const { create } = openEpsilon();
    for (const body of ['{"a":[{"__proto__":1}]}', '{"__proto__":null}', '{"a":{"b":[1e400]}}'])
      expect((await create(body)).status).toBe(400);
  });

  test("is not served unless its routes are open, which takes a secret", async () => {
    const { create, reached } = openEpsilon({ routes: ["chat"] });
    expect([(await create({})).status, reached.length]).toEqual([404, 0]);
    expect(() => openProxy({ routes: ["epsilon"] })).toThrow(/^secret: /);
  });
});
