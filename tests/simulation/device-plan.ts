import type { WhenBusy } from "@sluice/stores/internal";
import type { DeviceSimulationOptions } from "./device-simulation.js";
import { networkFaults } from "./network.js";
import { createRandom, pickBetween, pickNth, pickWeighted, type Random } from "./random.js";

/** Actions by family, each with its weight. A simulation has some of the families. */
const families = {
  talk: { send: 12, wait: 2 },
  tools: { "send for a tool": 10, approve: 2, deny: 1, "approve in all tabs": 4, "answer in all tabs": 5 },
  clicks: { "send twice": 4, "send in all tabs": 5, "cancel queued": 2, stop: 4, "stop elsewhere": 5 },
  repeats: { retry: 4, "retry in all tabs": 3, regenerate: 2, edit: 2, "switch branch": 2 },
  tabs: { open: 4, reload: 3, crash: 3, freeze: 4, thaw: 4 },
  devices: { "go offline": 6, "go online": 6, "kill device": 2, open: 2 },
  links: { "lose answers": 5, "slow link": 2, "quick link": 3 },
  network: { "break connection": 8, "break all": 2 },
  clears: { "reset chat": 2 },
} as const;

/** Families of the simulations whose turns run on the server, beside those of all. */
const serverFamilies = {
  objects: { "crash an object": 5, "crash all objects": 4, deploy: 4, "break an object's call": 3 },
  gateway: { "break upstream": 6 },
} as const;

type Families = typeof families & typeof serverFamilies;
export type DeviceAction = { [Family in keyof Families]: keyof Families[Family] }[keyof Families];

/** One step of a plan. Numbers choose among what there is, so that any steps can be left out. */
export interface DeviceStep {
  readonly afterMs: number;
  readonly do: DeviceAction;
  readonly tab: number;
  readonly nth: number;
}

/** A simulation of devices and all that happens in it. */
export interface DevicePlan extends DeviceSimulationOptions {
  readonly steps: readonly DeviceStep[];
}

/** An action, the shortest and the longest time before it in milliseconds, and a number for it (any by default). */
type Happening = readonly [DeviceAction, number, number, number?];

/** Faults that have to meet an action in the same moment. All steps of one are done in one tab. */
const deviceMishaps: readonly (readonly Happening[])[] = [
  // a page loses its lock during its turn, and returns after another device has taken over
  [
    ["send for a tool", 0, 3000, 0],
    ["freeze", 300, 900],
    ["thaw", 31_000, 90_000],
  ],
  [
    ["send for a tool", 0, 3000, 1],
    ["go offline", 300, 9000],
    ["go online", 20_000, 60_000],
  ],
  [
    ["send for a tool", 0, 3000, 0],
    ["go offline", 300, 500],
    ["go online", 31_000, 40_000],
  ],
  // the same while a message is queued
  [
    ["send", 0, 3000],
    ["send", 0, 300],
    ["freeze", 0, 900],
    ["thaw", 31_000, 90_000],
  ],
  // a message is sent offline, and the connection comes back as its request is repeated
  [
    ["send", 0, 3000],
    ["go offline", 0, 60],
    ["send", 0, 60],
    ["go online", 100, 900],
    ["send", 0, 900],
  ],
  // another device stops a reply while its own device returns
  [
    ["send", 0, 3000],
    ["go offline", 100, 500],
    ["stop elsewhere", 0, 9000],
    ["go online", 0, 40_000],
  ],
];

/** Faults that meet a turn of the server, and presses on two devices at once. */
const serverMishaps: readonly (readonly Happening[])[] = [
  // the object is lost while a reply streams
  [
    ["send", 0, 3000],
    ["crash all objects", 0, 2500],
  ],
  [
    ["send", 0, 3000],
    ["deploy", 0, 2500],
    ["retry in all tabs", 100, 9000],
  ],
  // while a tool runs, and once more as it runs on
  [
    ["send for a tool", 0, 3000, 1],
    ["crash all objects", 500, 9000],
  ],
  [
    ["send for a tool", 0, 3000, 5],
    ["crash all objects", 500, 9000],
    ["deploy", 0, 9000],
  ],
  // as an approval comes from all devices
  [
    ["send for a tool", 0, 3000, 2],
    ["approve in all tabs", 1000, 9000],
    ["crash all objects", 0, 900],
    ["approve in all tabs", 0, 9000],
  ],
  // while a page runs a tool: the object, or the page
  [
    ["send for a tool", 0, 3000, 4],
    ["deploy", 500, 9000],
  ],
  [
    ["send for a tool", 0, 3000, 4],
    ["kill device", 1000, 9000],
    ["open", 0, 90_000],
  ],
  // the requesting device is away while the turn runs
  [
    ["send for a tool", 0, 3000],
    ["go offline", 100, 900],
    ["crash all objects", 0, 9000],
    ["go online", 9000, 60_000],
  ],
  // a turn is stopped on another device as its object is lost
  [
    ["send for a tool", 0, 3000],
    ["stop elsewhere", 300, 9000],
    ["crash all objects", 0, 200],
  ],
  // two devices ask again at once
  [
    ["break upstream", 0, 3000],
    ["send", 0, 300],
    ["retry in all tabs", 3000, 90_000],
  ],
  [
    ["send", 0, 3000],
    ["stop elsewhere", 300, 2000],
    ["retry in all tabs", 100, 3000],
  ],
];

/** Adds one of the mishaps to half of the simulations. The draws are their own. */
function withMishap(
  seed: number,
  steps: readonly DeviceStep[],
  mishaps: readonly (readonly Happening[])[],
): readonly DeviceStep[] {
  const random = createRandom(seed, "mishaps of devices");
  if (random() < 0.5) return steps;
  const tab = pickBetween(random, 0, 5);
  const at = pickBetween(random, 0, steps.length);
  const happenings = pickNth(mishaps, pickBetween(random, 0, mishaps.length - 1)) ?? [];
  const added = happenings.map((each) => stepOf(random, each, tab));
  return [...steps.slice(0, at), ...added, ...steps.slice(at)];
}

function stepOf(random: Random, [action, least, most, nth]: Happening, tab: number): DeviceStep {
  const drawn = nth ?? pickBetween(random, 0, 23);
  const afterMs = pickBetween(random, least, most);
  return { afterMs, do: action, tab: action === "stop elsewhere" ? tab + 1 : tab, nth: drawn };
}

/** Replies requested again by a device that does not see them, or after another device has stopped them. */
const repeats: readonly (readonly Happening[])[] = [
  [
    ["slow link", 20_000, 60_000],
    ["send", 0, 900],
    ["retry in all tabs", 500, 4000],
    ["retry in all tabs", 0, 900],
  ],
  [
    ["slow link", 20_000, 60_000],
    ["send for a tool", 0, 900, 0],
    ["retry in all tabs", 1000, 4000],
    ["retry in all tabs", 0, 900],
  ],
  [
    ["send", 20_000, 60_000],
    ["freeze", 100, 600],
    ["stop elsewhere", 100, 900],
    ["retry in all tabs", 100, 900],
  ],
];

/** Adds one of the repeats at the end of a sixth of the simulations. The draws are their own. */
function withRepeat(seed: number, steps: readonly DeviceStep[]): readonly DeviceStep[] {
  const random = createRandom(seed, "repeats of devices");
  if (random() * 6 > 1) return steps;
  const tab = pickBetween(random, 0, 5);
  const happenings = pickNth(repeats, pickBetween(random, 0, repeats.length - 1)) ?? [];
  return [...steps, ...happenings.map((each) => stepOf(random, each, tab))];
}

const HOUR_MS = 3_600_000;

/** Makes the plan of a seed. */
export function createDevicePlan(seed: number): DevicePlan {
  const random = createRandom(seed, "devices");
  // a page renews its leases and reads each hour: a week of that is all that a real one would do
  const runsOn = createRandom(seed, "runs on")() < 1 / 3 ? "server" : "device";
  const isOnServer = runsOn === "server";
  const storage = createRandom(seed, "storage")() < 0.5 || isOnServer ? "real" : "model";
  const possible = { ...families, ...(isOnServer && serverFamilies) };
  const chosen = Object.entries(possible).filter(
    ([name]) => name === "talk" || random() < (name === "devices" ? 0.7 : name === "clears" ? 0.15 : 0.4),
  );
  const weights = Object.assign({}, ...chosen.map(([, each]) => each)) as Record<DeviceAction, number>;
  const steps = Array.from(
    { length: pickBetween(random, 6, 30) },
    (): DeviceStep => ({
      afterMs: Number(
        pickWeighted(random, {
          [pickBetween(random, 0, 40)]: 5,
          [pickBetween(random, 50, 3000)]: 8,
          [pickBetween(random, 4000, 90_000)]: 3,
          [HOUR_MS * pickBetween(random, 1, 5)]: 0.2,
          [(storage === "real" ? 1 : 24) * HOUR_MS * pickBetween(random, 1, 7)]: 0.05,
        }),
      ),
      do: pickWeighted(random, weights),
      tab: pickBetween(random, 0, 5),
      nth: pickBetween(random, 0, 23),
    }),
  );
  return {
    seed,
    clocks: Array.from(
      { length: pickBetween(random, 2, 3) },
      () => pickBetween(random, -24, 24) * (HOUR_MS / 2),
    ),
    whenBusy: pickNth(["reject", "queue", "replace"] as const, pickBetween(random, 0, 2)) as WhenBusy,
    proxy: pickWeighted(random, { absent: 3, kept: 5 }),
    storage,
    runsOn,
    steps: withRepeat(seed, withMishap(seed, steps, isOnServer ? serverMishaps : deviceMishaps)),
  };
}

/** Describes a step for a reader. */
export function describeStep({ do: action, nth }: DeviceStep): string {
  return action === "break connection" || action === "break upstream"
    ? `${action} (${pickNth(networkFaults, nth)}, after ${nth % 5} pieces)`
    : action;
}
