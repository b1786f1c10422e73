import { type Figure, inTurns, measureMs, toRatio } from "./harness.ts";
import type { Subject } from "./subjects.ts";
import { createResponse, makeEvents, splitReads } from "./workload.ts";

export const FRAMES = 20_000;
export const sizes = { "one frame": "one frame", "4 KB": 4096, "64 KB": 65_536, "7 bytes": 7 } as const;
export type Size = keyof typeof sizes;

/** Creates a gateway whose `fetch` responds in reads of one size. */
export function createGateway(size: Size) {
  const events = makeEvents(size === "7 bytes" ? FRAMES / 5 : FRAMES);
  const reads = splitReads(events, sizes[size]);
  return { baseURL: "https://gateway.test", fetch: async () => createResponse(reads) };
}

/** Measures the time of each subject in this runtime, divided by the floor's time. */
export async function measureRatios(
  subjects: Readonly<Record<string, Subject>>,
  size: Size,
): Promise<Record<string, Figure>> {
  const gateway = createGateway(size);
  const times = await inTurns(Object.keys(subjects), (name) =>
    measureMs(() => (subjects[name] as Subject)(gateway, () => {})),
  );
  const { floor = [], ...others } = times;
  return Object.fromEntries(Object.entries(others).map(([name, values]) => [name, toRatio(values, floor)]));
}
