import { playHistory } from "./history.js";
import { createPostgres, createSQLite, openServer } from "./server.js";

/** Which histories to play. */
export interface PlayOptions {
  readonly first: number;
  readonly count: number;
  /** Address of a Postgres. @default SQLite in a file */
  readonly postgres?: string | undefined;
  /** Ends after the first history that is broken. */
  readonly isOneEnough?: boolean;
  readonly onPlayed?: (seed: number) => void;
}

/** Plays histories of devices. Returns the broken ones: what happened, and what is wrong. */
export async function playHistories(options: PlayOptions): Promise<readonly string[]> {
  const { first, count, postgres, isOneEnough, onPlayed } = options;
  const broken: string[] = [];
  for (let seed = first; seed < first + count; seed += 1) {
    const open = async () => (postgres ? createPostgres(postgres) : createSQLite());
    const problems = await playHistory(async (turns) => openServer(await open(), turns), seed);
    if (problems.length > 0) broken.push(problems.join("\n"));
    onPlayed?.(seed);
    if (broken.length > 0 && isOneEnough) break;
  }
  return broken;
}
