import { networkFaults } from "./network.js";
import type { Plan, Step } from "./plan.js";

/** A plan that revealed a bug, with the fewest steps that show it. */
export interface Scenario {
  readonly name: string;
  readonly plan: Plan;
}

/** A simulation without a proxy. */
const alone = { proxy: "absent", view: "stores", budget: 0 } as const;

/** Number of the network fault that loses the response of a request. */
const SILENT = networkFaults.indexOf("silent");

/** Scenarios of all bugs that were found. `report` prints the steps of a new one. */
export const scenarios: readonly Scenario[] = [
  {
    name: "a response of another tab streams forever if the lock manager stalls",
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
        step(1000, "spoil response", 0, 2),
        step(10, "freeze", 1, 0),
        step(10, "create", 0, 0),
        step(60_000, "thaw", 1, 0),
      ],
    },
  },
  {
    name: "a question that was stopped while the chat was restored is sent",
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
    name: "a request that stops a stored response stays open where its connection is lost",
    plan: {
      seed: 311,
      tabs: 1,
      locks: "sound",
      whenBusy: "queue",
      proxy: "stored",
      view: "stores",
      budget: 1_000_000,
      steps: [
        step(10, "break connection", 0, 22),
        step(10, "send", 0, 23),
        step(1474, "break connection", 0, 9),
        step(2993, "send and stop", 0, 13),
      ],
    },
  },
  {
    name: "the simulation itself: a page that was frozen gets a piece of a response that it has left",
    plan: {
      seed: 8747,
      tabs: 1,
      locks: "absent",
      whenBusy: "queue",
      proxy: "stored",
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
    name: "a response that its tab has removed comes back from a tab that gets the lock before the notification",
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
      seed: 296,
      tabs: 3,
      locks: "sound",
      whenBusy: "replace",
      proxy: "metered",
      budget: 1_000_000,
      view: "stores",
      steps: [
        step(10, "change disk", 0, 13),
        step(12, "send for a tool", 4, 13),
        step(7438, "reset chat", 4, 18),
        step(2996, "reload", 4, 14),
        step(132, "regenerate", 3, 17),
      ],
    },
  },
  {
    name: "a page that was frozen while it read its videos shows none of them",
    plan: {
      seed: 49,
      tabs: 2,
      locks: "sound",
      whenBusy: "queue",
      ...alone,
      steps: [
        step(10, "create", 0, 15),
        step(89_834, "change disk", 0, 1),
        step(10, "reload", 0, 18),
        step(10, "freeze", 1, 7),
        step(42_211, "wait", 0, 19),
      ],
    },
  },
  {
    name: "a response that another tab has cleared comes back with a write of its own tab",
    plan: {
      seed: 1895,
      tabs: 3,
      locks: "sound",
      whenBusy: "replace",
      proxy: "metered",
      budget: 1_000_000,
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
      seed: 6,
      tabs: 3,
      locks: "sound",
      whenBusy: "replace",
      proxy: "absent",
      view: "stores",
      budget: 0,
      steps: [
        step(10, "create", 1, 23),
        step(10, "change disk", 3, 4),
        step(1777, "send and stop", 4, 0),
        step(129, "change disk", 4, 17),
        step(10, "send", 1, 15),
        step(490, "change disk", 5, 1),
        step(3359, "reset chat", 5, 3),
        step(10, "reload", 1, 6),
      ],
    },
  },
  {
    name: "a retry that waits for a tab with a tool repeats what that tab has done",
    plan: {
      seed: 91_398,
      tabs: 3,
      locks: "sound",
      whenBusy: "queue",
      ...alone,
      steps: [step(10, "send for a tool", 3, 5), step(31, "retry in all tabs", 1, 23)],
    },
  },
  {
    name: "a response that a full storage rejected is shown in its earlier state",
    plan: {
      seed: 91_096,
      tabs: 1,
      locks: "sound",
      whenBusy: "replace",
      ...alone,
      view: "strict hooks",
      steps: [
        step(10, "send a long one", 3, 14),
        step(10, "unmount", 1, 17),
        step(10, "change disk", 2, 0),
        step(10, "mount with another id", 0, 14),
        step(7200000, "retry", 3, 23),
      ],
    },
  },
  {
    name: "a video of a crashed tab is billed once if another tab requests it at once",
    plan: {
      seed: 1,
      tabs: 2,
      locks: "sound",
      whenBusy: "replace",
      proxy: "stored",
      once: true,
      view: "stores",
      budget: 1_000_000,
      steps: [step(1000, "create", 0, 0), step(100, "crash", 0, 0), step(10, "create again", 0, 0)],
    },
  },
  {
    name: "a request that is lost with its object is spent, however soon after it was sent",
    plan: {
      seed: 110_363,
      tabs: 3,
      locks: "refused",
      whenBusy: "queue",
      proxy: "stored",
      view: "stores",
      budget: 1_000_000,
      steps: [
        step(10, "break upstream", 5, 13),
        step(10, "break upstream", 1, 11),
        step(10, "send", 0, 0),
        step(10, "retry", 2, 0),
        step(2815, "crash an object", 0, 0),
      ],
    },
  },
  {
    name: "a request whose reservation failed is charged nothing, since it was never sent",
    plan: {
      seed: 135_841,
      tabs: 1,
      locks: "sound",
      whenBusy: "queue",
      proxy: "stored",
      view: "stores",
      budget: 8000,
      steps: [
        step(10, "send twice", 5, 6),
        step(15_672, "break an object's call", 1, 8),
        step(10, "send and stop", 3, 13),
        step(10, "break an object's call", 0, 12),
        step(10, "send for a tool", 1, 20),
        step(1103, "end session", 0, 22),
        step(1112, "reload", 5, 15),
        step(10, "reload", 4, 16),
        step(10, "send", 0, 22),
        step(40, "break an object's call", 3, 1),
        step(678, "add output in all tabs", 3, 22),
      ],
    },
  },
  {
    name: "all tabs show the complete response that a full disk rejected, though another tab has resumed a part of it",
    plan: {
      seed: 133_056,
      tabs: 2,
      locks: "sound",
      whenBusy: "replace",
      proxy: "stored",
      view: "stores",
      budget: 1_000_000,
      steps: [
        step(10, "go offline", 0, 22),
        step(10, "break connection", 0, 14),
        step(10, "change disk", 5, 0),
        step(10, "send a long one", 5, 2),
        step(66_918, "spoil response", 3, 21),
      ],
    },
  },
  {
    name: "a page adds little to a disk that stalls for hours, and writes everything soon after the disk recovers",
    plan: {
      seed: 150_197,
      tabs: 1,
      locks: "sound",
      whenBusy: "reject",
      proxy: "stored",
      once: true,
      view: "stores",
      budget: 1_000_000,
      steps: [
        step(10, "create", 3, 23),
        step(10, "change disk", 1, 11),
        step(10, "send", 3, 7),
        step(7_200_000, "refetch asset", 0, 6),
        step(18_000_000, "change disk", 0, 19),
      ],
    },
  },
  {
    name: "a finished video stays finished, though a tab that was frozen polls a gateway that has forgotten it",
    plan: {
      seed: 166_665,
      tabs: 2,
      locks: "sound",
      whenBusy: "replace",
      proxy: "absent",
      view: "stores",
      budget: 8000,
      steps: [
        step(10, "create", 0, 9),
        step(7936, "change disk", 0, 1),
        step(10, "open", 0, 17),
        step(10, "freeze", 2, 14),
        step(10, "wait", 0, 22),
        step(80_618, "refetch asset", 2, 12),
        step(10, "stranger sends", 0, 0),
        step(10, "stranger sends", 0, 0),
        step(2331, "forget", 3, 15),
      ],
    },
  },
  {
    name: "a retry after a response that never came has a new key",
    plan: {
      seed: 1,
      tabs: 1,
      locks: "sound",
      whenBusy: "reject",
      proxy: "stored",
      view: "stores",
      budget: 1_000_000,
      steps: [step(10, "break connection", 0, SILENT), step(10, "send", 0, 0), step(90_000, "retry", 0, 0)],
    },
  },
  {
    name: "a running tool call ends in the other tabs when its tab crashes",
    plan: {
      seed: 1,
      tabs: 2,
      locks: "sound",
      whenBusy: "reject",
      ...alone,
      steps: [step(1000, "send for a tool", 0, 1), step(3000, "crash", 0, 0)],
    },
  },
  {
    name: "a message stays removed if its tab writes it just after a tab that then crashes has removed it",
    plan: {
      seed: 10,
      tabs: 2,
      locks: "sound",
      whenBusy: "reject",
      ...alone,
      steps: [step(1000, "send", 0, 0), step(699, "reset chat", 1, 0), step(8, "crash", 1, 0)],
    },
  },
];

function step(afterMs: number, action: Step["do"], tab: number, nth: number): Step {
  return { afterMs, do: action, tab, nth };
}
