import { Refusal } from "@sluice/worker-proxy/plugin";
import { describeError, restoreError, type SentError } from "../host/object-messages.js";
import { jobRefusal } from "./refusals.js";
import type { ResponseHead } from "./states.js";

/** The first line that a reader receives, as JSON. Without an error and a head, the job does not exist. */
export interface HeadLine {
  /** The refusal of the job, or an error of this reader. */
  readonly error?: SentError;
  readonly head?: ResponseHead;
  /** True if another request has begun the job. */
  readonly isReplayed?: boolean;
}

/** Creates the first line of a reader. The body follows it. */
export function createHeadLine(head: HeadLine): string {
  return `${JSON.stringify(head)}\n`;
}

/** Creates the only line of a reader that gets an error instead of a response. */
export function createErrorLine(error: unknown): Uint8Array {
  return new TextEncoder().encode(createHeadLine({ error: describeError(error) }));
}

/** A response of a job. */
export interface OpenedResponse {
  readonly head: ResponseHead;
  /** True if an earlier request has begun the job. */
  readonly isReplayed: boolean;
  /** Null for the status 204. */
  readonly body: ReadableStream<Uint8Array> | null;
}

const LINE_FEED = 10;

/**
 * Waits for the response of a job, and opens it. Returns undefined if the job no longer exists.
 *
 * @throws {Refusal} the refusal that ended the job, or an error of the reader
 */
export async function openResponse(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): Promise<OpenedResponse | undefined> {
  const reader = stream.getReader();
  const leave = () => void reader.cancel().catch(() => {});
  // a client that disconnects does not always cancel the body
  signal.addEventListener("abort", leave);
  if (signal.aborted) leave();
  const { line, rest } = await readLine(reader);
  if (line === undefined) throw signal.aborted ? new Refusal("client_left") : jobRefusal("job_unavailable");
  const { error, head, isReplayed = false } = JSON.parse(line) as HeadLine;
  const onEnd = () => signal.removeEventListener("abort", leave);
  if (head && head.status !== 204) return { head, isReplayed, body: openBody(rest, reader, signal, onEnd) };
  leave();
  onEnd();
  if (error) throw Refusal.from(restoreError(error));
  return head && { head, isReplayed, body: null };
}

/** Creates the response to a client. */
export function createResponse({ head: { status, headers, type }, body }: OpenedResponse): Response {
  return new Response(body, { status, headers: { ...headers, ...(body && { "content-type": type }) } });
}

async function readLine(reader: ReadableStreamDefaultReader<Uint8Array>) {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { line: undefined, rest: new Uint8Array(0) };
    const end = value.indexOf(LINE_FEED);
    if (end !== -1)
      return { line: text + decoder.decode(value.subarray(0, end)), rest: value.subarray(end + 1) };
    text += decoder.decode(value, { stream: true });
  }
}

/** Creates a body from the rest of a stream. The stream itself is locked by its reader. */
function openBody(
  first: Uint8Array,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  signal: AbortSignal,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  let rest: Uint8Array | undefined = first.byteLength > 0 ? first : undefined;
  return new ReadableStream(
    {
      async pull(controller) {
        const next = rest ? { done: false, value: rest } : await reader.read().catch(onError);
        rest = undefined;
        if (!next) return;
        if (!next.done) return controller.enqueue(next.value as Uint8Array);
        onEnd();
        controller.close();

        function onError(error: unknown): undefined {
          onEnd();
          // an error after the client has disconnected would be unhandled
          if (!signal.aborted) controller.error(error);
        }
      },
      cancel(reason) {
        onEnd();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
