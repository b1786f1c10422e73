import {
  type Job,
  logError,
  operation,
  reading,
  type StoredPart,
  type Transaction,
} from "@sluice/worker-proxy/plugin";
import { persistentJob } from "../host/define.js";
import {
  calculateWindowEnd,
  deletePage,
  hasLost,
  hasReserved,
  type Lost,
  type NamedSums,
  PAGE,
  readWindows,
  SUMS,
  type Sums,
  selectWindow,
  settleLost,
  settleReservation,
  storeReservation,
  storeReserved,
  storeWindow,
  TABLES,
} from "./tables.js";

/** Options of the budget that each change needs. */
type Window = {
  readonly windowMs: number;
  /** Milliseconds between the end of the window and the sweep. All windows end together, so the sweeps are spread. */
  readonly jitterMs: number;
};

/** A limit of one key: its name, and the maximum amount for a window. */
export type KeyLimit = { readonly name: string; readonly limit: number };

export type Reserve = Window & {
  readonly id: string;
  readonly amount: number;
  readonly ttlMs: number;
  readonly limits: readonly KeyLimit[];
};

/** The result of an attempt to reserve. */
export interface Reserving {
  /** Index of the limit that has too little left. If it is present, nothing was reserved. */
  readonly refused?: number;
  readonly retryAfterMs: number;
  readonly lost?: Lost;
}

/** The result of a check, and the function that stores the reservation together with other writes. */
interface CheckedReservation extends Reserving {
  store(): Promise<void>;
}

/** Checks whether an amount fits into each limit of a key. If it does not fit, `store` does nothing. */
export async function checkReservation(
  transaction: Transaction,
  input: Reserve,
): Promise<CheckedReservation> {
  const { id, amount, ttlMs, windowMs, limits } = input;
  const { now } = transaction;
  const names = limits.map(({ name }) => name);
  const [before, isRepeated, isOverdue] = await Promise.all([
    readWindows(transaction, names),
    hasReserved(transaction, id),
    hasLost(transaction),
  ]);
  const lost = isOverdue ? await settleLost(transaction) : undefined;
  const stored = isOverdue ? await readWindows(transaction, names) : before;
  const resetsAt = calculateWindowEnd(now, windowMs);
  const windows = limits.map((limit) => ({ ...limit, sums: selectWindow(stored.get(limit.name), resetsAt) }));
  const refused = windows.findIndex(({ limit, sums }) => amount > calculateRemaining(limit, sums));
  const retryAfterMs = (windows[refused]?.sums.resetsAt ?? resetsAt) - now;
  const isRefused = refused >= 0 && !isRepeated;
  const store = isRefused || isRepeated ? async () => {} : storeAll;
  return { ...(isRefused && { refused }), ...(lost && { lost }), retryAfterMs, store };

  async function storeAll(): Promise<void> {
    const isNew = ({ name, sums }: { name: string; sums: Sums }) => stored.get(name) !== sums;
    const writes = windows.flatMap((window) => {
      const { name, sums } = window;
      const reserved = sums.reserved + amount;
      return [
        isNew(window)
          ? storeWindow(transaction, name, { ...sums, reserved })
          : storeReserved(transaction, name, reserved),
        storeReservation(transaction, { id, name, resetsAt: sums.resetsAt, amount }, now + ttlMs),
      ];
    });
    if (windows.some(isNew)) writes.push(scheduleSweep(transaction, resetsAt, input.jitterMs));
    await Promise.all(writes);
  }
}

/** Reserves an amount in each limit of a key, or in none. */
export const reserve = operation<Reserve, Reserving>("budget.reserve", async (transaction, input) => {
  const { store, ...reserving } = await checkReservation(transaction, input);
  await store();
  return reserving;
});

/** Returns the remaining amount. Sums stay below 2^53, because databases store such integers exactly. */
export function calculateRemaining(
  limit: number,
  { spent, reserved, raised }: Omit<Sums, "resetsAt">,
): number {
  return Math.min(limit + raised, Number.MAX_SAFE_INTEGER) - spent - reserved;
}

/** Settles a reservation. Does nothing if it was settled before, or was spent in full after its time ended. */
export const settle = operation<{ readonly id: string; readonly spent: number }, null>(
  "budget.settle",
  async (transaction, { id, spent }) => {
    await settleReservation(transaction, id, spent);
    return null;
  },
);

/** Raises a limit until its window ends. A repeated run with the same `id` does not raise it again. */
export const raise = operation<
  Window & { readonly id: string; readonly name: string; readonly amount: number },
  Sums
>("budget.raise", async (transaction, { id, name, amount, windowMs, jitterMs }) => {
  const { key, now, query } = transaction;
  const stored = (await readWindows(transaction, [name])).get(name);
  const sums = selectWindow(stored, calculateWindowEnd(now, windowMs));
  const [added] = await query(
    "INSERT INTO budget_raises (key, resets_at, id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING id",
    ...[key, sums.resetsAt, id],
  );
  if (!added) return sums;
  const raised = { ...sums, raised: Math.min(Number.MAX_SAFE_INTEGER, sums.raised + amount) };
  await storeWindow(transaction, name, raised);
  if (stored !== sums) await scheduleSweep(transaction, sums.resetsAt, jitterMs);
  return raised;
});

/**
 * Resets the spent amount of the current window to 0 and removes all raises. It also replaces a future window that a
 * wrong clock has opened; otherwise that window would stay current until its end.
 */
export const reset = operation<{ readonly name: string; readonly windowMs: number }, Sums>(
  "budget.reset",
  async (transaction, { name, windowMs }) => {
    const resetsAt = calculateWindowEnd(transaction.now, windowMs);
    const stored = (await readWindows(transaction, [name])).get(name);
    const reserved = stored?.resetsAt === resetsAt ? stored.reserved : 0;
    const sums = { resetsAt, spent: 0, reserved, raised: 0 };
    if (stored && stored.resetsAt >= resetsAt) await storeWindow(transaction, name, sums);
    return sums;
  },
);

/** Reads the current window of a limit by the time of the transaction, after it has spent overdue reservations. */
export const read = operation<{ readonly name: string; readonly windowMs: number }, Sums & { lost: Lost }>(
  "budget.read",
  async (transaction, { name, windowMs }) => {
    const lost = await settleLost(transaction);
    const windows = await readWindows(transaction, [name]);
    return { lost, ...selectWindow(windows.get(name), calculateWindowEnd(transaction.now, windowMs)) };
  },
);

/** Reads a page of all windows of a key. */
export const list = reading<{ readonly after: string }, readonly NamedSums[]>(
  "budget.list",
  ({ query, key }, { after }) =>
    query<NamedSums>(
      `SELECT ${SUMS} FROM budget_windows WHERE key = ? AND name > ? ORDER BY name LIMIT ${PAGE}`,
      ...[key, after],
    ),
);

/** Deletes a page of a key's rows. Returns true if more rows may be left. */
export const erase = operation<null, boolean>("budget.erase", async (transaction) => {
  const counts = await Promise.all([
    deletePage(transaction, "budget_reservations", "id, name"),
    deletePage(transaction, "budget_windows", "name"),
    deletePage(transaction, "budget_raises", "resets_at, id"),
    transaction.cancel(sweepJob, ""),
  ]);
  return counts.includes(PAGE);
});

/** The result of a sweep. */
interface Swept {
  readonly hasMore: boolean;
  readonly lost: Lost;
}

/** Deletes a page of ended rows, and schedules the next sweep. Thus users who never return leave no rows behind. */
const sweep = operation<{ readonly jitterMs: number }, Swept>(
  "budget.sweep",
  async (transaction, { jitterMs }) => {
    const { key, now, query } = transaction;
    const lost = await settleLost(transaction);
    const counts = await Promise.all([
      deletePage(transaction, "budget_windows", "name", now),
      deletePage(transaction, "budget_raises", "resets_at, id", now),
    ]);
    if (lost.hasMore || counts.includes(PAGE)) return { hasMore: true, lost };
    const [next] = await query<{ at: number | null }>(
      `SELECT MIN(at) AS at FROM (SELECT MIN(ends_at) AS at FROM budget_reservations WHERE key = ?
        UNION ALL SELECT MIN(resets_at) AS at FROM budget_windows WHERE key = ?) AS due`,
      ...[key, key],
    );
    const at = next?.at ?? null;
    if (at !== null) await scheduleSweep(transaction, at, jitterMs);
    return { hasMore: false, lost };
  },
);

/** Sweeps a key after the end of its window. */
const sweepJob: Job<{ readonly jitterMs: number }> = persistentJob(
  "budget.sweep",
  async ({ host, key }, input) => {
    for (;;) {
      const { hasMore, lost } = await host.run(key, sweep, input);
      logOverdue(lost);
      if (!hasMore) return;
    }
  },
);

async function scheduleSweep(transaction: Transaction, resetsAt: number, jitterMs: number): Promise<void> {
  await transaction.schedule(sweepJob, { id: "", at: resetsAt + jitterMs, input: { jitterMs } });
}

/** Logs overdue reservations, which were spent. */
export function logOverdue(lost: Lost | undefined): void {
  if (!lost || lost.count === 0) return;
  const { count, amount, ids } = lost;
  logError(
    `budget: ${count} reservations, of ${amount}, were not settled in time; they are spent: ${ids.join(", ")}`,
  );
}

/** The tables, operations and jobs of a budget. */
export const storage: StoredPart = {
  tables: TABLES,
  operations: [reserve, settle, raise, reset, read, list, erase, sweep],
  jobs: [sweepJob],
};
