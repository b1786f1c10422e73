import { createEventParser, type ServerSentEvent } from "@sluice/core/sse";
import { Refusal } from "../refusal.js";
import { openBytes } from "./bytes.js";
import { type ChatState, openChat, openEnvelope } from "./chat-events.js";
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
  /** The chat, as far as it has been read. */
  readonly chat: ChatState;
  /**
   * Takes the next bytes; returns those of the events that are whole by now, if any.
   *
   * @throws {Refusal} 502 where they hold a key, or an event is too large
   */
  push(bytes: Uint8Array): Uint8Array | undefined;
  /** Takes what is left, without a blank line behind it: returned if it is a whole event nonetheless. */
  end(): Uint8Array | undefined;
}

const utf8 = new TextDecoder();

export function openEventBytes({ keys, choices = 1, onEvent }: EventBytesOptions): EventBytes {
  const chat = openChat(choices);
  const holdsKey = openKeyWatch(keys);
  const envelope = openEnvelope();
  const held = openBytes();
  let isWhole = false;
  let isEnded = false;
  const parser = createEventParser({
    onEvent: readEvent,
    // some gateways send an error as a bare line
    onUnknownField: (name, value) => name === "error" && readEvent({ event: "error", data: value }),
  });

  return {
    chat: chat.state,
    push(bytes) {
      const whole = wholeEvents(bytes);
      if (whole) {
        lookAt(whole);
        parser.push(whole);
      }
      return whole;
    },
    end() {
      const last = held.take();
      if (last.byteLength === 0) return undefined;
      lookAt(last);
      isWhole = false;
      isEnded = true;
      parser.push(last);
      const event = parser.end();
      if (event) readEvent(event);
      return isWhole ? last : undefined;
    },
  };

  function wholeEvents(bytes: Uint8Array): Uint8Array | undefined {
    if (held.size === 0 && endOfEvents(bytes, 0) === bytes.byteLength) return bytes;
    const searchedTo = Math.max(0, held.size - 1);
    held.add(bytes);
    const end = endOfEvents(held.view(), searchedTo);
    if (end > 0) return held.take(end);
    if (held.size > EVENT_BYTES) throw new Refusal("upstream_type");
    return undefined;
  }

  /** Looks for a key as it is written; this finds it in comments and names as well. */
  function lookAt(bytes: Uint8Array): void {
    if (holdsKey({ raw: utf8.decode(bytes) })) throw new Refusal("upstream_type");
  }

  function readEvent(event: { readonly event: string; readonly data: string }): void {
    const { isOver } = chat.state;
    const text = envelope.textIn(event);
    const json = text === undefined ? parsed(event.data) : undefined;
    if (holdsKey(text ?? json ?? unescaped(event.data), text === undefined ? "" : envelope.place))
      throw new Refusal("upstream_type");
    isWhole = text !== undefined || typeof json === "object" || event.data.trimEnd() === "[DONE]";
    if (text === undefined) {
      envelope.learn(event, json);
      chat.read(event, json);
    } else chat.readText(text);
    if (!isOver && (isWhole || !isEnded)) onEvent?.(event);
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
