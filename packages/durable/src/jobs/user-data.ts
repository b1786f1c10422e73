import type { UserData } from "@sluice/worker-proxy/plugin";
import { exportPage } from "../admin/export-page.js";
import { checkJob } from "./check.js";
import type { JobsContext, KeyContext } from "./options.js";
import type { StoredJob } from "./readings.js";
import type { JobStore } from "./store.js";

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

/** Returns the host and the key of a user. */
type OpenKey = (env: unknown, userId: string) => Promise<KeyContext>;

/** Maximum size of a response in an export, in characters. */
const EXPORT_CHARACTERS = 4 * 1024 * 1024;
/** Maximum time that stopped jobs may take to end, and the pause between two reads of them, in milliseconds. */
const STOP_MS = 30_000;
const PAUSE_MS = 100;

/** Creates the functions that export and erase the jobs of a user. */
export function createUserData(jobs: JobsContext, openKey: OpenKey): UserData<unknown> {
  const { store } = jobs;
  return {
    name: store.kind,
    eraseUser: async (env, userId) => eraseJobs(jobs, await openKey(env, userId)),
    async exportUser(env, userId, cursor) {
      const { host, key } = await openKey(env, userId);
      const read = (after: string) => host.run(key, store.list, { after });
      return exportPage(cursor, read, (row) => exportJob({ host, key }, store, row));
    },
  };
}

/** Stops running jobs, and deletes all. The row of an unsettled reservation stays, without user data, until settled. */
async function eraseJobs(jobs: JobsContext, context: KeyContext): Promise<void> {
  const { store } = jobs;
  const unsettled = new Set<string>();
  const until = Date.now() + STOP_MS;
  for (;;) {
    const erased = await context.host.run(context.key, store.erase, null);
    for (const id of erased.unsettled) unsettled.add(id);
    if (erased.open.length === 0 && !erased.hasMore) break;
    if (erased.open.length > 0 && Date.now() >= until)
      throw new Error(`${store.kind}: a request took longer than ${STOP_MS} ms to stop`);
    // settles lost jobs, because no owner stops them
    for (const id of erased.open) await checkJob(jobs, context, id);
    if (erased.open.length > 0) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  for (const id of unsettled) await checkJob(jobs, context, id);
}

async function exportJob(
  { host, key }: Pick<KeyContext, "host" | "key">,
  store: JobStore,
  { id, state, code, expiresAt, head }: StoredJob,
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
