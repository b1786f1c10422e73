import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import type { FaultReader } from "./reader.ts";
import { type ReaderName, readers } from "./readers.ts";
import { type FaultCase, type FaultVerdict, judge, type Reading } from "./reading.ts";
import { readChatFaults, type StoredResults } from "./results.ts";

/** Time after which a client hangs, in milliseconds: the limits of three attempts, and the waits between them. */
const PATIENCE_MS = 18_000;

const chatFaults = readChatFaults();

/** Verdicts of one client by the name of the fault. Undefined if the client lacks the operation. */
export type Verdicts = Readonly<Record<string, FaultVerdict | undefined>>;

/** Reads all faults with one client, at the same time, over sockets. */
export async function runFaults(name: ReaderName): Promise<Verdicts> {
  const emulator = createEmulator({ faultCases: chatFaults, maxRequests: 100_000 });
  const served = await serve(emulator, { port: 0 });
  try {
    return Object.fromEntries(
      await Promise.all(chatFaults.map(async (fault) => [fault.name, await judgeFault(fault)] as const)),
    );
  } finally {
    await served.close();
  }

  async function judgeFault(fault: FaultCase): Promise<FaultVerdict | undefined> {
    const read = findOperation(readers[name], fault);
    if (!read) return undefined;
    const seen = await readFault(read(`${served.url}/faults/${fault.name}`));
    if (seen === "hangs") return seen;
    const prefix = `/faults/${fault.name}/`;
    const requests = emulator.requests.filter(({ path }) => path.startsWith(prefix)).length;
    return judge(seen, fault, requests);
  }
}

/** Returns true for the name of a client. */
export function isReader(name: string): name is ReaderName {
  return Object.hasOwn(readers, name);
}

/** Runs all clients, one after the other, and returns their verdicts with their versions. */
export async function runAll(): Promise<StoredResults> {
  const names = Object.keys(readers) as ReaderName[];
  const versions = names.map((name) => [name, readVersions(readers[name])] as const);
  const verdicts = new Map(chatFaults.map(({ name }) => [name, {} as Record<string, FaultVerdict>]));
  for (const client of names)
    for (const [fault, verdict] of Object.entries(await runFaults(client)))
      if (verdict) Object.assign(verdicts.get(fault) ?? {}, { [client]: verdict });
  return { versions: Object.fromEntries(versions), verdicts: Object.fromEntries(verdicts) };
}

/** Returns the versions of a client's packages, `ai 7.0.173`. The packages of this repository have none. */
function readVersions({ packages }: FaultReader): string {
  const read = (name: string) => {
    const path = join(import.meta.dirname, "../node_modules", name, "package.json");
    return `${name} ${JSON.parse(readFileSync(path, "utf8")).version}`;
  };
  return packages.map((name) => (name.startsWith("@sluice/") ? name : read(name))).join(", ");
}

function findOperation(reader: FaultReader, { operation, right }: FaultCase): FaultReader["complete"] {
  if (operation === "complete-chat") return reader.complete;
  const needsCalls = right.some(({ toolCalls = [] }) => toolCalls.length > 0);
  return needsCalls && reader.lacksStreamedCalls ? undefined : reader.stream;
}

/** Waits for a reading or its error, up to the time limit of a client. */
async function readFault(reading: Promise<Reading>) {
  const seen = reading.then(
    (read) => ({ reading: read }),
    (error: unknown) => ({ error }),
  );
  const over = new AbortController();
  const limit = setTimeout(PATIENCE_MS, "hangs" as const, { signal: over.signal });
  limit.catch(() => undefined);
  try {
    return await Promise.race([seen, limit]);
  } finally {
    over.abort();
  }
}
