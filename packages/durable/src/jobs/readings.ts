import { type Reader, reading } from "@sluice/worker-proxy/plugin";
import { type JobState, parseJSON, type ResponseHead, type StopReason } from "./states.js";
import type { JobId } from "./store.js";
import { type JobRow, ONE, PARTS, type PartRow } from "./table.js";

/** The state of a job and its response. */
export interface JobStatus {
  readonly state: JobState;
  readonly code: string | undefined;
  /** Undefined until the gateway has responded. */
  readonly head: ResponseHead | undefined;
  /** Id of the last stored event. */
  readonly lastId: number;
  /** False if events after `lastId` are missing. */
  readonly isWhole: boolean;
  /** Unix milliseconds; undefined while the job is open. */
  readonly expiresAt: number | undefined;
}

/** The row of a job, without its response. */
export interface StoredJob extends JobStatus {
  readonly id: string;
  /** Why the owner must stop; null while the job may continue. */
  readonly stop: StopReason | null;
  /** Unix milliseconds until which the owner counts as alive. */
  readonly aliveUntil: number;
  /** Unix milliseconds until which the owner must store events early, for readers in other processes. */
  readonly readUntil: number;
}

/** Number of jobs that one statement reads. */
const PAGE = 32;

const JOB = "id, state, code, head, last_id, is_whole, stop, alive_until, read_until, expires_at";

/** Creates the reads of the jobs of a plugin. */
export function createReadings(kind: string) {
  return {
    /** The rows of several jobs. Missing jobs are left out. */
    jobs: reading(
      `${kind}.jobs`,
      async (reader: Reader, { ids }: { readonly ids: readonly string[] }): Promise<readonly StoredJob[]> => {
        const marks = Array(PAGE).fill("?").join(", ");
        const count = Math.ceil(ids.length / PAGE);
        const pages = await Promise.all(
          Array.from({ length: count }, (_, page) => {
            const some = ids.slice(page * PAGE, (page + 1) * PAGE);
            return reader.query<JobRow>(
              `SELECT ${JOB} FROM jobs WHERE key = ? AND kind = ? AND id IN (${marks})`,
              ...[reader.key, kind, ...some, ...Array<string>(PAGE - some.length).fill("")],
            );
          }),
        );
        return pages.flat().map(readJob);
      },
    ),
    /** The rows after an event: the text in the row of the job, and the next row of `job_parts`. */
    parts: reading(
      `${kind}.parts`,
      async (reader: Reader, { id, after }: JobId & { readonly after: number }) => {
        const of = [reader.key, kind, id, after];
        const [first, more] = await Promise.all([
          reader.query<PartRow>(
            `SELECT text_id AS last_id, text FROM jobs WHERE ${ONE} AND text_id > ?`,
            ...of,
          ),
          reader.query<PartRow>(
            `SELECT last_id, text FROM job_parts WHERE ${PARTS} AND last_id > ? ORDER BY last_id LIMIT 1`,
            ...of,
          ),
        ]);
        return [...first, ...more];
      },
    ),
    /** Up to 100 jobs after an id, in the order of ids. */
    list: reading(`${kind}.list`, async (reader: Reader, { after }: { readonly after: string }) => {
      const rows = await reader.query<JobRow>(
        `SELECT ${JOB} FROM jobs WHERE key = ? AND kind = ? AND id > ? ORDER BY id LIMIT 100`,
        ...[reader.key, kind, after],
      );
      return rows.map(readJob);
    }),
  };
}

function readJob(row: JobRow): StoredJob {
  return {
    id: row.id,
    state: row.state,
    code: row.code ?? undefined,
    head: parseJSON<ResponseHead>(row.head),
    lastId: row.last_id,
    isWhole: row.is_whole === 1,
    stop: row.stop,
    aliveUntil: row.alive_until,
    readUntil: row.read_until,
    expiresAt: row.expires_at ?? undefined,
  };
}
