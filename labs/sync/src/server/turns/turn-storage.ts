import type { RecordStorage } from "@sluice/core";
import type { PathRecord, WriteFailure } from "./run-operations.js";
import { closeMessage, listCalls, type MessageValue, parseMessage } from "./turn-messages.js";
import type { CallRow } from "./turn-rows.js";

/** The records of one run, as the chat of the run reads and writes them. */
export interface TurnStorage extends RecordStorage {
  /** Reason why a record could not be stored. After it, nothing is written. */
  readonly failure: WriteFailure | "database_unavailable" | undefined;
  /** Resolves once `isStored` accepts the value of the tip, or a write has failed. */
  waitFor(isStored: (value: unknown) => boolean): Promise<void>;
}

interface StorageOptions {
  readonly turn: string;
  /** The thread, from its first message to the tip. */
  readonly path: readonly PathRecord[];
  readonly tip: string;
  /** The calls of the turn that have a decision. */
  readonly calls: readonly CallRow[];
  write(writes: readonly { readonly record: string; readonly value: string }[]): Promise<WriteFailure | null>;
  /** Called once a record could not be stored, with the error of the database if there is one. */
  onFailure(error?: unknown): void;
}

/** Key of the record with the id of the last shown message. */
const LEAF = "/leaf";
const CLOSED = { outcome: "stopped", callError: "the call had no result" } as const;

/**
 * Opens the storage. The chat reads only the messages of its thread: other branches must not add costs. Open calls of
 * other turns and of devices are closed: a run executes only calls that its own turn requested.
 */
export function openTurnStorage(options: StorageOptions): TurnStorage {
  const { turn, path, calls, write, onFailure } = options;
  const stored = new Map<string, unknown>();
  const waits = new Set<() => void>();
  let { tip } = options;
  let failure: TurnStorage["failure"];
  let writing: Promise<unknown> = Promise.resolve();
  const records = new Map(path.map((pathRecord) => [pathRecord.record, loadRecord(pathRecord)]));

  return {
    get failure() {
      return failure;
    },
    async read() {
      return new Map<string, unknown>([...records, [LEAF, tip]]);
    },
    write(_, changes) {
      const writes = [...changes].flatMap(([record, value]) => createWrite(record, value) ?? []);
      const written = writing.then(() => store(writes));
      writing = written.catch(() => {});
      return written;
    },
    // other devices change nothing that a run reads
    subscribe: () => () => {},
    waitFor(isStored) {
      return new Promise((resolve) => {
        const check = () => {
          if (failure === undefined && !isStored(stored.get(tip))) return;
          waits.delete(check);
          resolve();
        };
        waits.add(check);
        check();
      });
    },
  };

  function loadRecord({ record, value, turn: writer }: PathRecord): unknown {
    const message = parseMessage(value);
    if (!message) return undefined;
    if (writer === turn) stored.set(record, message);
    // a chat does not change records with `turn`
    const { turn: _, ...withoutTurn } = message as MessageValue & { readonly turn?: unknown };
    return writer === turn ? withoutTurn : closeMessage(withoutTurn, CLOSED);
  }

  /** Returns the record to write for a response of this turn; undefined for any other record. */
  function createWrite(record: string, value: unknown) {
    const message = parseMessage(JSON.stringify(value ?? null));
    const isOwn = stored.has(record) || !records.has(record);
    if (message?.message.role !== "assistant" || !isOwn) return undefined;
    const ids = listCalls(message).map(({ id }) => id);
    const decisions = calls
      .filter((call) => call.record === record && ids.includes(call.call) && call.decision !== null)
      .map(({ call, decision, account, device }) => ({ call, decision, by: { account, device } }));
    const own = { ...message, turn, ...(decisions.length > 0 && { decisions }) };
    return { record, value: JSON.stringify(own), message };
  }

  async function store(writes: readonly NonNullable<ReturnType<typeof createWrite>>[]): Promise<void> {
    // do not reject after a failure: the turn ends, and the chat would retry a rejected write
    if (writes.length === 0 || failure !== undefined) return;
    try {
      failure = (await write(writes.map(({ record, value }) => ({ record, value })))) ?? undefined;
      if (failure !== undefined) onFailure();
    } catch (error) {
      failure = "database_unavailable";
      onFailure(error);
    }
    if (failure === undefined)
      for (const { record, message } of writes) {
        stored.set(record, message);
        tip = record;
      }
    for (const check of waits) check();
  }
}
