import { type Source, type UserData, waitAtMost } from "@sluice/worker-proxy/plugin";
import { exportPage } from "../admin/export-page.js";
import type { Follow } from "./follow.js";
import { awaitEnd } from "./open-response.js";
import type { ListedJob } from "./readings.js";
import type { JobStore } from "./store.js";
import type { Tend, TendContext } from "./tend.js";

/** A response in an export. */
interface ExportedJob {
  readonly id: string;
  readonly state: string;
  readonly code?: string | undefined;
  /** Unix milliseconds at which the response is deleted; absent while the job runs. */
  readonly expiresAt?: number | undefined;
  /** HTTP status of the response. */
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  /** The response as text; absent if it has more than 4,194,304 characters. */
  readonly text?: string;
}

interface UserDataOptions {
  readonly store: JobStore;
  readonly follow: Source<Follow>;
  readonly tend: Tend;
  /** Returns the host and the key of a user. */
  open(env: unknown, userId: string): Promise<TendContext>;
}

/** Maximum size of a response in an export, in characters. */
const EXPORT_CHARACTERS = 4 * 1024 * 1024;
/** Maximum time that a stopped job may take to end, in milliseconds. */
const STOP_MS = 30_000;

/** Creates the functions that export and erase the jobs of a user. */
export function createUserData(options: UserDataOptions): UserData<unknown> {
  const { store, open } = options;
  return {
    name: store.kind,
    eraseUser: async (env, userId) => eraseJobs(await open(env, userId), options),
    async exportUser(env, userId, cursor) {
      const { host, key } = await open(env, userId);
      const read = (after: string) => host.run(key, store.list, { after });
      return exportPage(cursor, read, (row) => exportJob({ host, key }, store, row));
    },
  };
}

/** Stops running jobs, and deletes all. The row of an unsettled reservation stays, without user data, until settled. */
async function eraseJobs(context: TendContext, options: UserDataOptions): Promise<void> {
  const { store, follow, tend } = options;
  const { host, key } = context;
  const unsettled = new Set<string>();
  for (;;) {
    const erased = await host.run(key, store.erase, null);
    for (const id of erased.unsettled) unsettled.add(id);
    for (const id of erased.open) {
      // settles the job if it is lost, because then no owner stops it
      await tend(context, id);
      const ended = awaitEnd(host, key, follow, id).then(() => true);
      if (!(await waitAtMost(STOP_MS, ended)))
        throw new Error(`${store.kind}: a request took longer than ${STOP_MS} ms to stop`);
    }
    if (erased.open.length === 0 && !erased.hasMore) break;
  }
  for (const id of unsettled) await tend(context, id);
}

async function exportJob(
  { host, key }: Pick<TendContext, "host" | "key">,
  store: JobStore,
  { id, state, code, expiresAt, head }: ListedJob,
): Promise<ExportedJob> {
  const text = await readText();
  const requestId = head?.headers["x-request-id"];
  const known = { id, state, code, expiresAt, status: head?.status, requestId };
  return { ...known, ...(text !== undefined && { text }) };

  /** Reads the response; undefined if it is too large. */
  async function readText(): Promise<string | undefined> {
    let text = "";
    let read = 0;
    while (text.length <= EXPORT_CHARACTERS) {
      const rows = await host.run(key, store.parts, { id, after: read });
      const [last] = rows.slice(-1);
      if (!last) return text;
      text += rows.map((row) => row.text).join("");
      read = last.last_id;
    }
    return undefined;
  }
}
