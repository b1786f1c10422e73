import { APIError, type Client, isGatewayError } from "@sluice/core";
import { callAfter, toError, toIdleClock } from "@sluice/core/extend";
import type { ChangesAnswer, ServerRecord } from "./answers.js";
import { createLanes, type Lane, MOST_RECORDS } from "./lanes.js";
import type { Line } from "./line.js";
import type { Outbox, OutboxEntry } from "./outbox.js";
import { CONVERSATIONS, type Place } from "./place.js";
import type { References } from "./references.js";
import { isGone, type SentChange, type Wire } from "./wire.js";

/** Most characters of the JSON of one request: the server takes 8 MiB. */
const MOST_LENGTH = 2_000_000;

/** Sends what is in the outbox: one request at a time, one collection after the other. */
export interface Sender {
  /** Looks for something to send. */
  readonly wake: () => void;
  /** True while something of a collection is on its way, or waits for a moment only. */
  readonly isBusy: (collection: string) => boolean;
  /** Keeps a collection back until the returned function is called. */
  readonly hold: (collection: string) => () => void;
  /**
   * Resolves when nothing of a collection can be sent any more, or after `ms` milliseconds: to false where something is
   * still to be sent. Never rejects.
   */
  readonly flush: (collection: string, ms: number) => Promise<boolean>;
  /** Returns the changes of a collection that are on their way, by key. */
  readonly sent: (collection: string) => ReadonlyMap<string, SentChange>;
}

/** Parts that the sender needs. */
interface SenderOptions {
  readonly client: Client;
  readonly wire: Wire;
  readonly line: Line;
  readonly outbox: Outbox;
  readonly references: References;
  readonly placeOf: (collection: string) => Place | undefined;
  /** Takes the server's copies of records, after an answer. */
  readonly onTaken: (place: Place, taken: ReadonlyMap<string, number>) => void;
  readonly onKept: (place: Place, kept: ReadonlyMap<string, ServerRecord>) => Promise<void>;
  /** The conversation was removed for good. */
  readonly onGone: (place: Place) => Promise<void>;
  readonly onRefused: (place: Place, key: string, error: Error) => void;
  /** Called when the state of a collection may have changed. */
  readonly onChange: (collection: string) => void;
}

/** Entries of one request, with what is sent of each. */
type Batch = ReadonlyMap<string, { readonly entry: OutboxEntry; readonly change: SentChange }>;

/** Creates the sender of a page. */
export function createSender(options: SenderOptions): Sender {
  const { client, wire, line, outbox, references, onChange } = options;
  const clock = toIdleClock(client.clock);
  const lanes = createLanes(client, outbox, options.placeOf);
  const always = new AbortController().signal;
  const flushes = new Set<() => void>();
  let isRunning = false;
  return {
    wake,
    isBusy(collection) {
      const lane = lanes.of(collection);
      return !!lane && (lane.isSending || lanes.isDue(lane));
    },
    hold(collection) {
      const lane = lanes.of(collection);
      if (lane) lane.holds += 1;
      return () => {
        if (lane) lane.holds -= 1;
        wake();
      };
    },
    sent: lanes.sent,
    flush(collection, ms) {
      const lane = lanes.of(collection);
      const over = new AbortController();
      return new Promise<boolean>((resolve) => {
        const check = () => {
          if (lane && !line.isLocal && !line.error && (lane.isSending || lanes.isDue(lane))) return;
          end();
        };
        const end = () => {
          over.abort(null);
          flushes.delete(check);
          resolve(line.isLocal || [...outbox.of(collection).values()].every(({ refusal }) => refusal));
        };
        flushes.add(check);
        callAfter(clock, ms, over.signal, end);
        check();
      });
    },
  };

  /** Begins to send after the task, so that all its changes go with one request. */
  function wake(): void {
    if (isRunning) return;
    isRunning = true;
    queueMicrotask(() => void run());
  }

  async function run(): Promise<void> {
    try {
      for (let lane = nextLane(); lane; lane = nextLane()) {
        await line.ready(always);
        lane.isSending = true;
        onChange(lane.place.collection);
        await sendFrom(lane);
        lane.isSending = false;
        onChange(lane.place.collection);
        for (const check of [...flushes]) check();
      }
    } finally {
      isRunning = false;
    }
  }

  function nextLane(): Lane | undefined {
    return line.isLocal ? undefined : lanes.next();
  }

  /** Sends some changes of a collection, and handles the answer or the failure. Never rejects. */
  async function sendFrom(lane: Lane): Promise<void> {
    const { place } = lane;
    let batch: Batch = new Map();
    try {
      const removed = removedConversation(place);
      if (removed) return await removeConversation(lane, ...removed);
      batch = await batchOf(lane);
      if (batch.size === 0) return;
      lane.sent = new Map([...batch].map(([key, { change }]) => [key, change]));
      await take(lane, batch, await wire.change(place.id, lane.sent));
      worked(lane);
      lane.most = Math.min(MOST_RECORDS, 2 * lane.most);
    } catch (error) {
      await handle(lane, batch, toError(error));
    }
  }

  function worked({ backoff }: Lane): void {
    backoff.reset();
    line.worked();
  }

  /** The record of a conversation goes with its messages: the server deletes them together. */
  function removedConversation({ collection }: Place): [string, OutboxEntry] | undefined {
    if (collection !== CONVERSATIONS) return undefined;
    return [...outbox.of(collection)].find(
      ([key, { value, refusal }]) => value === undefined && !refusal && options.placeOf(`chat/${key}`),
    );
  }

  async function removeConversation(lane: Lane, id: string, entry: OutboxEntry): Promise<void> {
    await wire.remove(id).catch((error) => {
      if (!isGone(error)) throw error;
    });
    worked(lane);
    await outbox.clear(`chat/${id}`);
    await outbox.sent(CONVERSATIONS, new Map([[id, entry]]));
  }

  async function batchOf({ place, most }: Lane): Promise<Batch> {
    const batch = new Map<string, { entry: OutboxEntry; change: SentChange }>();
    let length = 0;
    for (const [key, entry] of [...outbox.of(place.collection)]) {
      if (entry.refusal) continue;
      if (batch.size >= most || length > MOST_LENGTH) break;
      const value = await shortened(place, key, entry);
      if (value instanceof Error) continue;
      batch.set(key, { entry, change: { value: value ?? null, seen: entry.seen } });
      length += JSON.stringify(value ?? null).length;
    }
    return batch;
  }

  /** Returns an error for a record that can't be sent; the others are sent all the same. */
  async function shortened(place: Place, key: string, { value }: OutboxEntry): Promise<unknown> {
    try {
      return await references.shorten(value);
    } catch (cause) {
      const error = toError(cause);
      if (isPassing(error)) throw error;
      refuse(place, key, error);
      return error;
    }
  }

  async function take({ place }: Lane, batch: Batch, answer: ChangesAnswer): Promise<void> {
    const { collection } = place;
    const taken = [...batch].filter(([key]) => answer.taken.has(key));
    const forgotten = outbox.sent(collection, new Map(taken.map(([key, { entry }]) => [key, entry])));
    // what is left of them in the outbox is newer
    options.onTaken(place, answer.taken);
    await forgotten;
    for (const [key, words] of answer.refused) refuse(place, key, new Error(words));
    // what was forgotten meanwhile must not come back
    const isNews = (key: string, { version }: ServerRecord) =>
      version > (batch.get(key)?.change.seen ?? version) && outbox.of(collection).has(key);
    const kept = new Map([...answer.kept].filter((record) => isNews(...record)));
    await options.onKept(place, kept);
    const isRaised = (key: string) => outbox.of(collection).get(key)?.seen !== batch.get(key)?.change.seen;
    const isMoving = taken.length + answer.refused.size > 0 || [...kept.keys()].some(isRaised);
    // an answer that says nothing of what was sent would be asked for again at once
    if (!isMoving) throw new Error("the server's answer settles none of the records that were sent");
  }

  function refuse(place: Place, key: string, error: Error): void {
    outbox.refuse(place.collection, key, error);
    options.onRefused(place, key, error);
  }

  async function handle(lane: Lane, batch: Batch, error: Error): Promise<void> {
    const { place } = lane;
    if (isGone(error)) return options.onGone(place);
    const isSmaller = isTooMuch(error) && batch.size > 1;
    if (isSmaller) lane.most = Math.ceil(batch.size / 2);
    else if (isTooMuch(error) && batch.size === 1) for (const key of batch.keys()) refuse(place, key, error);
    else if (!(await line.failed(error))) lanes.wait(lane, error, wake);
  }
}

/** True for a refusal of what a request has: a part of it may be taken. */
function isTooMuch(error: Error): boolean {
  return error instanceof APIError && [400, 413, 422].includes(error.status);
}

/** True for a failure of an upload that may pass. */
function isPassing(error: Error): boolean {
  if (!isGatewayError(error)) return false;
  if (error.name !== "APIError")
    return error.name !== "ConfigurationError" && error.name !== "ValidationError";
  return error.status >= 500 || [401, 403, 408, 429].includes(error.status);
}
