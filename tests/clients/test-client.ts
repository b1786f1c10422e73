import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Client, OpenClient } from "./client.ts";
import { endpoints } from "./endpoints.ts";
import { type Gateway, openGateway } from "./gateway.ts";
import { joinMessages } from "./join-messages.ts";
import { type Scenario, type ScenarioName, scenarios } from "./scenarios.ts";
import { type ClientName, findVerdict, has, verdicts } from "./verdicts.ts";

/** Time after which a scenario that is to fail has failed, in milliseconds. */
const PATIENCE_MS = 2000;

/** Tries all scenarios with a client at each endpoint, and compares the outcome with `verdicts`. */
export function testClient(name: ClientName, open: OpenClient): void {
  describe.each(endpoints)(`${name}, through the %s`, (endpoint) => {
    let gateway: Gateway;
    beforeAll(async () => {
      gateway = await openGateway(endpoint);
    });
    afterAll(() => gateway.close());

    for (const [title, scenario] of Object.entries<Scenario>(scenarios)) {
      const verdict = findVerdict(name, title as ScenarioName, endpoint);
      if (verdict === undefined) continue;
      test(`${title}: ${verdict}`, async () => {
        const { baseURL, apiKey } = gateway;
        const access = { baseURL, apiKey };
        const client = open(access) as Required<Client>;
        const done = scenario.run({ client, gateway, open, access });
        if (verdict === "passes") return done;
        const failed = done.then(() => "it passed", joinMessages);
        if (verdict === "denied")
          expect(await failed).toMatch(scenario.denial?.advice ?? "no denial is known");
        // some never end
        else expect(await Promise.race([failed, setTimeout(PATIENCE_MS, "it hangs")])).not.toBe("it passed");
      });
    }
  });

  test(`${name} has the abilities that are listed`, () => {
    const client = open({ baseURL: "http://127.0.0.1:9/v1", apiKey: "sk" });
    const needed = new Set(Object.values<Scenario>(scenarios).flatMap(({ needs }) => needs));
    const missing = [...needed].filter((method) => client[method] === undefined);
    expect(missing.toSorted()).toEqual([...(verdicts[name].without ?? [])].toSorted());
    expect(Object.keys(scenarios).some((title) => has(name, title as ScenarioName))).toBe(true);
  });
}
