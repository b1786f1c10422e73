/** Records that are written at once. */
export interface Part {
  readonly keys: readonly string[];
}

/** Result of one attempt to write records, in as many parts as it takes. */
export interface Attempt {
  /** True if the storage has taken any record. */
  readonly isTaken: boolean;
  /** Keys of the records that were not written. */
  readonly failed: ReadonlySet<string>;
  /** Errors of the records that failed alone. */
  readonly refusals: ReadonlyMap<string, unknown>;
  /** Parts that were late, by the keys of their records. They may still come to a good end. */
  readonly late: ReadonlyMap<string, Part>;
  /** Error of the last part that failed. */
  readonly error?: unknown;
}

/** State of an attempt that goes on. */
interface Halving extends Attempt {
  readonly write: (part: Part) => Promise<void>;
  readonly failed: Set<string>;
  readonly refusals: Map<string, unknown>;
  readonly late: Map<string, Part>;
  isTaken: boolean;
  error?: unknown;
  /** Failed parts that may still follow before the storage takes anything. */
  patience: number;
  /** True when nothing more is tried. */
  isOver: boolean;
}

/** Writes all records at once. If that fails, writes each half, down to the record that can't be written. Never rejects. */
export async function attemptWrite(
  keys: readonly string[],
  write: (part: Part) => Promise<void>,
): Promise<Attempt> {
  const attempt: Halving = {
    write,
    failed: new Set(),
    refusals: new Map(),
    late: new Map(),
    // as many as it takes to find a record that can't be written, and to try some others
    patience: Math.ceil(Math.log2(keys.length + 1)) + 4,
    isTaken: false,
    isOver: false,
  };
  await writeAll({ keys }, attempt);
  return attempt;
}

async function writeAll(part: Part, attempt: Halving): Promise<void> {
  if (attempt.isOver) return fail(part, attempt);
  try {
    await attempt.write(part);
    attempt.isTaken = true;
  } catch (error) {
    await handleFailure(part, error, attempt);
  }
}

async function handleFailure(part: Part, error: unknown, attempt: Halving): Promise<void> {
  const { keys } = part;
  const isLate = (error as Error)?.name === "TimeoutError";
  attempt.error = error;
  attempt.patience -= 1;
  attempt.isOver = isLate || (!attempt.isTaken && attempt.patience === 0);
  if (isLate) for (const key of keys) attempt.late.set(key, part);
  else if (keys.length === 1) for (const key of keys) attempt.refusals.set(key, error);
  if (keys.length === 1 || attempt.isOver) return fail(part, attempt);
  const half = Math.ceil(keys.length / 2);
  await writeAll({ keys: keys.slice(0, half) }, attempt);
  await writeAll({ keys: keys.slice(half) }, attempt);
}

function fail({ keys }: Part, { failed }: Halving): void {
  for (const key of keys) failed.add(key);
}
