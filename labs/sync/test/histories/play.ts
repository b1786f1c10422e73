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
  readonly onPlayed?: (seed: number) => void;
}

/** Plays histories of devices. Returns the broken ones: what happened, and what is wrong. */
export async function playHistories(options: PlayOptions): Promise<readonly string[]> {
  const { first, count, postgres, isEnough, onPlayed } = options;
  const broken: string[] = [];
  for (let seed = first; seed < first + count; seed += 1) {
    const open = async () => (postgres ? createPostgres(postgres) : createSQLite());
    const problems = await playHistory(async (turns) => openServer(await open(), turns), seed);
    onPlayed?.(seed);
    if (problems.length === 0) continue;
    broken.push(problems.join("\n"));
    if (isEnough?.(problems.join("\n"))) break;
  }
  return broken;
}
