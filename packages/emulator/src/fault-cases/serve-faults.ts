import { formatSuggestion } from "@sluice/core/extend";
import { type EmulatorClock, waitForAbort } from "../base/clock.js";
import { createCounts } from "../server/bounded.js";
import { cut } from "../server/cut.js";
import type { Exchange } from "../server/exchange.js";
import { hash } from "../server/hash.js";
import {
  type BodyWriter,
  createJSON,
  createUnknownId,
  type HandlerResponse,
  JSON_TYPE,
  STREAM_TYPE,
} from "../server/http.js";
import { createRefusedError, createResetError } from "../server/network-faults.js";
import { type FaultCase, type FaultPiece, type FaultResponse, operations } from "./fault-case.js";

/** Longest silence, in milliseconds: longer than the limits of clients, so that they decide. */
const MAX_STALL_MS = 660_000;
/** Number of counts to store. The oldest are deleted. */
const MAX_COUNTS = 10_000;
const MAX_NAME_CHARACTERS = 80;

const encoder = new TextEncoder();

/** Returns true for the path of a fault, or of the list of faults. */
export function isFaultPath(path: string): boolean {
  return path === "/faults" || path.startsWith("/faults/");
}

/** Serves faults at `/faults/<name>/…`, and their list at `/faults`. */
export function createFaultServer(cases: readonly FaultCase[], clock: EmulatorClock) {
  const byName = new Map(cases.map((fault) => [fault.name, fault]));
  const counts = createCounts(MAX_COUNTS);
  return { handle, clear: () => counts.clear() };

  /** Handles a request to `/faults` or below. Undefined for other paths. */
  function handle(exchange: Exchange): HandlerResponse | Promise<HandlerResponse> | undefined {
    const match = /^\/faults(?:\/([^/]*)(\/.*)?)?$/.exec(exchange.record.path);
    if (!match) return undefined;
    const [, labeledName, pathOfGateway] = match;
    if (!labeledName) return createJSON(listFaults(cases, exchange.origin));
    const [name = ""] = labeledName.split(":");
    const fault = byName.get(name);
    if (!fault) return createUnknownId(describeUnknown(name, [...byName.keys()]), "unknown_fault");
    if (!pathOfGateway || pathOfGateway === "/") return createJSON(describeFault(fault, exchange.origin));
    return respond(takeResponse(fault, labeledName, exchange), exchange.request.signal);
  }

  /** Counts the request, and returns its response. A name with a label, `retry:two`, has its own count. */
  function takeResponse(
    fault: FaultCase,
    labeledName: string,
    { record, text }: Exchange,
  ): FaultResponse | undefined {
    const responses = fault.responses.filter(({ method = record.method }) => method === record.method);
    // the path is not part of the key: a request that follows a redirect is the next one
    const key = hash(`${labeledName} ${record.method} ${text}`);
    const previous = counts.get(key);
    counts.increase(key);
    return responses[Math.min(previous, responses.length - 1)];
  }

  async function respond(response: FaultResponse | undefined, signal: AbortSignal): Promise<HandlerResponse> {
    if (!response)
      return createJSON({ error: { message: "The fault has no response to this method." } }, 405);
    const { status, headers = {}, afterMs = 0, body, pieces, end = "finished" } = response;
    if (afterMs > 0) await clock.sleep(afterMs, signal);
    if (status === undefined) {
      if (end === "stall") await stall(signal);
      throw createRefusedError();
    }
    const isJSON = pieces === undefined;
    const allHeaders = { ...(isJSON ? JSON_TYPE : STREAM_TYPE), ...headers };
    const whole = body === undefined ? "" : JSON.stringify(body);
    if (isJSON && end === "finished") return { status, headers: allHeaders, body: whole };
    return { status, headers: allHeaders, body: writePieces(pieces ?? [{ text: whole }], end) };
  }

  function writePieces(pieces: readonly FaultPiece[], end: NonNullable<FaultResponse["end"]>): BodyWriter {
    return async function* (signal) {
      for (const piece of pieces)
        for (let remaining = piece.times ?? 1; remaining > 0; remaining -= 1) {
          if (piece.afterMs) await clock.sleep(piece.afterMs, signal);
          yield toBytes(piece);
        }
      if (end === "stall") await stall(signal);
      if (end !== "finished") throw createResetError();
    };
  }

  /** Waits until the client disconnects, at most 11 minutes. */
  async function stall(signal: AbortSignal): Promise<void> {
    const ended = new AbortController();
    try {
      await Promise.race([waitForAbort(signal), clock.sleep(MAX_STALL_MS, ended.signal)]);
    } finally {
      // stops the timer
      ended.abort();
    }
  }
}

function toBytes({ delta, finish_reason = null, choice, chunk, data, text, base64 }: FaultPiece) {
  if (text !== undefined) return encoder.encode(text);
  if (base64 !== undefined) return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const completionChunk = {
    id: "chatcmpl-fault",
    object: "chat.completion.chunk",
    created: 1_767_225_600,
    model: "delta-5.3",
    choices: [{ index: 0, delta, finish_reason, ...choice }],
    ...chunk,
  };
  return encoder.encode(`data: ${JSON.stringify(delta === undefined ? data : completionChunk)}\n\n`);
}

function listFaults(cases: readonly FaultCase[], origin: string) {
  return {
    description:
      "Each fault is served at its url, whatever the key and the body. Set it as the base URL of a client. A label behind the name, /faults/<name>:<label>/, begins its responses again.",
    faults: cases.map((fault) => describeFault(fault, origin)),
  };
}

function describeFault({ responses: _, ...fault }: FaultCase, origin: string) {
  return { url: `${origin}/faults/${fault.name}`, path: operations[fault.operation], ...fault };
}

function describeUnknown(name: string, known: readonly string[]): string {
  if (known.length === 0)
    return "This emulator serves no faults. Pass createEmulator the option faultCases, with readFaultCases() of @sluice/emulator/faults.";
  const hint = formatSuggestion(name, known) || ".";
  return `There is no fault ${cut(name, MAX_NAME_CHARACTERS)}${hint} GET /faults lists all of them.`;
}
