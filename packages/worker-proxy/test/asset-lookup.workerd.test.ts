import { readStreams } from "@sluice/worker-proxy";
import { describe, expect, test } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { createRequest, openProxy } from "./support/in-process.js";
import { SECRET, signId } from "./support/sign.js";

expectLog("is not a field of this model", "there is nothing at this path");

const path = "/gamma/asset/GetAsset";
const own = signId("a-1", "asset");
const record = {
  Id: "a-1",
  Status: "Active",
  URL: "https://cdn.example/a-1.png?sign=1",
  Group: { Assets: ["a-1", "a-2"] },
};

function openAssets(options: Parameters<typeof openProxy>[0] = {}) {
  const opened = openProxy(
    { routes: ["assets"], secret: () => SECRET, gateway: { assetLookup: path }, ...options },
    () => Response.json(record),
  );
  return { ...opened, look: (body: unknown) => opened.call(createRequest({ path, body })) };
}

test("an asset is looked up by the gateway's id, and the response has the user's", async () => {
  const { look, reached, sent } = openAssets();
  const { status, text } = await look({ Id: own });
  expect(status).toBe(200);
  expect(reached.map(({ method, url }) => `${method} ${url}`)).toEqual([
    `POST https://gateway.example${path}`,
  ]);
  expect(await sent()).toEqual({ Id: "a-1" });
  expect(JSON.parse(text)).toEqual({ ...record, Id: own, Group: { Assets: [own, "a-2"] } });
});

describe("an asset that is not this user's (case 34)", () => {
  test.each([
    ["of another user", { Id: signId("a-1", "asset", "user-2") }],
    ["without a mark", { Id: "a-1" }],
    ["with a task's mark", { Id: signId("a-1") }],
    ["as a URI", { Id: `asset://${own}` }],
    ["as a list", { Id: [own] }],
    ["as nothing", { Id: null }],
    ["that is missing", {}],
  ])("%s is not found, and nothing is sent to the gateway", async (_, body) => {
    const { look, reached } = openAssets();
    const { status, error, text } = await look(body);
    expect([status, error?.["code"], reached.length]).toEqual([404, "asset_not_found", 0]);
    expect(text).toBe((await look({ Id: signId("a-9", "asset", "user-2") })).text);
  });
});

test.each([
  ["another spelling", { id: own }],
  ["another field beside it", { Id: own, GroupId: "g" }],
  ["a model", { Id: own, model: "gamma-asset" }],
])("a lookup with %s is refused", async (_, body) => {
  const { look, reached } = openAssets();
  expect([(await look(body)).status, reached.length]).toEqual([400, 0]);
});

test("The gateway sees only the checked one of an id that is there twice", async () => {
  const { look, sent } = openAssets();
  await look(`{"Id":"a-2","Id":"${own}"}`);
  expect(await sent()).toEqual({ Id: "a-1" });
});

test("the lookup costs nothing, and needs no model", async () => {
  const { look } = openAssets({
    models: ["delta-5.3"],
    plugins: [
      {
        ...readStreams(),
        reserve() {
          throw new Error("must not be asked");
        },
      },
    ],
  });
  expect((await look({ Id: own })).status).toBe(200);
});

test("Ids are the gateway's without a secret, where all callers are one user", async () => {
  const { look, sent } = openAssets({ authenticate: "public", secret: undefined });
  expect(JSON.parse((await look({ Id: "a-1" })).text)).toEqual(record);
  expect(await sent()).toEqual({ Id: "a-1" });
  expect((await look({ Id: "../a" })).status).toBe(404);
});

test("there is no lookup unless its path is given, or while assets are off", async () => {
  expect((await openAssets({ gateway: { assetLookup: undefined } }).look({ Id: own })).status).toBe(404);
  expect((await openAssets({ routes: ["chat"] }).look({ Id: own })).status).toBe(404);
});

test.each(["gamma/asset", "/gamma/", "//evil.example/a", "/a?b", "/{id}", "https://evil.example/a", ""])(
  "the path %j is refused when the proxy is made",
  (assetLookup) => {
    expect(() => openAssets({ gateway: { assetLookup } })).toThrow(/^gateway.assetLookup: /);
  },
);
