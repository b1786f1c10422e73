import type { CallOutcome } from "@sluice/worker-proxy";
import { checkType, type Refusal, readEventStream, type StreamEnd } from "@sluice/worker-proxy/plugin";
import { errorLines } from "../jobs/follow.js";
import { makeEventParts } from "../jobs/parts.js";
import { createRefusalHead } from "../jobs/refusals.js";
import { type Ending, readWhole, type Sending } from "../jobs/sending.js";

/** Larger than any response that is no stream. */
const JSON_CHARACTERS = 8 * 1024 * 1024;
const EVENTS = "text/event-stream";

/** Reads the gateway's response: its events as they arrive, or JSON instead. */
export async function respond(sending: Sending, response: Response): Promise<Ending> {
  const { type, body } = checkType(response, true);
  if (type === EVENTS) return await readStream(sending, body);
  return await readWhole(sending, response, JSON_CHARACTERS);
}

/** Stores the events as they come. The gateway has to wait while too many wait for their rows. */
async function readStream(sending: Sending, body: ReadableStream<Uint8Array>): Promise<Ending> {
  const { call, owner, keys, request, headers, server } = sending;
  let events: string[] = [];
  owner.begin({ status: 200, headers, type: EVENTS });
  const add = () => {
    // a stopped stream stores nothing more
    if (events.length > 0 && !owner.gaveUp) owner.add(makeEventParts(events, sending.live.lastId));
    events = [];
  };
  const end = await new Promise<StreamEnd>((resolve) => {
    const pull = readEventStream(
      body,
      call,
      {
        keys,
        choices: Number(request.body["n"] ?? 1),
        stallMs: server.timeout.chunkMs,
        onEvent: ({ event, data }) => void events.push(makeLines(event, data)),
        onPass: add,
        onEnd: resolve,
      },
      taker,
    );
    const isOver = () => call.signal.aborted;
    const pullAll = async () => {
      while (!isOver()) {
        await owner.makeRoom();
        await pull();
      }
    };
    void pullAll();
  });
  add();
  return createEnding(sending, end);
}

/** The reader of the gateway's stream. It takes events by `onEvent`, and pulls when there is room for more. */
const taker = {
  enqueue() {},
  close() {},
  error() {},
  desiredSize: 0,
} as unknown as ReadableStreamDefaultController<Uint8Array>;

function createEnding(
  sending: Sending,
  { code, problem, usage, outcome, bytes, isConfirmed }: StreamEnd,
): Ending {
  const known = { code, usage, bytes, callOutcome: outcome };
  if (sending.owner.gaveUp) return { ...known, state: "stopped", outcome: "stopped" };
  if (problem) addError(sending, problem);
  if (code === undefined)
    return { ...known, state: "complete", outcome: isConfirmed ? "complete" : "unconfirmed" };
  return { ...known, state: "failed", outcome: code === "upstream_error" ? "failed" : "cut" };
}

/** Adds an event with an error. */
function addError({ live }: Sending, refusal: Refusal): void {
  live.add(makeEventParts([errorLines(refusal)], live.lastId));
}

/** Stores a failure as the response, and as an event for those who read it as a stream. */
export function storeFailure(sending: Sending, refusal: Refusal): void {
  addError(sending, refusal);
  sending.live.head ??= createRefusalHead(refusal);
}

/** Stores the end of a stream that was stopped. A request that waits for its begin gets it as a stream. */
export function addStop(sending: Sending, refusal: Refusal): void {
  const { live, headers } = sending;
  addError(sending, refusal);
  live.head ??= { status: 200, headers, type: EVENTS };
}

/** Returns true if the gateway did nothing. What is known of a server's error is that it sent no stream. */
export function isFree(_: Sending, __: Refusal, outcome: CallOutcome): boolean {
  return outcome !== "unknown" && outcome !== "answered";
}

/** Returns the lines of an event as they are stored. */
function makeLines(event: string, data: string): string {
  const name = event === "message" ? "" : `event: ${event}\n`;
  return `${name}data: ${data.includes("\n") ? data.replaceAll("\n", "\ndata: ") : data}`;
}
