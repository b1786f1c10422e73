import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { SECRET } from "./support/sign.js";

/*
 * A group of routes that does not exist is in the table: what follows from a row follows for it too, without a second place
 * that someone could forget.
 */

const ROUTES = "../src/api/routes.js";
let inProcess: typeof import("./support/in-process.js");

beforeAll(async () => {
  const { gatewayRoutes } = await import("../src/api/routes.js");
  const rows = [
    ...gatewayRoutes,
    ["audio", "POST", "/v1/audio", "task"],
    ["audio", "GET", "/v1/audio/{id}", "task"],
  ];
  vi.resetModules();
  const isGatewayRoute = (name: string) => rows.some(([known]) => known === name);
  vi.doMock(ROUTES, () => ({ gatewayRoutes: rows, isGatewayRoute }));
  inProcess = await import("./support/in-process.js");
});
afterAll(() => {
  vi.doUnmock(ROUTES);
  vi.resetModules();
});

const options = {
  routes: ["audio"] as never,
  models: ["tunes-1"],
  allowFields: ["model"],
  authenticate: ({ headers }: Request) => ({ id: headers.get("authorization")?.slice(7) ?? "" }),
};
const as = (user: string) => ({ authorization: `Bearer ${user}` });

test("A group with ids is not opened without a secret, which keeps users apart", () => {
  expect(() => inProcess.openProxy({ ...options, secret: undefined })).toThrow("secret: audio needs one");
});

test("A task of a new group is there for its own user alone", async () => {
  const { asked, openProxy } = inProcess;
  const { ask } = openProxy({ ...options, secret: () => SECRET }, () => Response.json({ id: "tune-1" }));
  const created = await ask(asked({ path: "/v1/audio", headers: as("ada"), body: { model: "tunes-1" } }));
  const { id } = JSON.parse(created.text) as { id: string };
  expect(id).not.toBe("tune-1");
  const poll = (user: string) => ask(asked({ method: "GET", path: `/v1/audio/${id}`, headers: as(user) }));
  expect((await poll("ada")).status).toBe(200);
  expect((await poll("bob")).status).toBe(404);
});
