import { env } from "cloudflare:workers";
import { describe, test } from "vitest";
import { type BudgetEnv, openBudgetWorker } from "./fixture/budget-worker.js";
import { BUDGET_SCENARIOS } from "./support/budget-scenarios.js";

describe("A budget on Durable Objects", () => {
  const firstServer = openBudgetWorker(env as unknown as BudgetEnv);
  for (const [title, run] of Object.entries(BUDGET_SCENARIOS))
    test(title, () => run({ firstServer, secondServer: firstServer }, crypto.randomUUID()));
});
