import { budget, resumableStreams } from "@sluice/durable";
import { postgresHost } from "@sluice/durable/postgres";
import pg from "pg";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { postgresURL, stopPostgres } from "./support/hosts.js";
import { end, openGateway, openStoredProxy, piece } from "./support/stored-proxy.js";

afterAll(stopPostgres);

/** A connection to Postgres. */
interface Connection {
  /** Number of statements in flight. Concurrent statements share one round trip. */
  waiting: number;
  /** True within a transaction that has not named its key yet: it may belong to the host's own loop. */
  isOfLoop: boolean;
}

/** Counts what this process sends to Postgres for requests, without the statements of the timers' loop. */
function countStatements() {
  const counts = { transactions: 0, statements: 0, roundTrips: 0 };
  const connections = new WeakMap<object, Connection>();
  const query = pg.Client.prototype.query as (...given: unknown[]) => Promise<unknown>;
  const count = function (this: object, ...given: unknown[]) {
    const { text = given[0] } = given[0] as { text?: unknown };
    const connection = connections.get(this) ?? { waiting: 0, isOfLoop: false };
    connections.set(this, connection);
    const isLock = String(text).includes("pg_advisory_xact_lock");
    if (text === "BEGIN") connection.isOfLoop = true;
    else if (isLock) {
      connection.isOfLoop = false;
      counts.transactions += 1;
      counts.statements += 1; // its BEGIN
      counts.roundTrips += 1;
    }
    if (!connection.isOfLoop) {
      counts.statements += 1;
      if (connection.waiting === 0) counts.roundTrips += 1;
    } else if (text === "COMMIT") connection.isOfLoop = false;
    connection.waiting += 1;
    return query.apply(this, given).finally(() => {
      connection.waiting -= 1;
    });
  };
  const spy = vi.spyOn(pg.Client.prototype, "query").mockImplementation(count as never);
  onTestFinished(() => spy.mockRestore());
  return counts;
}

test("a stored stream with a budget costs 2 transactions, 10 statements and 6 round trips on Postgres", async () => {
  const gateway = openGateway();
  const host = postgresHost({ url: await postgresURL() });
  const plugins = [budget({ limits: { user: 1e9 }, windowMs: 3_600_000 }), resumableStreams()];
  const proxy = openStoredProxy({ host, gateway, plugins });
  const send = async () => {
    gateway.streams(piece("a") + end);
    expect(await (await proxy.startStream()).text()).toContain("[DONE]");
    await proxy.host.ended();
    await expect.poll(() => proxy.requests.length).toBe(proxy.jobs.length);
  };
  // the tables, and the window of the budget
  await send();
  const counts = countStatements();
  await send();
  expect(counts).toEqual({ transactions: 2, statements: 10, roundTrips: 6 });
});
