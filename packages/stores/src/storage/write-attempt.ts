/** Records of one write. */
export interface WriteBatch {
  readonly keys: readonly string[];
}

/** Result of one attempt to write records, in one or more batches. */
export interface Attempt {
  /** True if the storage accepted a record. */
  readonly isAccepted: boolean;
  /** Keys of the records that were not written. */
  readonly failed: ReadonlySet<string>;
  /** Errors of records that failed in a batch of one. */
  readonly refusals: ReadonlyMap<string, unknown>;
  /** Late batches by the keys of their records. They may still succeed. */
  readonly late: ReadonlyMap<string, WriteBatch>;
  /** Error of the last failed batch. */
  readonly error?: unknown;
}

/** State of an attempt in progress. */
interface AttemptState extends Attempt {
  readonly write: (batch: WriteBatch) => Promise<void>;
  readonly failed: Set<string>;
  readonly refusals: Map<string, unknown>;
  readonly late: Map<string, WriteBatch>;
  isAccepted: boolean;
  error?: unknown;
  /** Number of failed batches that are still allowed before the storage accepts a record. */
  failuresLeft: number;
  /** True once the attempt gives up. */
  isOver: boolean;
}

/** Writes all records in one batch. If it fails, writes each half, down to the failing record. Never rejects. */
export async function attemptWrite(
  keys: readonly string[],
  write: (batch: WriteBatch) => Promise<void>,
): Promise<Attempt> {
  const attempt: AttemptState = {
    write,
    failed: new Set(),
    refusals: new Map(),
    late: new Map(),
    // enough to find one failing record and to try some others
    failuresLeft: Math.ceil(Math.log2(keys.length + 1)) + 4,
    isAccepted: false,
    isOver: false,
  };
  await writeAll({ keys }, attempt);
  return attempt;
}

async function writeAll(batch: WriteBatch, attempt: AttemptState): Promise<void> {
  if (attempt.isOver) return fail(batch, attempt);
  try {
    await attempt.write(batch);
    attempt.isAccepted = true;
  } catch (error) {
    await handleFailure(batch, error, attempt);
  }
}

async function handleFailure(batch: WriteBatch, error: unknown, attempt: AttemptState): Promise<void> {
  const { keys } = batch;
  const isLate = (error as Error)?.name === "TimeoutError";
  attempt.error = error;
  attempt.failuresLeft -= 1;
  attempt.isOver = isLate || (!attempt.isAccepted && attempt.failuresLeft === 0);
  if (isLate) for (const key of keys) attempt.late.set(key, batch);
  else if (keys.length === 1) for (const key of keys) attempt.refusals.set(key, error);
  if (keys.length === 1 || attempt.isOver) return fail(batch, attempt);
  const half = Math.ceil(keys.length / 2);
  await writeAll({ keys: keys.slice(0, half) }, attempt);
  await writeAll({ keys: keys.slice(half) }, attempt);
}

function fail({ keys }: WriteBatch, { failed }: AttemptState): void {
  for (const key of keys) failed.add(key);
}
