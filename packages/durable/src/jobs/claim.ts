import type { Transaction } from "@sluice/worker-proxy";
import { operation } from "../host/define.js";
import { ALIVE_MS, isOpen, type JobDetails, TEND_MS } from "./states.js";
import type { StoreContext } from "./store.js";
import { type JobRow, ONE } from "./table.js";

/** A request that wants to be the only one with its id. */
export type Claim = {
  readonly id: string;
  /** New for each request: a claim that is tried again after a lost commit is still its own. */
  readonly owner: string;
  /** Digest of the request. */
  readonly fingerprint: string;
  readonly details: JobDetails;
  /** Largest number of open jobs of the key; null for any. */
  readonly maxOpen: number | null;
};

/**
 * - `claimed`: the request is this one's to send.
 * - `known`: another one with the same fingerprint has the id.
 * - `different`: another request has the id.
 * - `stale`: the row is of a job that was lost or is over. Tend it, and claim again.
 * - `full`: too many jobs of the key are open.
 * - `crowded`: too many jobs of the key are stored.
 */
export type Claimed = "claimed" | "known" | "different" | "stale" | "full" | "crowded";

/** Creates the operation that gives one of many requests with the same id the right to send it. */
export function createClaim({ kind, maxJobs, tendJob }: StoreContext) {
  return operation(`${kind}.claim`, async (tx: Transaction, input: Claim): Promise<Claimed> => {
    const { id, owner, fingerprint, details, maxOpen } = input;
    const count = `SELECT id FROM jobs WHERE key = ? AND kind = ? AND expires_at IS NULL AND alive_until > ? LIMIT ?`;
    const countStored = "SELECT id FROM jobs WHERE key = ? AND kind = ? ORDER BY id LIMIT 1 OFFSET ?";
    const [[row], open, stored] = await Promise.all([
      tx.query<JobRow>(
        `SELECT owner, fingerprint, state, alive_until, expires_at FROM jobs WHERE ${ONE}`,
        ...[tx.key, kind, id],
      ),
      maxOpen === null ? [] : tx.query(count, tx.key, kind, tx.now, maxOpen),
      maxJobs === undefined ? [] : tx.query(countStored, tx.key, kind, maxJobs - 1),
    ]);
    if (row) return compareClaim(row, input, tx.now);
    if (maxOpen !== null && open.length >= maxOpen) return "full";
    if (stored.length > 0) return "crowded";
    await Promise.all([
      tx.query(
        `INSERT INTO jobs (key, kind, id, owner, fingerprint, state, details, text_id, last_id, is_whole,
          is_settled, alive_until, read_until) VALUES (?, ?, ?, ?, ?, 'claimed', ?, 0, 0, 1, 1, ?, 0)`,
        ...[tx.key, kind, id, owner, fingerprint, JSON.stringify(details), tx.now + ALIVE_MS],
      ),
      tx.schedule(tendJob, { id, at: tx.now + TEND_MS, input: { id } }),
    ]);
    return "claimed";
  });
}

function compareClaim(row: JobRow, { owner, fingerprint }: Claim, now: number): Claimed {
  if (row.owner === owner) return "claimed";
  const endsAt = isOpen(row.state) ? row.alive_until : row.expires_at;
  if (endsAt !== null && endsAt <= now) return "stale";
  return row.fingerprint === fingerprint ? "known" : "different";
}
