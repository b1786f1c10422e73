import type { ObjectSQL } from "@sluice/durable/internal";
import type { KeptUser } from "./place.js";

/** A turn that has not ended, as it is stored. */
export interface OpenTurn {
  /** Id of the turn: that of its question, or of the repetition that a page asked for. */
  readonly id: string;
  readonly user: KeptUser;
  readonly requestId?: string | undefined;
  /** The message that the turn began below. */
  readonly below: string;
  /** The newest message of the turn. */
  readonly tip: string;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Starts in a row that came to no new message. */
  readonly tries: number;
  /** Times at which pages took calls, by the key of the record. */
  readonly claims: Readonly<Record<string, number>>;
}

/** The table of turns. `run` is the JSON of an open turn, and null for one that has ended. Only the last one can be open. */
export const TURN_TABLES: readonly string[] = [
  "CREATE TABLE turns (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, run TEXT)",
];

/** Most turns whose ids are remembered: a turn that comes again is known among the last ones. */
const MOST_TURNS = 1_000;

/** Opens the turns of an object whose tables are there. At most one of them is open. */
export function openTurnRows(sql: ObjectSQL) {
  return {
    has: (id: string) => sql.exec("SELECT 1 FROM turns WHERE id = ?", id).toArray().length > 0,
    open(): OpenTurn | undefined {
      const [row] = sql.exec("SELECT run FROM turns ORDER BY seq DESC LIMIT 1").toArray();
      const run = row?.["run"];
      return typeof run === "string" ? (JSON.parse(run) as OpenTurn) : undefined;
    },
    begin(turn: OpenTurn): void {
      sql.exec("INSERT INTO turns (id, run) VALUES (?, ?)", turn.id, JSON.stringify(turn));
      const [{ seq } = { seq: 0 }] = sql.exec("SELECT max(seq) AS seq FROM turns").toArray();
      sql.exec("DELETE FROM turns WHERE seq <= ? AND run IS NULL", Number(seq) - MOST_TURNS);
    },
    /** Remembers another id of the open turn. */
    join(id: string): void {
      const [{ seq } = { seq: 0 }] = sql.exec("SELECT max(seq) AS seq FROM turns").toArray();
      // the open turn stays the last one
      sql.exec("UPDATE turns SET seq = ? WHERE seq = ?", Number(seq) + 1, Number(seq));
      sql.exec("INSERT INTO turns (seq, id, run) VALUES (?, ?, NULL)", Number(seq), id);
    },
    keep(turn: OpenTurn): void {
      const set = "UPDATE turns SET run = ? WHERE id = ? AND run IS NOT NULL";
      sql.exec(set, JSON.stringify(turn), turn.id);
    },
    end(id: string): void {
      sql.exec("UPDATE turns SET run = NULL WHERE id = ?", id);
    },
  };
}

/** The turns of one conversation. */
export type TurnRows = ReturnType<typeof openTurnRows>;
