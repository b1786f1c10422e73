import { nodeHost } from "@sluice/durable/node";
import { postgresHost } from "@sluice/durable/postgres";
import { afterAll, describe, onTestFinished, test } from "vitest";
import { BUDGET_SCENARIOS, type BudgetPlace, createBudgetServer } from "./support/budget-scenarios.js";
import { postgresURL, stopPostgres } from "./support/hosts.js";

afterAll(stopPostgres);

const places: Readonly<Record<string, () => Promise<BudgetPlace<object>>>> = {
  async "SQLite in one process"() {
    const host = nodeHost({ file: ":memory:" });
    onTestFinished(() => host.close(100));
    const one = createBudgetServer<object>(host, {});
    return { one, other: one };
  },
  async "Postgres with two processes"() {
    const url = await postgresURL();
    const hosts = [postgresHost({ url }), postgresHost({ url })] as const;
    onTestFinished(async () => void (await Promise.all(hosts.map((host) => host.close(100)))));
    const [one, other] = hosts.map((host) => createBudgetServer<object>(host, {}));
    if (!one || !other) throw new Error("both are there");
    return { one, other };
  },
};

describe.each(Object.entries(places))("A budget on %s", (_, open) => {
  for (const [title, run] of Object.entries(BUDGET_SCENARIOS))
    test(title, async () => run(await open(), crypto.randomUUID()));
});
