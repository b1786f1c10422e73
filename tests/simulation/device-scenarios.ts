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
  {
    name: "a page that was frozen shows what a device has cleared, as it was only passed to it",
    plan: {
      seed: 4394,
      clocks: [-27_000_000, 5_400_000, -19_800_000],
      whenBusy: "replace",
      proxy: "kept",
      steps: [
        step(86_055, "send twice", 0, 14),
        step(4010, "retry", 3, 13),
        step(19, "send", 0, 20),
        step(38, "send for a tool", 3, 19),
        step(2080, "freeze", 4, 12),
        step(1381, "send for a tool", 0, 21),
        step(510, "reset chat", 2, 9),
        step(1689, "send in all tabs", 5, 12),
        step(38_391, "answer in all tabs", 0, 14),
        step(2085, "edit", 0, 3),
        step(38, "send", 5, 3),
        step(56_835, "switch branch", 2, 3),
        step(31_258, "send in all tabs", 0, 10),
      ],
    },
  },
  {
    name: "what a tab has removed comes back to its browser, as another tab reads it from the server meanwhile",
    plan: {
      seed: 12,
      clocks: [-10_800_000, -30_600_000],
      whenBusy: "replace",
      proxy: "absent",
      storage: "real",
      steps: [
        step(2775, "go offline", 3, 9),
        step(88_754, "send", 2, 11),
        step(16, "kill device", 2, 8),
        step(196, "send", 2, 15),
        step(24, "reset chat", 3, 20),
        step(83_612, "wait", 0, 14),
      ],
    },
  },
  {
    name: "an end of an answer that differs from the server's stays on one device",
    plan: {
      seed: 106,
      clocks: [1_800_000, -23_400_000],
      whenBusy: "queue",
      proxy: "kept",
      storage: "real",
      steps: [step(70_475, "send for a tool", 0, 9), step(692, "freeze", 4, 12), step(54_091, "thaw", 4, 12)],
    },
  },
  {
    name: "a change of a closed page is sent for ever, as the page that takes it over knows a newer version",
    plan: {
      seed: 583,
      clocks: [-41_400_000, 21_600_000, -41_400_000],
      whenBusy: "queue",
      proxy: "kept",
      storage: "real",
      steps: [
        step(2018, "crash", 4, 13),
        step(1000, "send", 3, 6),
        step(1638, "go offline", 1, 20),
        step(1968, "open", 2, 3),
        step(2775, "send", 2, 1),
        step(2118, "reload", 0, 14),
        step(349, "reload", 4, 8),
      ],
    },
  },
  {
    name: "a new tab shows what it has read before it was removed, as the tab that follows never had it",
    plan: {
      seed: 21_839,
      clocks: [-10_800_000, -12_600_000],
      whenBusy: "replace",
      proxy: "absent",
      storage: "real",
      steps: [
        step(657, "send twice", 0, 6),
        step(0, "go offline", 0, 23),
        step(2719, "send in all tabs", 3, 23),
        step(105, "stop", 3, 11),
        step(1, "break all", 3, 6),
        step(30, "go offline", 1, 15),
        step(68_610, "go offline", 0, 17),
        step(220, "send twice", 5, 22),
        step(21_280, "open", 3, 10),
        step(8, "send", 1, 18),
        step(15, "reset chat", 4, 2),
        step(1763, "reset chat", 3, 23),
        step(38_047, "go offline", 4, 21),
      ],
    },
  },
  {
    name: "a device gives a queued message to another one, which sends it, before that one can know of its stop",
    plan: {
      seed: 7,
      clocks: [0, 0],
      whenBusy: "queue",
      proxy: "kept",
      storage: "real",
      steps: [
        step(500, "send", 0, 0),
        step(300, "send", 1, 0),
        step(10, "send", 0, 0),
        step(500, "break connection", 0, 0),
        step(0, "break connection", 0, 0),
        step(0, "stop", 0, 0),
        step(3000, "wait", 0, 0),
      ],
    },
  },
  {
    name: "an answer that a device does not see yet is billed again, as it asks for it with another key",
    plan: {
      seed: 2,
      clocks: [-3_600_000, -16_200_000],
      whenBusy: "queue",
      proxy: "kept",
      storage: "real",
      steps: [
        step(2348, "slow link", 0, 14),
        step(1669, "lose answers", 3, 9),
        step(548, "send", 4, 7),
        step(547, "break connection", 0, 13),
        step(2100, "retry", 2, 19),
        step(15, "retry in all tabs", 3, 8),
      ],
    },
  },
  {
    name: "the step after a tool is billed again, as two devices have the same answer under two ids",
    plan: {
      seed: 92,
      clocks: [-19_800_000, 21_600_000, -3_600_000],
      whenBusy: "reject",
      proxy: "kept",
      storage: "real",
      steps: [
        step(2103, "slow link", 2, 9),
        step(1193, "send for a tool", 2, 16),
        step(510, "freeze", 4, 12),
        step(716, "retry", 4, 2),
        step(739, "retry", 3, 16),
      ],
    },
  },
  {
    name: "an answer that was stopped on another device keeps the key of its request",
    plan: {
      seed: 156,
      clocks: [-23_400_000, 7_200_000],
      whenBusy: "reject",
      proxy: "kept",
      storage: "real",
      steps: [
        step(1718, "send", 1, 12),
        step(313, "freeze", 3, 14),
        step(242, "stop elsewhere", 0, 17),
        step(148, "retry", 2, 17),
      ],
    },
  },
  {
    name: "three devices that replace their own answers by a retry ask for three things",
    plan: {
      seed: 11168,
      clocks: [0, 0, 0],
      whenBusy: "replace",
      proxy: "kept",
      steps: [step(9000, "send in all tabs", 1, 0), step(39, "retry in all tabs", 2, 0)],
    },
  },
];

function step(afterMs: number, action: DeviceAction, tab: number, nth: number): DeviceStep {
  return { afterMs, do: action, tab, nth };
}
