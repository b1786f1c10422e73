import { nodeHost } from "@sluice/durable/node";
import { postgresHost } from "@sluice/durable/postgres";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { BUDGET_SCENARIOS, type BudgetServers, createBudgetServer } from "./support/budget-scenarios.js";
import { postgresURL, stopPostgres } from "./support/hosts.js";

afterAll(stopPostgres);

const hosts: Readonly<Record<string, () => Promise<BudgetServers<object>>>> = {
  async "SQLite in one process"() {
    const host = nodeHost({ file: ":memory:" });
    onTestFinished(() => host.close(100));
    const firstServer = createBudgetServer<object>(host, {});
    return { firstServer, secondServer: firstServer };
  },
  "Postgres with two processes": openPostgres,
};

async function openPostgres(): Promise<BudgetServers<object>> {
  const url = await postgresURL();
  const hosts = [postgresHost({ url }), postgresHost({ url })] as const;
  onTestFinished(async () => void (await Promise.all(hosts.map((host) => host.close(100)))));
  const [firstServer, secondServer] = hosts.map((host) => createBudgetServer<object>(host, {}));
  if (!firstServer || !secondServer) throw new Error("both are there");
  return { firstServer, secondServer };
}

test("GET /v1/budget shows the window of the database's clock on Postgres", async () => {
  const { firstServer } = await openPostgres();
  await firstServer.plugin.raise("user", { env: {}, user: { id: "100 ada" } }, 5);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2100, 0, 1) });
  onTestFinished(() => void vi.useRealTimers());
  const headers = { authorization: "100 ada" };
  const response = await firstServer.proxy.fetch(
    new Request("https://proxy.example/v1/budget", { headers }),
    {},
  );
  expect(await response.json()).toMatchObject({ budgets: [{ limit: 105 }] });
});

describe.each(Object.entries(hosts))("A budget on %s", (_, open) => {
  for (const [title, run] of Object.entries(BUDGET_SCENARIOS))
    test(title, async () => run(await open(), crypto.randomUUID()));
});
