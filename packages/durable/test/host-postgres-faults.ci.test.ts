import { postgresHost } from "@sluice/durable/postgres";
import { type BoundHost, definePlugin } from "@sluice/worker-proxy/plugin";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { faultPart, hold, planInnocent, readIds, readSum, reserve } from "./fixture/fault-part.js";
import { createHostProgram, type HostProcess, type HostProgram } from "./support/host-process.js";
import { createLocation, openProxy } from "./support/hosts.js";
import { type PostgresServer, startPostgres } from "./support/postgres-server.js";
import { openTCPProxy, type TCPProxy } from "./support/tcp-proxy.js";

let program: HostProgram;
let server: PostgresServer;
let first: HostProcess;
let second: HostProcess;

beforeAll(async () => {
  [program, server] = await Promise.all([createHostProgram(), startPostgres()]);
  [first, second] = await Promise.all([program.run(server.url), program.run(server.url)]);
});
afterAll(async () => {
  await program.close();
  await server.close();
});

// a database that is away is in the log
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});

const listKeys = (name: string, count: number) => Array.from({ length: count }, (_, nth) => `${name} ${nth}`);

describe("Two processes on one Postgres", () => {
  test("another process serves the users of one that was killed, at once (case 184)", async () => {
    const keys = listKeys("killed", 20);
    let isKilled = false;
    const load = keys.map(async (key) => {
      for (let nth = 0; !isKilled; nth += 1)
        await first.host.run(key, reserve, { id: `${nth}` }).catch(() => {});
    });
    await expect.poll(() => first.host.run("killed 19", readSum, null)).not.toEqual({ total: 0, rows: 0 });
    await first.kill();
    isKilled = true;
    const killedAt = performance.now();
    await Promise.all(keys.map((key) => second.host.run(key, reserve, { id: "other" })));
    // a lease would take 15 s
    expect(performance.now() - killedAt).toBeLessThan(5_000);
    await Promise.all(load);
    for (const key of keys) {
      const { total, rows } = await second.host.run(key, readSum, null);
      expect(total).toBe(rows);
    }
    await first.start();
  });

  test("grants each of 300 reservations once while all connections are cut again and again (case 183)", async () => {
    const admin = new Client({ connectionString: server.url });
    await admin.connect();
    let cuts = 0;
    const cut = async () => {
      const { rowCount } = await admin.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
      );
      cuts += rowCount ?? 0;
    };
    let errors = 0;
    let granted = 0;
    // by the number of grants: cuts by the clock would let a slow machine grant nothing
    const reserveOne = async (id: string, nth: number) => {
      try {
        await (nth % 2 ? first : second).host.run("cut", reserve, { id });
        granted += 1;
        if (granted % 5 === 0) await cut();
      } catch {
        errors += 1;
      }
    };
    for (let round = 0; round < 15; round += 1) await Promise.all(listKeys(`${round}`, 20).map(reserveOne));
    await admin.end();
    expect(cuts).toBeGreaterThan(10);
    expect(errors).toBe(0);
    expect(await first.host.run("cut", readSum, null)).toEqual({ total: 300, rows: 300 });
  });

  test("a process gets the key that a stalled process has locked (case 185)", async () => {
    const held = first.host.run("still", hold, { seconds: 1 });
    await expect.poll(async () => await countHeld()).toBe(1);
    await first.kill("SIGSTOP");
    expect(await second.host.run("still", reserve, { id: "other" })).toBe(1);
    await first.kill("SIGCONT");
    // its transaction was ended, and is repeated
    expect(await held).toBe(null);
    expect(await first.host.run("still", reserve, { id: "one" })).toBe(2);

    async function countHeld(): Promise<number> {
      const admin = new Client({ connectionString: server.url });
      await admin.connect();
      const { rowCount } = await admin.query(
        "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND pid <> pg_backend_pid() AND state = 'active'",
      );
      await admin.end();
      return rowCount ?? 0;
    }
  });

  test("each of 500 timers runs once", async () => {
    const keys = listKeys("timers", 50);
    await Promise.all(
      keys.flatMap((key) =>
        listKeys("timer", 10).map((id, nth) =>
          (nth % 2 ? first : second).host.run(key, planInnocent, { id }),
        ),
      ),
    );
    for (const key of keys)
      await expect
        .poll(async () => (await first.host.run(key, readSum, null)).total, { timeout: 60_000 })
        .toBe(20);
  });

  test("requests and timers go on after the database was restarted", async () => {
    const keys = listKeys("restart", 10);
    await Promise.all(keys.map((key) => first.host.run(key, reserve, { id: "before" })));
    await server.stop();
    const during = keys.map((key) => second.host.run(key, reserve, { id: "during" }));
    await Promise.all([server.start(), Promise.all(during)]);
    for (const key of keys) {
      await first.host.run(key, planInnocent, { id: "after" });
      await expect
        .poll(() => second.host.run(key, readIds, null), { timeout: 60_000 })
        .toEqual(["before", "begin after", "during", "end after"]);
    }
  });
});

describe("A proxy whose database is away", () => {
  const chat = { model: "delta-5.3", messages: [{ role: "user", content: "hi" }] };
  let between: TCPProxy;

  /** Opens a proxy that reserves in Postgres before it responds. */
  async function open() {
    between = await openTCPProxy(server.port);
    const url = server.url.replace(`:${server.port}/`, `:${between.port}/`);
    const host = postgresHost({ url, schema: "away" });
    let bound: BoundHost | undefined;
    const opened = await openProxy(createLocation("node"), {
      host,
      fetch: async () => Response.json({}),
      plugins: [
        definePlugin({
          storage: faultPart,
          connect: (connected) => {
            bound = connected.host({});
          },
          send: async () => Response.json({ total: await bound?.run("a", reserve, { id: "one" }) }),
        }),
      ],
    });
    const close = async () => {
      await host.close(0);
      await opened.close();
      between.close();
    };
    return { send: () => opened.send("/v1/chat/completions", chat), close };
  }

  async function expectRefusal(response: Response): Promise<void> {
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toMatch(/^[123]$/);
    const message = expect.stringContaining("database");
    expect(await response.json()).toMatchObject({ error: { code: "plugin_unavailable", message } });
  }

  test("responds with 503 and names the database, and serves once it is back", async () => {
    const opening = open();
    const { send, close } = await opening;
    between.cut();
    await expectRefusal(await send());
    between.restore();
    expect(await (await send()).json()).toEqual({ total: 1 });
    await close();
  });

  test("responds with 503 while connections are silent, and serves once the network is back", async () => {
    const { send, close } = await open();
    expect((await send()).status).toBe(200);
    between.hold();
    await expectRefusal(await send());
    between.release();
    await expect.poll(async () => (await send()).status).toBe(200);
    await close();
  });
});
