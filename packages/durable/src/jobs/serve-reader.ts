import { type HostContext, Refusal, type Source } from "@sluice/worker-proxy/plugin";
import { source } from "../host/define.js";
import { describeError } from "../host/object-messages.js";
import { findLive, type LiveJob } from "./live.js";
import type { JobsContext } from "./options.js";
import type { Reader } from "./readers.js";
import type { JobStatus } from "./readings.js";
import { jobRefusal } from "./refusals.js";
import { createErrorLine, createHeadLine, type HeadLine } from "./response-stream.js";
import { openRowFeed, type RowFeed } from "./row-feed.js";
import { isOpen } from "./states.js";

/** A response that all readers in a process share: from memory in the process of its owner, otherwise from its rows. */
type Feed = LiveJob | RowFeed;

/** A reader of a job. */
export type ReadRequest = {
  readonly id: string;
  /**
   * - `response`: waits for the response, and reads it from its start.
   * - `rest`: reads the events of a stream after the id `after`.
   */
  readonly mode: "response" | "rest";
  readonly after: number;
};

/** What the request of a reader has begun. */
export interface Begun {
  /** The response that the request began: it reads from memory even after the end is stored. */
  readonly live?: LiveJob | undefined;
  /** True if the request repeats an earlier one, so that it did not begin the job. */
  readonly isReplayed?: boolean;
}

/** Maximum number of readers of one response in one process. */
const MAX_READERS = 8;
/** Maximum number of bytes of one write. A client must read them within two beats. */
const WRITE_BYTES = 64 * 1024;
export const EVENTS = "text/event-stream";
const COMMENT = ":\n\n";

const encoder = new TextEncoder();

/** Returns the lines of an error event. */
export function formatErrorEvent(refusal: Refusal): string {
  return `event: error\ndata: ${JSON.stringify(refusal)}`;
}

/** Creates the source that reads the responses of a plugin. */
export function createReadSource(jobs: JobsContext): Source<ReadRequest> {
  return source(`${jobs.kind}.read`, (context, input) => serveReader(jobs, context, input));
}

/**
 * Yields the head of a response as a line of JSON, and then its body.
 *
 * @param begin begins the job, if this reader's request may begin it
 */
export async function* serveReader(
  jobs: JobsContext,
  context: HostContext,
  input: ReadRequest,
  begin = async (): Promise<Begun> => ({}),
): AsyncGenerator<Uint8Array, void> {
  let begun: Begun;
  try {
    begun = await begin();
  } catch (error) {
    yield createErrorLine(error);
    return;
  }
  const { live = findLive(context, jobs.store, input.id), isReplayed } = begun;
  const feed = live ?? openRowFeed(jobs, context, input.id);
  const reader = feed.readers.join();
  const leave = () => feed.readers.leave(reader);
  // removes the reader as soon as its client disconnects, even while it waits for events
  context.signal.addEventListener("abort", leave);
  if (context.signal.aborted) leave();
  try {
    const status = await awaitHead(feed, reader, input);
    if (reader.hasLeft) return;
    const first = readHead(feed, status, input, jobs.isStream);
    // set before the head is sent, so that concurrent readers count this reader
    reader.isReading = first.head !== undefined && first.head.status !== 204;
    yield encoder.encode(createHeadLine({ ...first, ...(isReplayed && { isReplayed }) }));
    const isEvents = first.head?.type === EVENTS;
    let next = reader.isReading ? await awaitText(feed, reader, input.after, isEvents) : undefined;
    while (next) {
      const bytes = encoder.encode(next.text);
      for (let start = 0; start < bytes.byteLength; start += WRITE_BYTES) {
        Object.assign(reader, { isSending: true, isSilent: false, beats: 0 });
        // a copy of a part, because a byte stream takes the buffer of each chunk
        yield bytes.byteLength > WRITE_BYTES ? bytes.slice(start, start + WRITE_BYTES) : bytes;
        Object.assign(reader, { isSending: false, beats: 0 });
        if (reader.hasLeft) return;
      }
      next = next.isEnd ? undefined : await awaitText(feed, reader, next.lastId, isEvents);
    }
  } finally {
    context.signal.removeEventListener("abort", leave);
    leave();
  }
}

/** Waits until the state of the job suffices for the reader's mode, or the reader has left. */
async function awaitHead(feed: Feed, reader: Reader, { mode }: ReadRequest): Promise<JobStatus | null> {
  for (;;) {
    const seen = feed.changes.count;
    const status = await feed.readStatus();
    const isKnown = !status || !isOpen(status.state) || mode === "rest" || status.head;
    if (isKnown || reader.hasLeft) return status;
    await feed.changes.after(seen);
  }
}

function readHead(
  feed: Feed,
  status: JobStatus | null,
  { mode, after }: ReadRequest,
  isStream: boolean,
): HeadLine {
  const isOver = status?.expiresAt !== undefined && status.expiresAt <= Date.now();
  if (!status || (status.state === "refused" && !status.head) || (mode === "rest" && isOver)) return {};
  const { head = { status: 200, headers: {}, type: EVENTS }, state, lastId, isWhole } = status;
  const refuse = (refusal: Refusal) => ({ error: describeError(refusal) });
  if (mode === "response" && head.refusal)
    return refuse(new Refusal(head.refusal.reason, head.refusal.details));
  // a reader of the stream gets the failure as an error event
  const events = head.refusal ? { ...head, status: 200, type: EVENTS } : head;
  const isText = events.type !== EVENTS;
  if (isText && !isWhole && !feed.isLive) return refuse(jobRefusal("response_not_stored"));
  if (!isStream)
    return status.head && state !== "lost" ? { head: events } : refuse(jobRefusal("request_lost"));
  if (mode === "rest") {
    if (isText) return {};
    const isKnown = feed.isLive || !isOpen(state);
    if (isKnown && isWhole && state !== "lost" && after > lastId)
      return refuse(jobRefusal("event_id_invalid"));
    if (!isOpen(state) && isWhole && state !== "lost" && after === lastId)
      return { head: { ...events, status: 204 } };
  }
  if (isText || feed.readers.reading < MAX_READERS) return { head: events };
  return refuse(jobRefusal("too_many_readers", { what: MAX_READERS, headers: { "retry-after": "60" } }));
}

/** The next text of a body. */
interface BodyText {
  readonly text: string;
  /** Id of the last event in the text. */
  readonly lastId: number;
  readonly isEnd?: boolean;
}

/**
 * Waits for the next text of a body after an event. Returns undefined if the body has ended or the reader has left.
 *
 * @throws {Error} if the rest of a JSON response is missing
 */
async function awaitText(
  feed: Feed,
  reader: Reader,
  after: number,
  isEvents: boolean,
): Promise<BodyText | undefined> {
  for (;;) {
    const seen = feed.changes.count;
    // the state is read first: if it is an end, the rows read after it include all events
    const status = await feed.readStatus();
    const part = await feed.readPart(after);
    if (reader.hasLeft) return undefined;
    if (part && part !== "missing") return part;
    if (part === "missing" || !status || status.state === "lost") {
      if (!isEvents) throw new Error("the rest of a stored response is missing");
      const text = `${formatErrorEvent(jobRefusal("stream_interrupted"))}\n\n`;
      return { text, lastId: after, isEnd: true };
    }
    if (!isOpen(status.state)) return undefined;
    if (reader.isSilent && isEvents) return { text: COMMENT, lastId: after };
    await feed.changes.after(seen);
    if (reader.hasLeft) return undefined;
  }
}
