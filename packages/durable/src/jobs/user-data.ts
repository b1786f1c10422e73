import type { JobEvent, Source, UserData } from "@sluice/worker-proxy";
import { limited } from "@sluice/worker-proxy/internal";
import type { Follow } from "./follow.js";
import { awaitEnd } from "./open-response.js";
import type { ListedJob } from "./readings.js";
import type { JobServer } from "./server.js";
import type { JobStore } from "./store.js";
import { type TendContext, tendJob } from "./tend.js";
import { userKey } from "./user-key.js";

/** A response in an export. */
export interface ExportedJob {
  readonly id: string;
  readonly state: string;
  readonly code?: string | undefined;
  /** Unix milliseconds at which it is deleted; absent as long as it runs. */
  readonly expiresAt?: number | undefined;
  /** HTTP status of the response. */
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  /** The response as text; absent if it did not fit into the export. */
  readonly text?: string;
}

interface UserDataOptions {
  readonly store: JobStore;
  readonly eventKind: JobEvent["kind"];
  readonly follow: Source<Follow>;
  readonly getServer: () => JobServer;
}

/** Most characters of the responses in one export. */
const EXPORT_CHARACTERS = 4 * 1024 * 1024;
/** Time in which a job that was told to stop has to end, in milliseconds. */
const STOP_MS = 30_000;

/** Creates the access to the jobs of a user, for the operator. */
export function createUserData(options: UserDataOptions) {
  const { store, getServer } = options;
  const { kind } = store.options;
  const userData: UserData<unknown> = {
    name: kind,
    eraseUser: async (env, userId) => eraseJobs(await open(env, userId), options),
    exportUser: async (env, userId) => exportJobs(await open(env, userId), store),
  };
  return { userData, list };

  async function open(env: unknown, userId: string): Promise<TendContext> {
    return { host: getServer().host(env), key: await userKey(userId), env };
  }

  async function list(env: unknown, userId: string, after: string): Promise<readonly ListedJob[]> {
    const { host, key } = await open(env, userId);
    return host.run(key, store.list, { after });
  }
}

/** Stops what runs, and deletes everything. What can't be settled stays until it is, without its response. */
async function eraseJobs(context: TendContext, options: UserDataOptions): Promise<void> {
  const { store, follow } = options;
  const { host, key } = context;
  const server = options.getServer();
  const unsettled = new Set<string>();
  for (;;) {
    const erased = await host.run(key, store.erase, null);
    for (const id of erased.unsettled) unsettled.add(id);
    for (const id of erased.open) {
      // one that was lost has no owner that could stop it
      await tendJob(context, options, server, id);
      await limited(STOP_MS, (signal) => raceSignal(signal, awaitEnd(host, key, follow, id)));
    }
    if (erased.open.length === 0 && !erased.hasMore) break;
  }
  for (const id of unsettled) await tendJob(context, options, server, id);
}

function raceSignal(signal: AbortSignal, work: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
    work.then(resolve, reject);
  });
}

async function exportJobs({ host, key }: TendContext, store: JobStore): Promise<readonly ExportedJob[]> {
  const exported: ExportedJob[] = [];
  let left = EXPORT_CHARACTERS;
  let after = "";
  for (;;) {
    const jobs = await host.run(key, store.list, { after });
    for (const { id, state, code, expiresAt, head } of jobs) {
      const text = await readText(id, left);
      if (text !== undefined) left -= text.length;
      const requestId = head?.headers["x-request-id"];
      exported.push({
        id,
        state,
        code,
        expiresAt,
        status: head?.status,
        requestId,
        ...(text !== undefined && { text }),
      });
      after = id;
    }
    if (jobs.length === 0) return exported;
  }

  /** Reads a response; undefined if it is larger than `most` characters. */
  async function readText(id: string, most: number): Promise<string | undefined> {
    let text = "";
    let read = 0;
    while (text.length <= most) {
      const rows = await host.run(key, store.parts, { id, after: read });
      const [last] = rows.slice(-1);
      if (!last) return text;
      text += rows.map((row) => row.text).join("");
      read = last.last_id;
    }
    return undefined;
  }
}
