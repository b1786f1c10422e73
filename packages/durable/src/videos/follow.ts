import type { HostContext, PluginServer, Source } from "@sluice/worker-proxy/plugin";
import { source } from "../host/define.js";
import { createErrorLine, createHeadLine } from "../jobs/head-line.js";
import { Changes, type Reader, Readers } from "../jobs/readers.js";
import { jobRefusal } from "../jobs/refusals.js";
import { shareByHost } from "../shared/share-by-host.js";
import { renameTask } from "./ends.js";
import { findChanges } from "./rows.js";
import type { WatchedTask } from "./task.js";

/** Input of the event source of a task. */
export type Follow = {
  readonly id: string;
  /** The task id that the client received. */
  readonly sentId: string;
  readonly lastEventId: string | null;
  /** True for a public proxy, where all visitors share one user. */
  readonly isPublic: boolean;
};

/** Maximum number of streams per task and per user, in one process. */
const MAX_PER_TASK = 16;
const MAX_PER_USER = 64;

const encoder = new TextEncoder();
const HEAD = createHeadLine({ head: { status: 200, headers: {}, type: "text/event-stream" } });
/** Flushes the headers immediately, and keeps an idle stream open. */
const COMMENT = ":\n\n";

/** Defines the event source of a task. All streams of a user in one process share one feed. */
export function defineFollow<Env>(server: () => PluginServer<Env>): Source<Follow> {
  return source("videos.follow", async function* (context, input: Follow) {
    const shared = shareByHost<Feed>(context.host, "videos", context.key);
    const report = (error: unknown) =>
      server().setup.report("videoWatch: changes could not be read", error, context.env as Env);
    const feed: Feed = shared.get() ?? new Feed(context, report, () => shared.delete(feed));
    const limit = feed.findLimit(input);
    if (limit !== undefined) {
      const headers = { "retry-after": "60" };
      return void (yield createErrorLine(jobRefusal("too_many_readers", { what: limit, headers })));
    }
    shared.set(feed);
    yield* feed.follow(input, context.signal);
  });
}

/** A watched task, with its encoded event by client task id. */
interface Followed {
  task: WatchedTask | null | undefined;
  readonly events: Map<string, string>;
  readonly readers: Set<Reader>;
}

/** The event streams of one user's tasks in one process. Each change is read and encoded once for all streams. */
class Feed {
  readonly #context: HostContext;
  readonly #report: (error: unknown) => void;
  readonly #changes = new Changes();
  readonly #readers: Readers;
  readonly #tasks = new Map<string, Followed>();
  #reading: Promise<void> = Promise.resolve();
  #nextReading: Promise<void> | undefined;

  /** @param onEnd called after the last stream closes */
  constructor(context: HostContext, report: (error: unknown) => void, onEnd: () => void) {
    this.#context = context;
    this.#report = report;
    const unsubscribe = context.subscribe(() => void this.#refresh());
    this.#readers = new Readers(this.#changes, () => {
      if (this.#readers.count > 0) return;
      unsubscribe();
      onEnd();
    });
  }

  /**
   * Returns the limit that another stream of a task would exceed. The limit per user does not apply to a public proxy,
   * where all visitors share one user.
   */
  findLimit({ id, isPublic }: Follow): number | undefined {
    if (!isPublic && this.#readers.count >= MAX_PER_USER) return MAX_PER_USER;
    const followed = this.#tasks.get(id);
    return followed && countReaders(followed) >= MAX_PER_TASK ? MAX_PER_TASK : undefined;
  }

  async *follow({ id, sentId, lastEventId }: Follow, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    const followed = this.#tasks.get(id) ?? { task: undefined, events: new Map(), readers: new Set() };
    this.#tasks.set(id, followed);
    const reader = this.#readers.join();
    followed.readers.add(reader);
    const leave = () => {
      signal.removeEventListener("abort", leave);
      this.#readers.leave(reader);
    };
    signal.addEventListener("abort", leave, { once: true });
    let seen = lastEventId;
    let text = HEAD + COMMENT;
    try {
      for (;;) {
        const { count } = this.#changes;
        if (followed.task === undefined || reader.isSilent) await this.#refresh();
        const { task } = followed;
        if (!task || reader.hasLeft || signal.aborted) return;
        if (seen !== String(task.version)) text += createEvent(followed, task, sentId);
        seen = String(task.version);
        text += createEnd(task);
        if (text === "" && reader.isSilent) text = COMMENT;
        if (text !== "") {
          Object.assign(reader, { isSending: true, isSilent: false, beats: 0 });
          yield encoder.encode(text);
          Object.assign(reader, { isSending: false, beats: 0 });
          text = "";
        }
        if (task.end || reader.hasLeft) return;
        await this.#changes.after(count);
      }
    } finally {
      leave();
    }
  }

  /** Reads the changes. A read in progress may miss the latest change, so a call during a read queues another read. */
  #refresh(): Promise<void> {
    this.#nextReading ??= this.#reading.then(() => {
      this.#nextReading = undefined;
      this.#reading = this.#readChanges().catch(this.#report);
      return this.#reading;
    });
    return this.#nextReading;
  }

  async #readChanges(): Promise<void> {
    const { host, key } = this.#context;
    for (const [id, followed] of this.#tasks) if (countReaders(followed) === 0) this.#tasks.delete(id);
    const known = [...this.#tasks].map(([id, { task }]) => ({ id, version: task?.version ?? 0 }));
    if (known.length === 0) return;
    const changed = await host.run(key, findChanges, { known });
    for (const { id, task } of changed) {
      const followed = this.#tasks.get(id);
      followed?.events.clear();
      if (followed) followed.task = task;
    }
    if (changed.length > 0) this.#changes.notify();
  }
}

/** Counts the readers that have not left. */
function countReaders({ readers }: Followed): number {
  return [...readers].filter(({ hasLeft }) => !hasLeft).length;
}

/** Encodes the latest response as an event. Streams with the same client task id share the text. */
function createEvent({ events }: Followed, { id, version, envelope }: WatchedTask, sentId: string): string {
  if (envelope === undefined) return "";
  const known = events.get(sentId);
  const event = known ?? `id: ${version}\nevent: task\ndata: ${renameTask(envelope, id, sentId)}\n\n`;
  events.set(sentId, event);
  return event;
}

/** Encodes the final event of a stream. A stream that closes without this event was cut. */
function createEnd({ end }: WatchedTask): string {
  if (!end) return "";
  return end.refusal ? `event: error\ndata: ${end.refusal.error}\n\n` : "event: end\ndata: {}\n\n";
}
