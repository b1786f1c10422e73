import { createEventParser, createStrayLines, isErrorEvent, type ServerSentEvent } from "@sluice/core/sse";
import type { Usage } from "../api/plugin.js";
import { collectBytes } from "../base/bytes.js";
import { tryParse } from "../base/parse.js";
import { hasTooManyValues } from "../checks/json-size.js";
import { unescapeJSON } from "../gateway/key.js";
import { MAX_VALUES } from "../gateway/read-json.js";
import { Refusal } from "../refusals/refusal.js";
import { openKeyWatch } from "./key-watch.js";

/** Largest event of a stream, in bytes. */
const EVENT_BYTES = 8 * 1024 * 1024;

/** Options of a reader of event streams. */
export interface EventBytesOptions {
  /** Keys that must not pass. */
  readonly keys: readonly string[];
  /** The `n` of the request. @default 1 */
  readonly choices?: number;
  /** Called for each whole event of the response, once it was checked. */
  readonly onEvent?: (event: Pick<ServerSentEvent, "event" | "data">) => void;
}

const utf8 = /* @__PURE__ */ new TextDecoder("utf-8", { ignoreBOM: true });

/** Reads a chat's event stream once, and hands out the bytes that may be passed on. */
export function openEventBytes({ keys, choices = 1, onEvent }: EventBytesOptions) {
  const chat = openChat(choices);
  const containsKey = openKeyWatch(keys);
  const held = collectBytes();
  let searchedTo = 0;
  let isWhole = false;
  let isEnded = false;
  const stray = createStrayLines(readError);
  const parser = createEventParser({
    onEvent: readEvent,
    // some gateways send an error as a bare line
    onUnknownField: (name, value) => stray.add(name, value, isEnded),
  });

  return {
    /** The chat, as far as it has been handed out. */
    chat: chat.state,
    /** Keeps the next bytes. */
    push: held.add,
    /**
     * Checks and hands out the events that are whole by now, if any.
     *
     * @throws {Refusal} 502 if they contain a key, or an event is too large
     */
    take(): Uint8Array | undefined {
      const end = findEventsEnd(held.view(), searchedTo);
      if (end === 0) {
        if (held.size > EVENT_BYTES) throw new Refusal("upstream_type");
        searchedTo = Math.max(0, held.size - 1);
        return undefined;
      }
      const events = held.view().subarray(0, end);
      // check the raw text: it also finds a key in comments and names
      check({ raw: utf8.decode(events) });
      parser.push(events);
      searchedTo = 0;
      return held.take(end);
    },
    /** Returns the last event if it is whole although no blank line follows. */
    end(): Uint8Array | undefined {
      const rest = held.take();
      if (rest.byteLength === 0) return undefined;
      check({ raw: utf8.decode(rest) });
      isEnded = true;
      isWhole = false;
      parser.push(rest);
      const event = parser.end();
      stray.close();
      if (event) readEvent(event);
      return isWhole ? rest : undefined;
    },
  };

  function readError(data: string): void {
    readEvent({ event: "error", data });
    isWhole = true;
  }

  function readEvent({ event, data }: Pick<ServerSentEvent, "event" | "data">): void {
    stray.close();
    const { isOver } = chat.state;
    if (hasTooManyValues(data, MAX_VALUES))
      throw new Refusal("upstream_type", { what: ": its JSON has too many values" });
    const json = tryParse(data);
    // a client may take each line for JSON, or all lines together
    check(json ?? unescapeJSON(data.replaceAll("\n", "")));
    isWhole = typeof json === "object" || data.trimEnd() === "[DONE]";
    chat.read(event, data, json);
    if (!isOver && (isWhole || !isEnded)) onEvent?.({ event, data });
  }

  function check(value: unknown, path?: string): void {
    if (containsKey(value, path)) throw new Refusal("upstream_type");
  }
}

const LINE_FEED = 10;
const RETURN = 13;

/** The position after the last blank line that ends after `from`; 0 without such a line. */
function findEventsEnd(bytes: Uint8Array, from: number): number {
  for (let at = bytes.byteLength - 1; at > from; at -= 1) {
    if (!isLineEnd(bytes[at])) continue;
    const before = bytes[at] === LINE_FEED && bytes[at - 1] === RETURN ? at - 2 : at - 1;
    if (isLineEnd(bytes[before])) return at + 1;
  }
  return 0;
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === LINE_FEED || byte === RETURN;
}

type JSONObject = Readonly<Record<string, unknown>>;

function isRecord(value: unknown): value is JSONObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param choices the `n` of the request */
function openChat(choices: number) {
  const finished = new Map<unknown, boolean>();
  /** The end and the content of a chat's event stream, as far as it has been read. */
  const state = {
    /** The last `usage` that was not null, unless more of the response followed: it counted a part then. */
    usage: undefined as Usage | undefined,
    /** True once `[DONE]` or an error came: nothing that follows belongs to the response. */
    isOver: false,
    /** True once each choice has its `finish_reason`, or the stream is over. */
    isFinished: false,
    /** False if the stream is over before the `finish_reason` of a choice: it may lack its end. */
    isConfirmed: true,
    /** True if the stream contains an error of the gateway. */
    hasFailed: false,
    /** Number of events that carried something: text, reasoning, tool calls, a finish reason, usage after it, an error. */
    contents: 0,
  };
  return { state, read };

  /** @param json the event's data, parsed; undefined for invalid JSON */
  function read(event: string, data: string, json: unknown): void {
    if (state.isOver) return;
    state.hasFailed = isErrorEvent({ event, data }, json);
    state.isOver = state.hasFailed || data.trimEnd() === "[DONE]";
    // the frame of an error may have the last content
    state.contents += Number(state.hasFailed) + Number(isRecord(json) && hasContent(json));
    state.isConfirmed = !state.isOver || areFinished();
    state.isFinished = state.isOver || areFinished();
  }

  function areFinished(): boolean {
    return finished.size >= choices && [...finished.values()].every(Boolean);
  }

  function hasContent({ choices, usage }: JSONObject): boolean {
    // each choice is read, not only up to the first with content
    const filled = Array.isArray(choices) ? choices.map(readChoice) : [];
    if (!isRecord(usage)) return filled.includes(true);
    state.usage = usage;
    return filled.includes(true) || areFinished();
  }

  function readChoice(choice: unknown, position: number): boolean {
    if (!isRecord(choice)) return false;
    const index = choice["index"] ?? position;
    const ends = isFilled(choice["finish_reason"]);
    finished.set(index, ends || finished.get(index) === true);
    const delta = choice["delta"] ?? choice["message"];
    const says = isRecord(delta) && CONTENT.some((name) => isFilled(delta[name]));
    if (says) state.usage = undefined;
    return (ends && !state.hasFailed) || says;
  }
}

/** The fields of a delta that carry something. */
const CONTENT = ["content", "reasoning_content", "reasoning", "refusal", "tool_calls", "function_call"];

/** Returns true if it contains a text that is not empty. A `type` alone does not count. */
function isFilled(value: unknown): boolean {
  if (typeof value === "string") return value !== "";
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, entry]) => name !== "type" && isFilled(entry));
}
