import { budget } from "@sluice/durable";
import { postgresHost } from "@sluice/durable/postgres";
import { createProxy } from "@sluice/worker-proxy";
import { Client } from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { sharedOptions } from "./fixture/shared-plugins.js";
import { type PostgresServer, startPostgres } from "./support/postgres-server.js";
import { openSharedProxy, RESERVED } from "./support/shared-proxies.js";
import { silenceLog } from "./support/stored-proxy.js";

/* What happens to money when the network to Postgres, a clock or a password fails. */

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.close());

let schemas = 0;
const createSchema = () => {
  schemas += 1;
  return `faults_${schemas}`;
};
const usage = (total_tokens: number) => Response.json({ choices: [], usage: { total_tokens } });

async function open(schema: string, options: Partial<Parameters<typeof openSharedProxy>[0]> = {}) {
  const opened = await openSharedProxy({ server, schema, fetch: async () => usage(7), ...options });
  onTestFinished(opened.close);
  return opened;
}

test.each(["before", "after"] as const)(
  "a reservation and its settlement count once when the connection is lost %s a commit (case 183)",
  async (when) => {
    silenceLog();
    const { chat, readBudget, network } = await open(createSchema());
    expect((await chat("ann", "hi")).status).toBe(200);
    for (let nth = 2; nth <= 6; nth += 1) {
      const cut = network.cutAt(when, "COMMIT");
      expect((await chat("ann", "hi")).status).toBe(200);
      await cut;
      await expect.poll(() => readBudget("ann")).toMatchObject({ spent: 7 * nth, reserved: 0 });
    }
  },
);

test("a stream whose process can't reach the database ends, and is settled once by another process (case 186)", async () => {
  silenceLog();
  const schema = createSchema();
  const closed: string[] = [];
  const body = () =>
    new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode('data: {"choices":[]}\n\n')),
      cancel: () => void closed.push("closed"),
    });
  const fetch = async () => new Response(body(), { headers: { "content-type": "text/event-stream" } });
  const [first, second] = [await open(schema, { fetch }), await open(schema, { fetch })];
  const response = await first.chat("ann", "hi", { stream: true });
  const id = response.headers.get("x-stream-id");
  first.network.cut();
  // signs of life are missing for 25 s
  expect(await response.text()).toContain("stream_interrupted");
  expect(closed).toEqual(["closed"]);
  const read = async () => (await second.send("ann", `/v1/chat/streams/${id}`)).text();
  expect(await read()).toContain("stream_interrupted");
  await expect.poll(() => second.readBudget("ann")).toMatchObject({ spent: RESERVED, reserved: 0 });
  first.network.restore();
  await expect.poll(() => first.readBudget("ann")).toMatchObject({ spent: RESERVED, reserved: 0 });
  expect(await read()).toContain("stream_interrupted");
  expect([...first.jobs, ...second.jobs].map(({ outcome }) => outcome)).toEqual(["lost"]);
});

test("a process whose clock is an hour off uses the windows of the database, and spends no reservation early (case 187)", async () => {
  const windowMs = 600_000;
  const plugin = () =>
    budget({ limits: { user: 100 }, windowMs, reservationTtlMs: 900_000, reserve: () => 60 });
  const schema = createSchema();
  let respond = () => {};
  const isHeld = new Promise<void>((resolve) => {
    respond = resolve;
  });
  const right = await open(schema, {
    plugins: [plugin()],
    fetch: async () => {
      await isHeld;
      return usage(7);
    },
  });
  const under = right.chat("ann", "hi");
  await expect.poll(() => right.readBudget("ann")).toMatchObject({ reserved: 60 });
  const { resetsAt } = await right.readBudget("ann");
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
  onTestFinished(() => void vi.useRealTimers());
  const ahead = await open(schema, { plugins: [plugin()] });
  const refused = await ahead.chat("ann", "hi");
  vi.useRealTimers();
  const found = await right.readBudget("ann");
  // the window may have ended: then the budget of the next window is not spent
  if (found.resetsAt === resetsAt) {
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(600);
    expect(found).toMatchObject({ reserved: 60, spent: 0 });
  }
  respond();
  expect((await under).status).toBe(200);
});

test("the password of the database is in no response and no line of the log (case 192)", async () => {
  const lines = silenceLog();
  const password = "not-the-password-of-postgres";
  const url = server.url.replace(":postgres@", `:${password}@`);
  const host = postgresHost({ url, env: {} });
  onTestFinished(() => host.close(0));
  const proxy = createProxy<unknown>({
    ...sharedOptions,
    host,
    plugins: [budget({ limits: { user: 100 }, windowMs: 60_000 })],
    fetch: async () => usage(7),
  });
  const headers = { authorization: "ann" };
  const response = await proxy.fetch(new Request("https://proxy.example/v1/budget", { headers }), {});
  const text = await response.text();
  expect(response.status).toBe(503);
  expect(lines.join("\n")).toContain("password authentication failed");
  for (const word of [password, "127.0.0.1"]) {
    expect(text).not.toContain(word);
    expect(lines.join("\n")).not.toContain(password);
  }
});

test("a statement that the database refuses costs nothing, and the next request is served", async () => {
  silenceLog();
  const schema = createSchema();
  const { chat, readBudget } = await open(schema);
  expect((await chat("ann", "hi")).status).toBe(200);
  const admin = new Client({ connectionString: server.url });
  await admin.connect();
  onTestFinished(() => admin.end());
  // make the database refuse the row like a full disk
  await admin.query(`CREATE FUNCTION ${schema}.full() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$`);
  await admin.query(`CREATE TRIGGER full_disk BEFORE INSERT ON ${schema}.budget_reservations FOR EACH ROW
    EXECUTE FUNCTION ${schema}.full()`);
  expect((await chat("ann", "hi")).status).toBe(503);
  expect(await readBudget("ann")).toMatchObject({ spent: 7, reserved: 0 });
  await admin.query(`DROP TRIGGER full_disk ON ${schema}.budget_reservations`);
  expect((await chat("ann", "hi")).status).toBe(200);
  await expect.poll(() => readBudget("ann")).toMatchObject({ spent: 14, reserved: 0 });
});
