import type { DeviceAction, DevicePlan, DeviceStep } from "./device-plan.js";

/** Worlds of devices in which the simulation found a bug, with the fewest steps that show it. */
export const deviceScenarios: readonly { readonly name: string; readonly plan: DevicePlan }[] = [
  {
    name: "a message that was queued offline is sent by two devices when the connection is back",
    plan: {
      seed: 209,
      clocks: [9_000_000, 0],
      whenBusy: "queue",
      proxy: "kept",
      steps: [
        step(2976, "kill device", 3, 1),
        step(25_059, "send", 1, 0),
        step(35, "go offline", 1, 6),
        step(21, "send", 1, 12),
        step(30_896, "send", 4, 13),
      ],
    },
  },
];

function step(afterMs: number, action: DeviceAction, tab: number, nth: number): DeviceStep {
  return { afterMs, do: action, tab, nth };
}
