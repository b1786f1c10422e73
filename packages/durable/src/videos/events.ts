import type { HostContext, PluginServer, Source } from "@sluice/worker-proxy/plugin";
import { source } from "../host/define.js";
import { Changes, type Reader, Readers } from "../jobs/readers.js";
import { jobRefusal } from "../jobs/refusals.js";
import { createErrorLine, createHeadLine } from "../jobs/response-stream.js";
import { shareByHost } from "../shared/share-by-host.js";
import { renameTask } from "./ends.js";
import { findChanges } from "./rows.js";
import type { WatchedTask } from "./task.js";

/** Input of the event source of a task. */
export type EventsRequest = {
  readonly id: string;
  /** The task id that the client received. */
  readonly signedId: string;
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
export function createEventSource<Env>(getServer: () => PluginServer<Env>): Source<EventsRequest> {
  return source("videos.events", async function* (context, input: EventsRequest) {
    const feeds = shareByHost<Feed>(context.host, "videos", context.key);
    const report = (error: unknown) =>
      void getServer().log("videoWatch: changes could not be read", error, { env: context.env as Env });
    const feed: Feed = feeds.get() ?? new Feed(context, report, () => feeds.delete(feed));
    const limit = feed.findLimit(input);
    if (limit !== undefined) {
      const headers = { "retry-after": "60" };
      return void (yield createErrorLine(jobRefusal("too_many_readers", { what: limit, headers })));
    }
    feeds.set(feed);
    yield* feed.serve(input, context.signal);
  });
}

/** A watched task, and the readers of its events. */
interface SharedTask {
  task: WatchedTask | null | undefined;
  readonly readers: Set<Reader>;
}

/** The event streams of one user's tasks in one process. Each change is read once for all streams. */
class Feed {
  readonly #context: HostContext;
  readonly #report: (error: unknown) => void;
  readonly #changes = new Changes();
  readonly #readers: Readers;
  readonly #tasks = new Map<string, SharedTask>();
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
  findLimit({ id, isPublic }: EventsRequest): number | undefined {
    if (!isPublic && this.#readers.count >= MAX_PER_USER) return MAX_PER_USER;
    const shared = this.#tasks.get(id);
    return shared && countReaders(shared) >= MAX_PER_TASK ? MAX_PER_TASK : undefined;
  }

  async *serve(
    { id, signedId, lastEventId }: EventsRequest,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array, void> {
    const shared = this.#tasks.get(id) ?? { task: undefined, readers: new Set() };
    this.#tasks.set(id, shared);
    const reader = this.#readers.join();
    shared.readers.add(reader);
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
        if (shared.task === undefined || reader.isSilent) await this.#refresh();
        const { task } = shared;
        if (!task || reader.hasLeft || signal.aborted) return;
        if (seen !== String(task.version)) text += encodeTask(task, signedId);
        seen = String(task.version);
        text += encodeEnd(task);
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
    for (const [id, shared] of this.#tasks) if (countReaders(shared) === 0) this.#tasks.delete(id);
    const known = [...this.#tasks].map(([id, { task }]) => ({ id, version: task?.version ?? 0 }));
    if (known.length === 0) return;
    const changed = await host.run(key, findChanges, { known });
    for (const { id, task } of changed) {
      const shared = this.#tasks.get(id);
      if (shared) shared.task = task;
    }
    if (changed.length > 0) this.#changes.notify();
  }
}

/** Counts the readers that have not left. */
function countReaders({ readers }: SharedTask): number {
  return [...readers].filter(({ hasLeft }) => !hasLeft).length;
}

/** Encodes the latest response as an event; an empty string if no response shows the task. */
function encodeTask({ id, version, envelope }: WatchedTask, signedId: string): string {
  if (envelope === undefined) return "";
  return `id: ${version}\nevent: task\ndata: ${renameTask(envelope, id, signedId)}\n\n`;
}

/** Encodes the final event of a stream; an empty string for a task that has not ended. */
function encodeEnd({ end }: WatchedTask): string {
  if (!end) return "";
  return end.refusal ? `event: error\ndata: ${end.refusal.error}\n\n` : "event: end\ndata: {}\n\n";
}
