import type { Plan, Step } from "./plan.js";

/** A world in which the simulation found a bug, with the fewest steps that show it. */
export interface Scenario {
  readonly name: string;
  readonly plan: Plan;
}

/** A world without a proxy. */
const alone = { proxy: "absent", view: "stores", budget: 0 } as const;

/** Scenarios of all bugs that were found. `report` prints the steps of a new one. */
export const scenarios: readonly Scenario[] = [
  {
    name: "a message that was removed comes back from a slow storage",
    plan: {
      seed: 284,
      tabs: 1,
      locks: "sound",
      whenBusy: "replace",
      ...alone,
      steps: [
        step(10, "change disk", 1, 23),
        step(10, "reload", 5, 21),
        step(10, "send", 3, 9),
        step(37_508, "come back", 1, 20),
        step(10, "open, send and stop", 4, 4),
        step(10, "restart", 5, 5),
        step(10, "send", 3, 12),
        step(10, "send", 2, 12),
        step(2485, "come back", 2, 5),
        step(2889, "restart", 4, 16),
      ],
    },
  },
  {
    name: "an answer of another tab streams for ever where the locks do not answer",
    plan: {
      seed: 132,
      tabs: 2,
      locks: "silent",
      whenBusy: "reject",
      ...alone,
      steps: [step(10, "send", 3, 4), step(416, "reload", 1, 11)],
    },
  },
  {
    name: "a submission of a crashed tab is under way for ever in the other tabs",
    plan: {
      seed: 611,
      tabs: 2,
      locks: "sound",
      whenBusy: "reject",
      ...alone,
      steps: [step(1000, "create", 0, 0), step(30, "crash", 0, 0)],
    },
  },
  {
    name: "a video that was refused is under way in a tab that was frozen meanwhile",
    plan: {
      seed: 631,
      tabs: 2,
      locks: "sound",
      whenBusy: "queue",
      ...alone,
      steps: [
        step(1000, "spoil answer", 0, 2),
        step(10, "freeze", 1, 0),
        step(10, "create", 0, 0),
        step(60_000, "thaw", 1, 0),
      ],
    },
  },
  {
    name: "a message that another tab removed while the thread was read comes back",
    plan: {
      seed: 532,
      tabs: 1,
      locks: "silent",
      whenBusy: "reject",
      proxy: "metered",
      view: "stores",
      budget: 1_000_000,
      steps: [
        step(10, "go offline", 2, 19),
        step(10, "send twice", 3, 21),
        step(10, "open, send and stop", 3, 14),
        step(2852, "register twice", 2, 10),
      ],
    },
  },
  {
    name: "a request that stops a kept answer stays open where its connection is lost",
    plan: {
      seed: 3132,
      tabs: 1,
      locks: "sound",
      whenBusy: "queue",
      proxy: "kept",
      view: "stores",
      budget: 1_000_000,
      steps: [
        step(10, "break connection", 0, 22),
        step(10, "break connection", 4, 17),
        step(10, "send", 0, 16),
        step(10, "break connection", 0, 1),
        step(82_323, "sign in", 4, 7),
      ],
    },
  },
  {
    name: "the simulation itself: a page that was frozen gets a piece of an answer that it has left",
    plan: {
      seed: 8747,
      tabs: 1,
      locks: "absent",
      whenBusy: "queue",
      proxy: "kept",
      view: "stores",
      budget: 1_000_000,
      steps: [
        step(10, "remove video", 5, 23),
        step(10, "open", 4, 12),
        step(10, "create", 4, 15),
        step(87_236, "open", 0, 9),
        step(10, "freeze", 1, 9),
        step(23_443, "change disk", 2, 14),
      ],
    },
  },
  {
    name: "the lock of a queued message stays where its own tab has sent it after all",
    plan: {
      seed: 44442,
      tabs: 3,
      locks: "sound",
      whenBusy: "queue",
      proxy: "metered",
      view: "stores",
      budget: 1000000,
      steps: [
        step(10, "freeze", 5, 20),
        step(10, "spoil answer", 4, 10),
        step(10, "break upstream", 4, 17),
        step(10, "send", 3, 15),
        step(10, "send", 0, 20),
        step(10, "change disk", 3, 5),
        step(63643, "break upstream", 4, 14),
        step(1536, "retry in all tabs", 2, 4),
        step(1938, "reload", 1, 20),
        step(42963, "crash an object", 1, 20),
      ],
    },
  },
  {
    name: "an answer that its tab has removed comes back from a tab that gets the lock before the notice",
    plan: {
      seed: 44477,
      tabs: 3,
      locks: "sound",
      whenBusy: "reject",
      proxy: "absent",
      view: "hooks",
      budget: 1_000_000,
      steps: [
        step(10, "create", 3, 18),
        step(14_400_000, "send", 3, 5),
        step(25, "send for a tool", 4, 18),
        step(10, "jump clock", 2, 4),
        step(10, "go offline", 3, 5),
        step(10, "send and stop", 3, 5),
        step(419, "send twice", 3, 11),
        step(10, "create", 3, 18),
        step(4991, "hide for a while", 3, 18),
        step(10, "retry", 3, 0),
        step(15, "send for a tool", 5, 7),
        step(2926, "send", 5, 3),
      ],
    },
  },
  {
    name: "a message that another tab has cleared comes back with a write that was on its way",
    plan: {
      seed: 149,
      tabs: 3,
      locks: "sound",
      whenBusy: "replace",
      proxy: "metered",
      budget: 1000000,
      view: "stores",
      steps: [
        step(10, "change disk", 0, 1),
        step(10, "send for a tool", 4, 15),
        step(4022, "reset chat", 4, 2),
        step(3965, "reload", 4, 12),
        step(274, "regenerate", 3, 23),
        step(2253, "send", 5, 5),
        step(674, "break connection", 5, 20),
      ],
    },
  },
  {
    name: "a page that was frozen while it read its videos shows none of them",
    plan: {
      seed: 82,
      tabs: 3,
      locks: "sound",
      whenBusy: "reject",
      proxy: "kept",
      log: "has no ids",
      budget: 1000000,
      once: true,
      view: "stores",
      steps: [
        step(10, "end session", 0, 22),
        step(10, "create", 0, 22),
        step(85404, "break upstream", 5, 18),
        step(10, "change disk", 5, 1),
        step(10, "open, send and stop", 5, 14),
        step(10, "freeze", 3, 19),
        step(77245, "generate again", 1, 2),
      ],
    },
  },
  {
    name: "an answer that another tab has cleared comes back with a write of its own tab",
    plan: {
      seed: 1895,
      tabs: 3,
      locks: "sound",
      whenBusy: "replace",
      proxy: "metered",
      budget: 1000000,
      view: "stores",
      steps: [
        step(10, "send", 3, 8),
        step(14400000, "send a long one", 5, 13),
        step(651, "break connection", 3, 3),
        step(10, "send", 4, 17),
        step(44, "reload", 0, 9),
        step(2337, "reset chat", 3, 13),
      ],
    },
  },
  {
    name: "a message that was removed comes back with the last write of a closed tab",
    plan: {
      seed: 66_906,
      tabs: 3,
      locks: "sound",
      whenBusy: "replace",
      ...alone,
      steps: [
        step(10, "create", 1, 23),
        step(10, "change disk", 3, 4),
        step(1777, "send and stop", 4, 0),
        step(1722, "create", 3, 13),
        step(129, "change disk", 4, 17),
        step(10, "send", 1, 15),
        step(490, "change disk", 5, 1),
        step(3359, "reset chat", 5, 3),
        step(10, "reload", 1, 6),
      ],
    },
  },
];

function step(afterMs: number, action: Step["do"], tab: number, nth: number): Step {
  return { afterMs, do: action, tab, nth };
}
