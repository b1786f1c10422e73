import { playHistory } from "./history.js";
import { createPostgres, createSQLite, openServer } from "./server.js";

export { measureCosts } from "./costs.js";

/** Which histories to play. */
export interface PlayOptions {
  readonly first: number;
  readonly count: number;
  /** Address of a Postgres. @default SQLite in a file */
  readonly postgres?: string | undefined;
  /** Returns true for a broken history after which no other is played. */
  readonly isEnough?: (broken: string) => boolean;
  /** Called after each history. `broken` is undefined if nothing is wrong. */
  readonly onPlayed?: (seed: number, broken: string | undefined) => void;
}

/** Plays histories of devices. Returns the failed ones, each with its events and problems. */
export async function playHistories(options: PlayOptions): Promise<readonly string[]> {
  const { first, count, postgres, isEnough, onPlayed } = options;
  const broken: string[] = [];
  for (let seed = first; seed < first + count; seed += 1) {
    const open = async () => (postgres ? createPostgres(postgres) : createSQLite());
    const problems = await playHistory(async (turns) => openServer(await open(), turns), seed);
    const text = problems.length > 0 ? problems.join("\n") : undefined;
    onPlayed?.(seed, text);
    if (text === undefined) continue;
    broken.push(text);
    if (isEnough?.(text)) break;
  }
  return broken;
}
