import type { Reader } from "@sluice/worker-proxy/plugin";
import { reading } from "../host/define.js";
import { type JobState, parseJSON, type ResponseHead, type StopReason } from "./states.js";
import type { TendInput } from "./store.js";
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
  /** Unix milliseconds until which the owner counts as alive. */
  readonly aliveUntil: number;
  /** Unix milliseconds; undefined while the job is open. */
  readonly expiresAt: number | undefined;
}

/** A job in a list. */
export interface ListedJob extends JobStatus {
  readonly id: string;
}

/** A change that the owner of a job must see. */
export interface OwnerChange {
  readonly id: string;
  readonly stop: StopReason | null;
  readonly read_until: number;
}

/** Number of jobs that one statement reads. */
const PAGE = 32;

const STATUS = "id, state, code, head, last_id, is_whole, alive_until, expires_at";

/** Creates the reads of the jobs of a plugin. */
export function createReadings(kind: string) {
  return {
    /** The state of a job; null if the job does not exist. */
    status: reading(
      `${kind}.status`,
      async (reader: Reader, { id }: TendInput): Promise<JobStatus | null> => {
        const [row] = await reader.query<JobRow>(
          `SELECT ${STATUS} FROM jobs WHERE ${ONE}`,
          reader.key,
          kind,
          id,
        );
        return row ? readStatus(row) : null;
      },
    ),
    /** The states of several jobs. Missing jobs are left out. */
    statuses: reading(
      `${kind}.statuses`,
      async (reader: Reader, { ids }: { readonly ids: readonly string[] }): Promise<readonly ListedJob[]> => {
        const places = Array(PAGE).fill("?").join(", ");
        const count = Math.ceil(ids.length / PAGE);
        const pages = await Promise.all(
          Array.from({ length: count }, (_, page) => {
            const some = ids.slice(page * PAGE, (page + 1) * PAGE);
            return reader.query<JobRow>(
              `SELECT ${STATUS} FROM jobs WHERE key = ? AND kind = ? AND id IN (${places})`,
              ...[reader.key, kind, ...some, ...Array<string>(PAGE - some.length).fill("")],
            );
          }),
        );
        return pages.flat().map((row) => ({ id: row.id, ...readStatus(row) }));
      },
    ),
    /** The rows after an event: the text in the row of the job, and the next row of `job_parts`. */
    parts: reading(
      `${kind}.parts`,
      async (reader: Reader, { id, after }: TendInput & { readonly after: number }) => {
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
    /** The running jobs that must stop or have readers in other processes. */
    changes: reading(`${kind}.changes`, (reader: Reader) =>
      reader.query<OwnerChange>(
        `SELECT id, stop, read_until FROM jobs WHERE key = ? AND kind = ? AND expires_at IS NULL
          AND (stop IS NOT NULL OR read_until > 0)`,
        ...[reader.key, kind],
      ),
    ),
    /** Up to 100 jobs after an id, in the order of ids. */
    list: reading(`${kind}.list`, async (reader: Reader, { after }: { readonly after: string }) => {
      const rows = await reader.query<JobRow>(
        `SELECT ${STATUS} FROM jobs WHERE key = ? AND kind = ? AND id > ? ORDER BY id LIMIT 100`,
        ...[reader.key, kind, after],
      );
      return rows.map((row) => ({ id: row.id, ...readStatus(row) }));
    }),
  };
}

function readStatus({ state, code, head, last_id, is_whole, alive_until, expires_at }: JobRow): JobStatus {
  return {
    state,
    code: code ?? undefined,
    head: parseJSON<ResponseHead>(head),
    lastId: last_id,
    isWhole: is_whole === 1,
    aliveUntil: alive_until,
    expiresAt: expires_at ?? undefined,
  };
}
