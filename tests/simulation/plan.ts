import type { WhenBusy } from "../support/when-busy.js";
import type { DiskMode } from "./disk.js";
import { gatewayFaults } from "./gateway.js";
import type { LockMode } from "./locks.js";
import { networkFaults } from "./network.js";
import { objectFaults } from "./objects.js";
import type { ProxyMode } from "./proxy.js";
import { createRandom, pickBetween, pickNth, pickWeighted, type Random } from "./random.js";
import { type LogFault, logFaults } from "./stored-log.js";
import type { View } from "./tab.js";
import type { Part } from "./tree.js";

/** One step of a plan. Numbers choose among what there is, so that any steps can be left out. */
export interface Step {
  /** Milliseconds that pass before. */
  readonly afterMs: number;
  readonly do: Action;
  /** Tab that acts. */
  readonly tab: number;
  /** Number that chooses: a message, a fault, an error of a clock. */
  readonly nth: number;
}

/** A simulation and all its steps. */
export interface Plan {
  readonly seed: number;
  readonly tabs: number;
  readonly locks: LockMode;
  readonly whenBusy: WhenBusy;
  readonly proxy: ProxyMode;
  /** How every other tab uses the library, beginning with the first. The others use the stores. */
  readonly view: View;
  /** Faults of the responses that the proxy stores, when they are read again. */
  readonly log?: LogFault | undefined;
  /** True if the proxy stores the responses to images, videos and assets. */
  readonly once?: boolean | undefined;
  /** Budget of the user in one window, in tokens. Only a proxy has it. */
  readonly budget: number;
  readonly steps: readonly Step[];
}

/** Actions by family, each with its weight. A simulation has some of the families, so that faults do not hide each other. */
const families = {
  talk: { send: 12, wait: 2 },
  tools: {
    "send for a tool": 10,
    approve: 2,
    deny: 1,
    "approve in all tabs": 4,
    "add output in all tabs": 5,
  },
  clicks: { "send twice": 4, "cancel queued": 2, stop: 5, "send and stop": 2, "open, send and stop": 3 },
  repeats: { retry: 4, "retry in all tabs": 2, regenerate: 2, edit: 2, "switch branch": 2 },
  tabs: { open: 4, reload: 4, crash: 4, freeze: 3, thaw: 4, hide: 2, show: 2 },
  clocks: { "jump clock": 3, "sign out": 2, "sign in": 3 },
  network: { "break connection": 10, "break all": 2, "go offline": 2, "go online": 3 },
  gateway: { "spoil response": 8, restart: 2, "come back": 3, forget: 1 },
  disk: { "change disk": 6, "repair disk": 3, "send a long one": 4 },
  corruption: { "corrupt a record": 3, reload: 2 },
  videos: { create: 8, "create twice": 4, refetch: 3, "reset video": 3, "remove video": 1 },
  images: { generate: 8, "generate twice": 4, "stop images": 3, "reset images": 1 },
  assets: { register: 8, "register twice": 3, "reset asset": 2, "refetch asset": 2 },
  views: {
    unmount: 5,
    mount: 7,
    remount: 5,
    "mount with another id": 6,
    "hide for a while": 6,
  },
  again: { "create again": 6, "generate again": 3, "register again": 3 },
  clears: { "reset chat": 1 },
  stranger: { "stranger sends": 6, "stranger creates": 3, "stranger reloads": 2, "stranger signs out": 2 },
  proxy: {
    "break upstream": 10,
    "restart proxy": 3,
    "end session": 4,
    "break an object's call": 4,
    "crash an object": 4,
  },
} as const;

type Families = typeof families;
export type Action = { [Family in keyof Families]: keyof Families[Family] }[keyof Families];

/** Components that steps change: the chat and the video more often. */
export const components: readonly Part[] = [
  "chat",
  "title",
  "video",
  "asset",
  "images",
  "list",
  "chat",
  "video",
];

const VIDEO = components.indexOf("video");

type TreeAction = keyof Families["views"];

type StrangerAction = keyof Families["stranger"];

/** Returns true for a step of another user of the same browser. */
export function isOfStranger(action: Action): action is StrangerAction {
  return action in families.stranger;
}

/** Returns true for a step that changes the components of a tab. */
export function isOfTree(action: Action): action is TreeAction {
  return action in families.views;
}

export const diskModes: readonly DiskMode[] = ["tight", "slow", "full", "tight", "fails", "hangs"];

/** Makes the plan of a seed. */
export function createPlan(seed: number): Plan {
  const random = createRandom(seed, "plan");
  const proxy = pickWeighted(random, { absent: 4, metered: 3, stored: 2 });
  const chosen = Object.entries(families).filter(([name]) => {
    const isApart = ["views", "again", "stranger", "clears"].includes(name);
    if (isApart || (name === "proxy" && proxy === "absent")) return false;
    return name === "talk" || random() < 0.4;
  });
  const weights = Object.assign({}, ...chosen.map(([, weights]) => weights)) as Record<Action, number>;
  const steps = Array.from({ length: pickBetween(random, 6, 32) }, (): Step => {
    // most steps follow one another quickly; some after hours
    const afterMs = pickWeighted(random, {
      [pickBetween(random, 0, 40)]: 5,
      [pickBetween(random, 50, 3000)]: 8,
      [pickBetween(random, 4000, 90_000)]: 2,
      [3_600_000 * pickBetween(random, 1, 5)]: 0.4,
    });
    return {
      afterMs: Number(afterMs),
      do: pickWeighted(random, weights),
      tab: pickBetween(random, 0, 5),
      nth: pickBetween(random, 0, 23),
    };
  });
  const plan = withRareMishaps({
    seed,
    tabs: pickBetween(random, 1, 3),
    locks: pickWeighted(random, { sound: 8, absent: 1, refused: 1, silent: 0.5 }),
    whenBusy: pickNth(["reject", "queue", "replace"] as const, pickBetween(random, 0, 2)) as WhenBusy,
    proxy,
    log: drawLogFault(seed, proxy),
    budget: random() < 0.25 ? 8000 : 1_000_000,
    ...withOrders(seed, proxy, withViews(seed, withMishaps(seed, withStranger(seed, steps)))),
  });
  return withBeginning(withBeginning(plan, "first steps", beginnings), "clearings", clearings);
}

/** An action, the longest time before it in milliseconds, a number for it (any by default), and its tab where that is set. */
type Happening = readonly [Action, number, nth?: number, tab?: number];

type Mishap = (random: Random) => readonly Happening[];

/** Faults that have to happen during an action, and the next action of the user. */
const mishaps: readonly Mishap[] = [
  // a tab crashes while it waits for a reply, and the user continues in another tab
  (random) => [
    [pickWeighted(random, { create: 3, send: 2, "send for a tool": 1 }), 3000],
    ["crash", 60],
    [pickWeighted(random, { open: 2, "retry in all tabs": 3, wait: 1 }), 3000],
  ],
  // connections break until the user repeats the request
  (random) => [
    ...Array.from({ length: pickBetween(random, 2, 4) }, () => ["break connection", 5] as const),
    ["send", 10],
    ["retry", 90_000],
    ["retry", 90_000],
  ],
  // a connection breaks as the user gives up
  () => [
    ["send", 3000],
    ["break connection", 900],
    ["stop", 5],
  ],
  // replies fit on the disk only while they are short
  (random) => [
    ["change disk", 900, diskModes.indexOf("tight")],
    ["send a long one", 10],
    ["send a long one", 60_000],
    [pickWeighted(random, { send: 1, "retry in all tabs": 2 }), 60_000],
  ],
  // the chat is cleared during a read or write of the disk, which may be slow
  (random) => [
    [pickWeighted(random, { "change disk": 2, wait: 1 }), 900, diskModes.indexOf("slow")],
    [pickWeighted(random, { send: 3, "send for a tool": 1, open: 3, reload: 1 }), 900],
    ["reset chat", 5000],
    [pickWeighted(random, { send: 2, reload: 1, wait: 1 }), 9000],
  ],
];

/** Adds one mishap or two, in some simulations. The draws are their own, so that they change no other simulation. */
function withMishaps(seed: number, steps: readonly Step[]): readonly Step[] {
  const random = createRandom(seed, "mishaps");
  if (random() < 0.6) return steps;
  return Array.from({ length: pickBetween(random, 1, 2) }).reduce<readonly Step[]>(
    (mixed) => mix(mixed, mishaps, random),
    steps,
  );
}

/** Adds one of the mishaps at any place. Four of five of its steps are done in one tab. */
function mix(steps: readonly Step[], choice: readonly Mishap[], random: Random): readonly Step[] {
  const at = pickBetween(random, 0, steps.length);
  const own = pickBetween(random, 0, 5);
  const parts = (pickNth(choice, pickBetween(random, 0, choice.length - 1)) as Mishap)(random);
  const added = parts.map(
    ([action, maxMs, nth = pickBetween(random, 0, 23)]): Step => ({
      afterMs: pickBetween(random, 0, maxMs),
      do: action,
      tab: random() < 0.8 ? own : pickBetween(random, 0, 5),
      nth,
    }),
  );
  return [...steps.slice(0, at), ...added, ...steps.slice(at)];
}

type Possible = (plan: Plan) => boolean;

/** Mishaps that hardly any simulation has by chance. Each shows a bug of the past, in some kinds of simulations. */
const rareMishaps: readonly (readonly [Mishap, Possible])[] = [
  // a tab crashes during a video, and another tab requests the same video immediately
  [
    () => [
      ["create", 3000],
      ["crash", 300],
      ["create again", 600],
    ],
    ({ once, locks }) => once === true && locks === "sound",
  ],
];

/** Adds a rare mishap, in some simulations. The draws are their own, so that they change no other simulation. */
function withRareMishaps(plan: Plan): Plan {
  const random = createRandom(plan.seed, "rare mishaps");
  if (random() < 0.85) return plan;
  const possible = rareMishaps.flatMap(([mishap, isPossible]) => (isPossible(plan) ? mishap : []));
  return possible.length === 0 ? plan : { ...plan, steps: mix(plan.steps, possible, random) };
}

/** Components by their place in {@link components}. */
const [CHAT, TITLE] = [components.lastIndexOf("chat"), components.indexOf("title")];
const SLOW = 7;
const RESET = 1;

/**
 * Mishaps that show a past bug only if no other fault came before, since that could explain or hide the bug. Each runs
 * in the first tab and ends with a wait.
 */
const beginnings: readonly (readonly [Mishap, Possible])[] = [
  // a retry in two tabs waits for one with a slow tool
  [
    () => [
      ["send for a tool", 3000, 1],
      ["retry in all tabs", 60],
    ],
    ({ whenBusy, locks, tabs }) => whenBusy === "queue" && locks === "sound" && tabs === 3,
  ],
  // all components of a chat unmount while its reply does not fit on the disk
  [
    (random) => [
      ["send a long one", 3000],
      ["unmount", 10, TITLE],
      ["change disk", 900, diskModes.indexOf(pickWeighted(random, { tight: 1, full: 1 }))],
      ["mount with another id", 900, CHAT + components.length],
      ["wait", 14_400_000],
    ],
    ({ view }) => view !== "stores",
  ],
  // a page is frozen while it reads from a disk that is far away
  [
    (random) => [
      ["create", 3000],
      // most videos are ready by then
      ["change disk", 400_000, diskModes.indexOf("slow")],
      [pickWeighted(random, { open: 2, reload: 1 }), 900],
      ["freeze", 900],
    ],
    ({ tabs }) => tabs > 1,
  ],
  // the connection to a ledger breaks as it reserves, or as it settles
  [
    () => [
      ["break an object's call", 900, RESET],
      ["send", 10],
    ],
    ({ proxy }) => proxy !== "absent",
  ],
  [
    () => [
      ["send", 3000],
      ["break an object's call", 1300, RESET],
    ],
    ({ proxy }) => proxy !== "absent",
  ],
  // images are stopped while their response is on its way, and an asset is left before its receipt
  [
    () => [
      ["break connection", 200, SLOW],
      ["generate", 200],
      ["stop images", 9900],
    ],
    () => true,
  ],
  [
    () => [
      ["register", 3000],
      ["reset asset", 200],
    ],
    () => true,
  ],
];

/** First steps with a cleared chat and a tab that is then gone. They use separate random numbers. */
const clearings: typeof beginnings = [
  // the write of another tab is on its way
  ...[0, 1].map((lost): (typeof beginnings)[number] => [
    () => [
      ["change disk", 900, diskModes.indexOf("slow")],
      ["send", 900],
      ["reset chat", 9000, 0, 1],
      ["crash", 4000, 0, lost],
    ],
    isOfTabs,
  ]),
  // another tab gets the lock of the reply, and completes the reply
  [
    () => [
      ["send for a tool", 3000, 1],
      ["reset chat", 3000],
      ["crash", 9],
    ],
    isOfTabs,
  ],
];

function isOfTabs({ tabs, locks }: Plan): boolean {
  return tabs > 1 && locks === "sound";
}

/**
 * Begins some simulations with one of these mishaps. They use separate draws, so that other simulations do not change.
 */
function withBeginning(plan: Plan, name: string, choice: typeof beginnings): Plan {
  const random = createRandom(plan.seed, name);
  if (random() < 0.9) return plan;
  const possible = choice.flatMap(([mishap, isPossible]) => (isPossible(plan) ? mishap : []));
  if (possible.length === 0) return plan;
  const begin = pickNth(possible, pickBetween(random, 0, possible.length - 1)) as Mishap;
  const happenings = begin(random);
  const hasReload = happenings.some(([action]) => action === "reload");
  const steps = [...happenings, ["wait", 90_000] as const].map(
    ([action, maxMs, nth = pickBetween(random, 0, 23), tab = 0]): Step => ({
      afterMs: pickBetween(random, 0, maxMs),
      do: action,
      // a reading page is the last opened page; a reload replaces a page
      tab: action !== "freeze" ? tab : plan.tabs - (hasReload ? 1 : 0),
      nth,
    }),
  );
  return { ...plan, steps: [...steps, ...plan.steps] };
}

/**
 * Lets most proxies that store chats also store the responses to images, videos and assets. Orders are then lost and
 * requested again. Uses separate random numbers, so that other simulations do not change.
 */
function withOrders(
  seed: number,
  proxy: ProxyMode,
  { view, steps }: Pick<Plan, "view" | "steps">,
): Pick<Plan, "once" | "view" | "steps"> {
  const random = createRandom(seed, "orders");
  if (proxy !== "stored" || random() < 0.3) return { view, steps };
  const step = (action: Action, maxMs: number): Step => ({
    afterMs: pickBetween(random, 0, maxMs),
    do: action,
    tab: pickBetween(random, 0, 5),
    nth: pickBetween(random, 0, 23),
  });
  const mixed = steps.flatMap((each): Step[] => {
    if (random() < 0.6) return [each];
    const kind = pickWeighted(random, { create: 3, generate: 2, register: 2 });
    const fault = pickWeighted(random, {
      "break connection": 6,
      "break upstream": 1,
      "restart proxy": 1,
      crash: 1,
    });
    const order = { ...step(kind, 3000), tab: each.tab };
    const again = Array.from({ length: pickBetween(random, 1, 3) }, () => ({
      ...step(`${kind} again`, 90_000),
      tab: random() < 0.7 ? each.tab : pickBetween(random, 0, 5),
    }));
    const broken =
      fault === "break connection" ? [step(fault, 10), step(fault, 10), order] : [order, step(fault, 900)];
    return [each, ...broken, ...again];
  });
  return { once: true, view, steps: mixed };
}

/** Half of the logs are exact. The draw is its own, so that it changes no other part of a simulation. */
function drawLogFault(seed: number, proxy: ProxyMode): LogFault | undefined {
  const random = createRandom(seed, "log");
  return proxy === "stored" && random() < 0.5
    ? pickNth(logFaults, pickBetween(random, 0, logFaults.length - 1))
    : undefined;
}

/** Adds the steps of another user of the same browser, in some simulations. The others stay as they are. */
function withStranger(seed: number, steps: readonly Step[]): readonly Step[] {
  const random = createRandom(seed, "stranger");
  if (random() < 0.85) return steps;
  return steps.flatMap((step): Step[] => {
    if (random() < 0.6) return [step];
    const afterMs = pickBetween(random, 0, 3000);
    return [{ afterMs, do: pickWeighted(random, families.stranger), tab: 0, nth: 0 }, step];
  });
}

/** Adds the steps of components to a simulation with components. Other simulations stay unchanged. */
function withViews(seed: number, steps: readonly Step[]): Pick<Plan, "view" | "steps"> {
  const random = createRandom(seed, "view");
  const view = pickWeighted(random, { stores: 6, hooks: 1, "strict hooks": 1 });
  if (view === "stores") return { view, steps };
  const mixed = steps.flatMap((step): Step[] => {
    if (random() < 0.6) return [step];
    const change: Step = {
      afterMs: Number(
        pickWeighted(random, {
          0: 2,
          [pickBetween(random, 1, 900)]: 3,
          [pickBetween(random, 1000, 400_000)]: 1,
        }),
      ),
      do: pickWeighted(random, families.views),
      tab: pickBetween(random, 0, 5),
      nth: pickBetween(random, 0, 23),
    };
    return [change, step];
  });
  return {
    view,
    steps: mixed.flatMap((each) => [each, ...(random() < 0.04 ? pickAnotherVideo(random, each.tab) : [])]),
  };
}

/** Shows a video by its id, makes another one in the same component, and hides that for a while. */
function pickAnotherVideo(random: Random, tab: number): readonly Step[] {
  const step = (action: Action, minMs: number): Step => ({
    afterMs: pickBetween(random, minMs, 2 * minMs),
    do: action,
    tab,
    // the component of the video, and one of the videos
    nth: VIDEO + components.length * pickBetween(random, 0, 2),
  });
  return [
    step("mount with another id", 100),
    step("reset video", 1000),
    step("create", 100),
    step("hide for a while", 3000),
  ];
}

/** Describes a step for a reader. */
export function describeStep({ do: action, nth }: Step): string {
  const fault =
    action === "break connection" || action === "break upstream"
      ? ` (${pickNth(networkFaults, nth)}, after ${nth % 5} pieces)`
      : action === "spoil response"
        ? ` (${pickNth(gatewayFaults, nth)})`
        : action === "change disk"
          ? ` (${pickNth(diskModes, nth)})`
          : action === "break an object's call"
            ? ` (${pickNth(objectFaults, nth)})`
            : isOfTree(action)
              ? ` (${pickNth(components, nth)})`
              : "";
  return action + fault;
}
