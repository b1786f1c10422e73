import { createEventParser, type ServerSentEvent } from "@sluice/core/sse";
import { Refusal } from "../refusal.js";
import { openBytes } from "./bytes.js";
import { type Alike, alikeOf, type ChatState, openChat, textsIn } from "./chat-events.js";
import { openKeyWatch } from "./keys.js";

/** Largest event of a stream, in bytes. */
const EVENT_BYTES = 8 * 1024 * 1024;

/** What is read from an event stream on its way. */
export interface EventBytesOptions {
  /** Keys that must not pass. */
  readonly keys: readonly string[];
  /** Number of choices that were asked for. @default 1 */
  readonly choices?: number;
  /** Called for each whole event of the answer, once it was checked. */
  readonly onEvent?: (event: Pick<ServerSentEvent, "event" | "data">) => void;
}

/** Reads a chat's event stream once, and hands out the bytes that may be passed on. */
export interface EventBytes {
  /** The chat, as far as it has been handed out. */
  readonly chat: ChatState;
  /** Number of bytes that are kept. */
  readonly size: number;
  /** Keeps the next bytes. */
  push(bytes: Uint8Array): void;
  /**
   * Checks and hands out the events that are whole by now, if any.
   *
   * @throws {Refusal} 502 where they hold a key, or an event is too large
   */
  take(): Uint8Array | undefined;
  /** Hands out what is left without a blank line behind it, if it is a whole event nonetheless. */
  end(): Uint8Array | undefined;
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

export function openEventBytes({ keys, choices = 1, onEvent }: EventBytesOptions): EventBytes {
  const chat = openChat(choices);
  const holdsKey = openKeyWatch(keys);
  const held = openBytes();
  let searchedTo = 0;
  let alike: Alike | undefined;
  let last: { readonly data: string; readonly json: unknown } | undefined;
  let isWhole = false;
  let isEnded = false;
  const parser = createEventParser({
    onEvent: readEvent,
    // some gateways send an error as a bare line
    onUnknownField: (name, value) => name === "error" && readEvent({ event: "error", data: value }),
  });

  return {
    chat: chat.state,
    get size() {
      return held.size;
    },
    push: held.add,
    take() {
      const end = endOfEvents(held.view(), searchedTo);
      if (end === 0) {
        if (held.size > EVENT_BYTES) throw new Refusal("upstream_type");
        searchedTo = Math.max(0, held.size - 1);
        return undefined;
      }
      readEvents(held.view().subarray(0, end));
      searchedTo = 0;
      return held.take(end);
    },
    end() {
      const rest = held.take();
      if (rest.byteLength === 0) return undefined;
      check({ raw: utf8.decode(rest) });
      isEnded = true;
      isWhole = false;
      parser.push(rest);
      const event = parser.end();
      if (event) readEvent(event);
      return isWhole ? rest : undefined;
    },
  };

  function readEvents(bytes: Uint8Array): void {
    const text = utf8.decode(bytes);
    // as it is written: this finds a key in comments and names as well
    check({ raw: text });
    const texts = alike && textsIn(text, alike);
    if (alike && texts) {
      const joined = texts.join("");
      check(joined, alike.place);
      chat.readText(joined);
      for (const data of onEvent ? text.slice(6, -2).split("\n\ndata: ") : [])
        onEvent?.({ event: "message", data });
      return;
    }
    last = undefined;
    parser.push(bytes);
    alike = last && alikeOf(last);
  }

  function readEvent({ event, data }: Pick<ServerSentEvent, "event" | "data">): void {
    const { isOver } = chat.state;
    const json = parsed(data);
    check(json ?? unescaped(data));
    isWhole = typeof json === "object" || data.trimEnd() === "[DONE]";
    chat.read(event, data, json);
    if (!isOver && (isWhole || !isEnded)) onEvent?.({ event, data });
    last = { data, json };
  }

  function check(value: unknown, place?: string): void {
    if (holdsKey(value, place)) throw new Refusal("upstream_type");
  }
}

function parsed(data: string): unknown {
  if (data.startsWith("[DONE]")) return undefined;
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

/** Text that is no JSON as a client reads it that takes each line, or all lines together, for JSON. */
function unescaped(data: string): string {
  return data
    .replaceAll("\n", "")
    .replace(
      /\\(?:u([\da-f]{4})|(.))/gi,
      (_, code, letter) => letter ?? String.fromCharCode(Number.parseInt(code, 16)),
    );
}

const LINE_FEED = 10;
const RETURN = 13;

/** The place behind the last blank line that ends after `from`; 0 where there is none. */
function endOfEvents(bytes: Uint8Array, from: number): number {
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
