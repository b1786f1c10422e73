/*
 * Runs subjects in turns, and prints their times. It imports nothing, because every runtime uses it.
 */

/** The middle of some values, and the quartiles around it. */
export interface Figure {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export interface Turns {
  /** Rounds that count. @default 11 */
  readonly rounds?: number;
  /** Rounds before them, which do not count. @default 2 */
  readonly warmUps?: number;
  /** A subject that has used so many milliseconds leaves the rounds, once one counts. @default 2500 */
  readonly budgetMs?: number;
}

declare const process: { readonly env: { readonly BENCH_ROUNDS?: string } };

/** `BENCH_ROUNDS=1` tries a topic out in a moment; its figures mean little. */
const mostRounds = Number(readRounds() || Number.POSITIVE_INFINITY);

function readRounds(): string | undefined {
  try {
    return process.env.BENCH_ROUNDS;
  } catch {
    return undefined; // workerd has no `process`, and a page gets the value when it is built
  }
}

/**
 * Runs each subject once per round, and returns what `once` returned, by subject and round. Each round has another
 * order: what one subject leaves behind, such as garbage, would otherwise slow down always the same next one.
 */
export async function inTurns<Name extends string>(
  names: readonly Name[],
  once: (name: Name) => Promise<number>,
  { rounds = 11, warmUps = 2, budgetMs = 2500 }: Turns = {},
): Promise<Record<Name, number[]>> {
  const values = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  const spentMs = new Map<Name, number>();
  const shuffled = shuffler();
  for (let round = -Math.min(warmUps, mostRounds); round < Math.min(rounds, mostRounds); round += 1)
    for (const name of shuffled(names)) {
      const spent = spentMs.get(name) ?? 0;
      // a slow subject counts from its first run: its warm-up would cost minutes
      const isOver = spent > budgetMs;
      if (isOver && values[name].length > 0) continue;
      const startedAt = performance.now();
      const value = await once(name);
      spentMs.set(name, spent + performance.now() - startedAt);
      if (round >= 0 || spent + value > budgetMs) values[name].push(value);
    }
  return values;
}

/** Creates a function that returns lists in another order, the same in every run. */
function shuffler(): <Item>(items: readonly Item[]) => Item[] {
  let state = 1;
  return (items) => {
    const list = [...items];
    for (let last = list.length - 1; last > 0; last -= 1) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      const at = Math.floor((state / 2 ** 32) * (last + 1));
      [list[last], list[at]] = [list[at], list[last]] as [(typeof list)[0], (typeof list)[0]];
    }
    return list;
  };
}

/** The time that `work` takes, in milliseconds. */
export async function measureMs(work: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

export function toFigure(values: readonly number[]): Figure {
  const sorted = [...values].sort((one, other) => one - other);
  const at = (part: number) => sorted[Math.round((sorted.length - 1) * part)] ?? Number.NaN;
  return { median: at(0.5), low: at(0.25), high: at(0.75) };
}

/** Divides each value by the value of `floor` in the same round. */
export function toRatio(values: readonly number[], floor: readonly number[]): Figure {
  const middle = toFigure(floor).median;
  return toFigure(values.map((value, round) => value / (floor[round] ?? middle)));
}

/** `0.70 (0.66–0.74)`: the median, and the quartiles. */
export function cell({ median, low, high }: Figure): string {
  return `${short(median)} (${short(low)}–${short(high)})`;
}

/** A number with as many digits as mean anything. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en");
  return value.toFixed(size >= 10 ? 1 : 2);
}

/** A difference with its sign. */
export function signed(value: number): string {
  return value < 0 ? `−${short(-value)}` : `+${short(value)}`;
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
