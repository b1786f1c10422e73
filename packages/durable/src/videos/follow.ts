import type { Source } from "@sluice/worker-proxy";
import { source } from "../host/define.js";
import { shareByHost } from "../shared/share-by-host.js";
import { renameTask } from "./end-handler.js";
import { Feed } from "./feed.js";
import type { WatchParts } from "./jobs.js";
import { createWatchRefusal } from "./refusals.js";
import type { WatchedTask } from "./task.js";

/** Input of the source of a task's events. */
export type Follow = {
  readonly id: string;
  /** The task's id as the client knows it. */
  readonly sentId: string;
  readonly lastEventId: string | null;
  /** True if many people are one user. */
  readonly isPublic: boolean;
};

const encoder = new TextEncoder();
/** Makes the headers leave immediately, and keeps an idle stream open. */
const COMMENT = ":\n\n";

/** Defines the source of a task's events, which all followers of a user in one process share. */
export function defineFollow<Env>(parts: WatchParts<Env>): Source<Follow> {
  return source("videos.follow", async function* (context, input: Follow) {
    const { host, key, signal } = context;
    const shared = shareByHost<Feed<Env>>(host, "videos", key);
    const feed: Feed<Env> = shared.get() ?? new Feed(parts, context, () => shared.delete(feed));
    const limit = feed.findLimit(input.id, input.isPublic);
    if (limit !== undefined) return void (yield encoder.encode(String(limit)));
    shared.set(feed);
    yield* followTask(feed, input, signal);
  });
}

async function* followTask<Env>(
  feed: Feed<Env>,
  { id, sentId, lastEventId }: Follow,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const follower = feed.add(id);
  const leave = () => feed.wake();
  signal.addEventListener("abort", leave, { once: true });
  let seen = lastEventId;
  let beats = feed.beats;
  let text = COMMENT;
  try {
    for (;;) {
      const wait = feed.watch();
      const task = await feed.read(id);
      if (!task || follower.isOver || signal.aborted) return;
      if (seen !== String(task.seq)) text += createEvent(task, sentId);
      seen = String(task.seq);
      text += createEnd(task);
      if (text === "" && beats !== feed.beats) text = COMMENT;
      if (text !== "") {
        follower.sentAt = beats = feed.beats;
        yield encoder.encode(text);
        follower.sentAt = undefined;
        text = "";
      }
      if (task.end || follower.isOver) return;
      await wait();
    }
  } finally {
    signal.removeEventListener("abort", leave);
    if (!follower.isOver) feed.remove(follower);
  }
}

const events = new WeakMap<WatchedTask, Map<string, string>>();

/** Returns the newest response as an event. All followers share its text. */
function createEvent(task: WatchedTask, sentId: string): string {
  const { id, seq, envelope } = task;
  if (envelope === undefined) return "";
  const known = events.get(task) ?? new Map<string, string>();
  events.set(task, known);
  let event = known.get(sentId);
  event ??= `id: ${seq}\nevent: task\ndata: ${renameTask(envelope, id, sentId)}\n\n`;
  known.set(sentId, event);
  return event;
}

/** Returns the last event of a stream. A stream without it was cut. */
function createEnd({ end }: WatchedTask): string {
  if (!end) return "";
  return end.error === undefined ? "event: end\ndata: {}\n\n" : `event: error\ndata: ${end.error}\n\n`;
}

/**
 * Returns the stream of a follower as the body of a response.
 *
 * @param signal of the request: a page that leaves before the first event cancels no body
 * @throws {Refusal} 429 `too_many_readers`
 */
export async function openBody(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const reader = stream.getReader();
  const leave = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", leave);
  if (signal.aborted) leave();
  const first = await reader.read();
  const start = new TextDecoder().decode(first.value);
  if (/^\d/.test(start)) {
    await reader.cancel();
    throw createWatchRefusal("too_many_readers", { what: start, headers: { "retry-after": "60" } });
  }
  return new ReadableStream<Uint8Array>({
    start(controller) {
      if (first.value) controller.enqueue(first.value);
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) {
        signal.removeEventListener("abort", leave);
        controller.close();
      } else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
