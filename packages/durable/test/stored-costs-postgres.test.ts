import { budget, resumableStreams } from "@sluice/durable";
import { postgresHost } from "@sluice/durable/postgres";
import pg from "pg";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { postgresURL, stopPostgres } from "./support/hosts.js";
import { end, openGateway, openStoredProxy, piece } from "./support/stored-proxy.js";

afterAll(stopPostgres);

test("a stored stream with a budget costs 6 transactions and 40 statements on Postgres", async () => {
  const gateway = openGateway();
  const host = postgresHost({ url: await postgresURL() });
  const plugins = [budget({ limits: { user: 1e9 }, windowMs: 3_600_000 }), resumableStreams()];
  const proxy = openStoredProxy({ host, gateway, plugins });
  const send = async () => {
    gateway.streams(piece("a") + end);
    expect(await (await proxy.ask()).text()).toContain("[DONE]");
    await proxy.host.ended();
  };
  // the tables, and the window of the budget
  await send();
  const statements: string[] = [];
  const query = pg.Client.prototype.query as (...given: unknown[]) => unknown;
  const record = function (this: unknown, ...given: unknown[]) {
    const { text = given[0] } = given[0] as { text?: unknown };
    statements.push(String(text));
    return query.apply(this, given);
  };
  const spy = vi.spyOn(pg.Client.prototype, "query").mockImplementation(record as never);
  onTestFinished(() => spy.mockRestore());
  await send();
  // the loop of timers looks at its table meanwhile
  const isOwn = (text: string) => !/timer_keys WHERE|begin-rows|failed_at/.test(text);
  const locked = statements.filter((text) => text.includes("pg_advisory_xact_lock"));
  expect(locked).toHaveLength(6);
  expect(statements.filter(isOwn).length).toBeLessThanOrEqual(40);
});
