import type { ObjectSQL } from "@sluice/durable/internal";
import { readPage } from "./reading.js";
import { type CollectionState, type Owner, writeState } from "./record-tables.js";
import { textsIn } from "./texts.js";
import type { IndexAnswer, IndexRequest } from "./wire.js";
import { forgetRemoved } from "./writing.js";

/** Time for which a removed record is remembered, in milliseconds. */
export const REMEMBER_MS = 30 * 86_400_000;
/** Value of `noted` while the index does not know yet that the conversation is gone. */
export const UNTOLD = -1;
/** Most records and bytes of one note, and most removed records that one alarm forgets. */
const NOTE = { limit: 100, bytes: 1024 * 1024 };
const BATCH = 500;

interface IndexNotesParts {
  readonly sql: ObjectSQL;
  /** The state; undefined for an object that keeps nothing. */
  current(): CollectionState | undefined;
  ask(owner: Owner, asked: IndexRequest): Promise<IndexAnswer>;
  /** Deletes all records of a conversation that the index knows to be gone. */
  empty(known: CollectionState): void;
}

/** Opens what a conversation tells the index of its user, by its alarms. */
export function openIndexNotes({ sql, current, ask, empty }: IndexNotesParts) {
  return { tell, tellGone };

  /** Tells the index what is new, and forgets what was removed long ago. Returns the time of the next alarm. */
  async function tell(known: CollectionState, now: number): Promise<number | undefined> {
    if (known.goneAt === null) return await tidy(known, now);
    if (known.noted === UNTOLD) await tellGone(known);
    return undefined;
  }

  /** Tells the index that the conversation is gone; an alarm does where that fails. */
  async function tellGone(owner: Owner): Promise<void> {
    await ask(owner, { do: "gone", id: owner.conversation });
    const known = current();
    if (known?.noted === UNTOLD) writeState(sql, { ...known, noted: 0 });
  }

  async function tidy(known: CollectionState, now: number): Promise<number | undefined> {
    const noted = { ...known };
    forgetRemoved(sql, noted, BATCH, now - REMEMBER_MS);
    if (noted.removals !== known.removals) writeState(sql, noted);
    if (noted.noted < noted.version) await note(noted);
    const after = current();
    if (!after || after.goneAt !== null) return undefined;
    if (after.noted < after.version) return Date.now();
    const [oldest] = sql.exec("SELECT at FROM removed ORDER BY version LIMIT 1").toArray();
    return oldest && Math.max(now, Number(oldest["at"]) + REMEMBER_MS);
  }

  /** Sends the index the next texts. It is repeated until the index has them; sent twice they change nothing. */
  async function note(known: CollectionState): Promise<void> {
    const { bytes, touchedAt, news, conversation: id } = known;
    const about = { id, bytes, touchedAt, news: { at: news, time: touchedAt } };
    const page = readPage(sql, true, { since: Math.max(known.noted, known.floor), ...NOTE });
    const answer = await ask(known, { do: "note", ...about, ...textsIn(page.json) });
    const now = current();
    if (!now || now.goneAt !== null) return;
    if (answer.isGone) return empty(now);
    // an index that lost it lists it again, by the claim of the next write
    const granted = answer.granted ?? 0;
    writeState(sql, { ...now, noted: page.version, granted });
  }
}
