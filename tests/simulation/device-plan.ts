import type { WhenBusy } from "@sluice/core";
import type { DeviceWorldOptions } from "./device-world.js";
import { networkFaults } from "./network.js";
import { between, nthOf, randomOf, weighted } from "./random.js";

/** Actions by family, each with its weight. A world has some of the families. */
const families = {
  talk: { send: 12, wait: 2 },
  tools: { "send for a tool": 10, approve: 2, deny: 1, "approve in all tabs": 4, "answer in all tabs": 5 },
  clicks: { "send twice": 4, "send in all tabs": 5, "send queued": 2, stop: 4, "stop elsewhere": 5 },
  repeats: { retry: 4, "retry in all tabs": 3, regenerate: 2, edit: 2, "switch branch": 2 },
  tabs: { open: 4, reload: 3, crash: 3, freeze: 4, thaw: 4 },
  devices: { "go offline": 6, "go online": 6, "kill device": 2, open: 2 },
  links: { "lose answers": 5, "slow link": 2, "quick link": 3 },
  network: { "break connection": 8, "break all": 2 },
  clears: { "reset chat": 2 },
} as const;

type Families = typeof families;
export type DeviceAction = { [Family in keyof Families]: keyof Families[Family] }[keyof Families];

/** One step of a plan. Numbers choose among what there is, so that any steps can be left out. */
export interface DeviceStep {
  readonly afterMs: number;
  readonly do: DeviceAction;
  readonly tab: number;
  readonly nth: number;
}

/** A world of devices and all that happens in it. */
export interface DevicePlan extends DeviceWorldOptions {
  readonly steps: readonly DeviceStep[];
}

const HOUR_MS = 3_600_000;

/** Makes the plan of a seed. */
export function devicePlanOf(seed: number): DevicePlan {
  const random = randomOf(seed, "devices");
  const chosen = Object.entries(families).filter(
    ([name]) => name === "talk" || random() < (name === "devices" ? 0.7 : name === "clears" ? 0.15 : 0.4),
  );
  const weights = Object.assign({}, ...chosen.map(([, each]) => each)) as Record<DeviceAction, number>;
  const steps = Array.from(
    { length: between(random, 6, 30) },
    (): DeviceStep => ({
      afterMs: Number(
        weighted(random, {
          [between(random, 0, 40)]: 5,
          [between(random, 50, 3000)]: 8,
          [between(random, 4000, 90_000)]: 3,
          [HOUR_MS * between(random, 1, 5)]: 0.2,
          [24 * HOUR_MS * between(random, 1, 7)]: 0.05,
        }),
      ),
      do: weighted(random, weights),
      tab: between(random, 0, 5),
      nth: between(random, 0, 23),
    }),
  );
  return {
    seed,
    clocks: Array.from({ length: between(random, 2, 3) }, () => between(random, -24, 24) * (HOUR_MS / 2)),
    whenBusy: nthOf(["reject", "queue", "replace"] as const, between(random, 0, 2)) as WhenBusy,
    proxy: weighted(random, { absent: 3, kept: 5 }),
    steps,
  };
}

/** Describes a step for a reader. */
export function describedStep({ do: action, nth }: DeviceStep): string {
  return action === "break connection"
    ? `${action} (${nthOf(networkFaults, nth)}, after ${nth % 5} pieces)`
    : action;
}
