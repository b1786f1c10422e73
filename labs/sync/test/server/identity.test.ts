import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeHost } from "@sluice/durable/node";
import { sync } from "@sluice/sync/server";
import { createProxy } from "@sluice/worker-proxy";
import { expect, onTestFinished, test } from "vitest";
import { openServer } from "./support/server.js";

test("a device of one account neither reads nor writes anything of another account", async () => {
  const server = await openServer("SQLite", { turns: {} });
  const [ada, bob] = [server.device("ada"), server.device("bob")];
  const { cursor, account } = await ada.push("list", null, [
    { record: "a", value: { title: "Ada's diary" } },
  ]);
  await bob.push("list", null, [{ record: "b", value: { title: "Bob's diary" } }]);
  // Ada's tab, whose cookie has become Bob's
  const stale = { authorization: "bob", "x-sluice-account": account ?? "" };
  const requests: [path: string, body: object][] = [
    ["pull", { collection: "list", cursor: null }],
    ["pull", { collection: "list", cursor }],
    ["push", { collection: "list", cursor: null, changes: [{ record: "c", base: 0, value: 1 }] }],
    ["push", { collection: "list", cursor: null, changes: "no list" }],
    ["search", { text: "diary" }],
    ["turns/start", { turn: "t", collection: "list", question: "b", model: "delta-5.3" }],
    ["turns/state", { turn: "t" }],
    ["turns/stop", { turn: "t" }],
    ["turns/decide", { turn: "t", record: "b", call: "c", decision: "approve" }],
  ];
  for (const [path, body] of requests) {
    const refused = await ada.request(path, body, stale);
    expect(refused).toMatchObject({ status: 409, error: { code: "account_changed" } });
    expect(refused.account).not.toBe(account);
    expect(JSON.stringify(refused)).not.toMatch(/diary/);
  }
  const events = await ada.fetch("events", { headers: stale });
  expect([events.status, await events.json()]).toMatchObject([409, { error: { code: "account_changed" } }]);
  expect(await bob.readAll("list")).toEqual({ b: { title: "Bob's diary" } });
  expect(await ada.readAll("list")).toEqual({ a: { title: "Ada's diary" } });
});

test("writes, deletions, searches and events need the account of the device's copy", async () => {
  const server = await openServer("SQLite");
  const ada = server.device("ada");
  for (const [path, init] of [
    ["push", { method: "POST", body: JSON.stringify({ collection: "list", cursor: null, changes: [] }) }],
    ["search", { method: "POST", body: JSON.stringify({ text: "diary" }) }],
    ["events", {}],
  ] as const) {
    const response = await ada.fetch(path, { ...init, headers: { "content-type": "application/json" } });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: "account_missing" } },
    ]);
  }
});

test("every response has the server's feature header, and every response to a signed-in user names the account", async () => {
  const server = await openServer("SQLite");
  const ada = server.device("ada");
  const { account } = await ada.push("list", null, [{ record: "a", value: 1 }]);
  expect(account).toMatch(/^[0-9a-f]{32}$/);
  const json = { "content-type": "application/json" };
  const responses = await Promise.all([
    ada.fetch("pull", { method: "POST", headers: json, body: '{"collection":"list"}' }),
    ada.fetch("pull", { method: "POST", headers: json, body: "{" }),
    ada.fetch("pull", { method: "POST", body: "{}" }),
    ada.fetch("push", { method: "POST", headers: json, body: JSON.stringify({ x: "x".repeat(2_097_152) }) }),
    ada.fetch("events?since=0.0"),
    ada.fetch("events?since=7.wrong"),
  ]);
  expect(responses.map(({ status }) => status)).toEqual([200, 400, 415, 413, 200, 409]);
  for (const { headers } of responses) {
    expect(headers.get("x-sluice-features")).toBe("sync");
    expect(headers.get("x-sluice-account")).toBe(account);
  }
  const stranger = await server.proxy.fetch(
    new Request("https://proxy.example/v1/sync/pull", { method: "POST", headers: json, body: "{}" }),
  );
  expect([stranger.status, stranger.headers.get("x-sluice-features")]).toEqual([401, "sync"]);
  const page = await ada.fetch("pull", {
    method: "POST",
    headers: { ...json, origin: "https://app.example" },
    body: '{"collection":"list"}',
  });
  expect(page.headers.get("access-control-expose-headers")).toContain("x-sluice-account");
});

test("a cursor from before a restore is unknown, also when another device wrote first", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-sync-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const name = join(folder, "sync.db");
  const before = await openServer("SQLite", { name });
  const first = await before.device("ada").push("chat/a", null, [{ record: "1", value: "one" }]);
  await before.close();
  await copyFile(name, `${name}.backup`);

  const lost = await openServer("SQLite", { name });
  const device = lost.device("ada");
  const second = await device.push("chat/a", first.cursor, [
    { record: "1", base: 1, value: "changed" },
    { record: "2", value: "lost" },
  ]);
  await lost.close();
  await copyFile(`${name}.backup`, name);

  const restored = await openServer("SQLite", { name });
  const [phone, laptop] = [restored.device("ada"), restored.device("ada")];
  const other = await laptop.push("chat/a", first.cursor, [{ record: "3", value: "first" }]);
  expect(other.results).toMatchObject([{ status: "stored", version: 2 }]);
  // both have version 2
  const unknown = { status: 409, error: { code: "unknown_cursor" } };
  expect(await phone.pull("chat/a", second.cursor)).toMatchObject(unknown);
  expect(await phone.push("chat/a", second.cursor, [{ record: "3", base: 2, value: "x" }])).toMatchObject(
    unknown,
  );
  expect((await phone.fetch(`events?since=${second.cursor}`)).status).toBe(409);
  // the device registers again, and sends the lost records
  const joined = await phone.pull("chat/a");
  expect(joined.changes.map(({ record, value }) => [record, value])).toEqual([
    ["1", "one"],
    ["3", "first"],
  ]);
  await phone.push("chat/a", joined.cursor, [{ record: "2", value: "lost" }]);
  expect(await laptop.readAll("chat/a")).toEqual({ "1": "one", "2": "lost", "3": "first" });
});

test("a public proxy, whose users are one user, is refused when it is created", async () => {
  const host = nodeHost({ file: ":memory:" });
  onTestFinished(() => host.close(0));
  const create = () =>
    createProxy({
      baseURL: "https://gateway.example",
      apiKey: () => "gateway-key-0123456789",
      authenticate: "public",
      origins: [],
      models: ["delta-5.3"],
      host,
      plugins: [sync()],
    });
  expect(create).toThrow(/authenticate/);
});
