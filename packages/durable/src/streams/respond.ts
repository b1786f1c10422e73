import type { CallOutcome, Refusal } from "@sluice/worker-proxy/plugin";
import { type Ending, readWhole, type Sending } from "../jobs/sending.js";
import { EVENTS, formatErrorEvent } from "../jobs/serve-reader.js";

/** Maximum size of a JSON response, in characters: larger than any the gateway sends instead of a stream. */
const JSON_CHARACTERS = 8 * 1024 * 1024;

/** Reads the gateway's response: events as they arrive, or a JSON body. */
export async function respond(sending: Sending, type: string): Promise<Ending> {
  return await (type === EVENTS ? readStream(sending) : readWhole(sending, JSON_CHARACTERS));
}

/** Stores events as they arrive. It stops reading from the gateway while too many events wait to be stored. */
async function readStream(sending: Sending): Promise<Ending> {
  const { call, owner, request } = sending;
  let events: string[] = [];
  owner.begin({ status: 200, headers: call.headers, type: EVENTS });
  const add = () => {
    // a stopped stream stores nothing more
    if (events.length > 0 && !owner.gaveUp) owner.addEvents(events);
    events = [];
  };
  const end = await call.readEvents({
    choices: Number(request.body["n"] ?? 1),
    onEvent: ({ event, data }) => void events.push(makeLines(event, data)),
    onPass: add,
    waitToRead: () => owner.makeRoom(),
  });
  add();
  return createEnding(sending, end);
}

function createEnding(
  sending: Sending,
  { code, problem, usage, outcome, bytes, isConfirmed }: Awaited<ReturnType<Sending["call"]["readEvents"]>>,
): Ending {
  const known = { code, usage, bytes, callOutcome: outcome };
  if (sending.owner.gaveUp) return { ...known, state: "stopped", outcome: "stopped" };
  if (problem) sending.owner.addEvents([formatErrorEvent(problem)]);
  if (code === undefined)
    return { ...known, state: "complete", outcome: isConfirmed ? "complete" : "unconfirmed" };
  return { ...known, state: "failed", outcome: code === "upstream_error" ? "error" : "truncated" };
}

/** Returns true if the gateway was not reached or refused the request. With `unknown` it may have billed work. */
export function isUnbilled(_: Sending, __: Refusal, outcome: CallOutcome): boolean {
  return outcome !== "unknown" && outcome !== "responded";
}

/** Returns the lines of an event in their stored form. */
function makeLines(event: string, data: string): string {
  const name = event === "message" ? "" : `event: ${event}\n`;
  return `${name}data: ${data.includes("\n") ? data.replaceAll("\n", "\ndata: ") : data}`;
}
