import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startNotifyingProxy, WEBHOOK_SECRET } from "./support/notify.js";
import { newVAPID } from "./support/push-service.js";

let proxy: Awaited<ReturnType<typeof startNotifyingProxy>>;

beforeAll(async () => {
  proxy = await startNotifyingProxy({ speed: 20 });
});
afterAll(() => proxy.close());

test.each([
  "http://fcm.googleapis.com/x",
  "https://127.0.0.1/x",
  "https://[::1]/x",
  "https://169.254.169.254/latest/meta-data",
  "https://2130706433/x",
  "https://metadata.internal/x",
  "https://attacker.example/x",
  "https://fcm.googleapis.com.attacker.example/x",
  "https://notfcm.googleapis.com/x",
  "https://push.apple.com.attacker.example/x",
  "https://evilpush.apple.com/x",
  "https://fcm.googleapis.com:8443/x",
  "https://fcm.googleapis.com@127.0.0.1/x",
  "https://127.0.0.1\\@fcm.googleapis.com/x",
  "https://fcm.googleapis.com\\.attacker.example/x",
  "https://FCM.googleapis.com\u3002attacker.example/x",
  "https://fcm.googleapis.com/\r\nhost: x",
  `https://fcm.googleapis.com/${"x".repeat(2000)}`,
  "file:///etc/passwd",
  "",
])("case 80: a subscription at %j is refused", async (endpoint) => {
  const answer = await proxy.subscribe({ ...proxy.push.subscribe("x"), endpoint });
  expect([answer.status, await answer.json()]).toMatchObject([
    400,
    { error: { code: "subscription_invalid", param: "endpoint" } },
  ]);
});

test.each([
  ["keys.p256dh", { auth: "A".repeat(22) }],
  ["keys.p256dh", { p256dh: "not a point", auth: "A".repeat(22) }],
  ["keys.auth", { p256dh: newVAPID().publicKey, auth: "short" }],
])("a subscription with wrong %s is refused", async (param, keys) => {
  const answer = await proxy.subscribe({ endpoint: "https://fcm.googleapis.com/x", keys });
  expect(await answer.json()).toMatchObject({ error: { code: "subscription_invalid", param } });
});

test("case 128: a key of the right length that is no point of the curve is refused, by the name of its field", async () => {
  const keys = { p256dh: `B${"A".repeat(86)}`, auth: "A".repeat(22) };
  const answer = await proxy.subscribe({ endpoint: "https://fcm.googleapis.com/x", keys });
  expect([answer.status, await answer.json()]).toMatchObject([
    400,
    { error: { code: "subscription_invalid", param: "keys.p256dh" } },
  ]);
});

test("the gates of the caller hold for notifications too", async () => {
  const { address, publicKey } = proxy;
  const headers = { authorization: "ann", origin: "https://evil.example" };
  expect((await fetch(`${address}/v1/notifications`)).status).toBe(401);
  expect((await fetch(`${address}/v1/notifications`, { headers })).status).toBe(403);
  expect(await (await proxy.ask("/v1/notifications")).json()).toEqual({ publicKey });
});

test("cases 81, 83: each user's own newest browsers are notified, and one that is gone is forgotten", async () => {
  const { push } = proxy;
  const ids: string[] = [];
  for (const name of ["ann-1", "ann-2", "ann-3", "ann-4", "ann-5"]) {
    const { id } = (await (await proxy.subscribe(push.subscribe(name))).json()) as { id: string };
    ids.push(id);
  }
  await proxy.subscribe(push.subscribe("bob-1"), "bob");
  await proxy.subscribe(push.subscribe("gone-1"), "cay");
  await proxy.subscribe(push.subscribe("cay-1"), "cay");
  // what bob knows of ann's subscription does not reach it
  expect((await proxy.ask(`/v1/notifications/${ids[4]}`, { method: "DELETE", user: "bob" })).status).toBe(
    204,
  );
  proxy.taskIs("SUCCESS");
  const tasks = Object.fromEntries(
    await Promise.all(
      ["ann", "bob", "cay"].map(async (user) => [user, (await proxy.create(user)).id] as const),
    ),
  );
  await expect.poll(() => push.received.length, { timeout: 20_000 }).toBe(5);
  const notices = push.received.map(({ path, notice }) => [path, notice.id]).sort();
  expect(notices).toEqual([
    ["/ann-3", tasks["ann"]],
    ["/ann-4", tasks["ann"]],
    ["/ann-5", tasks["ann"]],
    ["/bob-1", tasks["bob"]],
    ["/cay-1", tasks["cay"]],
  ]);

  expect((await proxy.ask(`/v1/notifications/${ids[3]}`, { method: "DELETE" })).status).toBe(204);
  await Promise.all(["ann", "cay"].map((user) => proxy.create(user)));
  await expect.poll(() => push.received.length, { timeout: 20_000 }).toBe(8);
  expect(
    push.received
      .slice(5)
      .map(({ path }) => path)
      .sort(),
  ).toEqual(["/ann-3", "/ann-5", "/cay-1"]);
  expect(push.asked.filter((path) => path === "/gone-1")).toHaveLength(1);
});

test("case 80: a redirect of a push service is not followed, case 84: and no log has an address or a secret", async () => {
  const { push, app } = proxy;
  const { endpoint, keys } = push.subscribe("dan-secret-path");
  await proxy.subscribe({ endpoint, keys }, "dan");
  push.answers(307);
  app.answers((response) => void response.writeHead(500).end(WEBHOOK_SECRET));
  proxy.taskIs("SUCCESS");
  await proxy.create("dan");
  await expect.poll(() => proxy.logs.join("\n"), { timeout: 20_000 }).toContain("answered with 307");
  await expect.poll(() => proxy.logs.join("\n"), { timeout: 20_000 }).toContain("the app answered with 500");
  expect(push.asked).not.toContain("/elsewhere");
  const log = proxy.logs.join("\n");
  for (const secret of [...proxy.secrets, "dan-secret-path", keys.auth, keys.p256dh])
    expect(log).not.toContain(secret);
});

test("case 82: a webhook that is sent again later, or with another id or body, is refused by its signature", () => {
  const { app } = proxy;
  const { body, rawHeaders } = app.requests[0] ?? { body: "", rawHeaders: [] };
  const headers = Object.fromEntries(
    rawHeaders.flatMap((name, at) => (at % 2 ? [] : [[name.toLowerCase(), rawHeaders[at + 1] ?? ""]])),
  );
  const verifier = new Webhook(WEBHOOK_SECRET);
  expect(verifier.verify(body, headers)).toBeDefined();
  const old = String(Number(headers["webhook-timestamp"]) - 600);
  for (const change of [{ "webhook-timestamp": old }, { "webhook-id": "msg_other" }])
    expect(() => verifier.verify(body, { ...headers, ...change })).toThrow();
  expect(() => verifier.verify(body.replace("succeeded", "failed"), headers)).toThrow();
  expect(() => new Webhook(`whsec_${btoa("another secret of 24 bytes")}`).verify(body, headers)).toThrow();
});
