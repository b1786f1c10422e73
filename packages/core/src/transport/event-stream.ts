/** One event of a `text/event-stream`, by the rules of the WHATWG HTML standard (9.2.6). */
export interface ServerSentEvent {
  /** The `event` field; `"message"` if the stream sets none. */
  readonly event: string;
  /** The `data` lines, joined by line feeds. */
  readonly data: string;
  /** The last `id` of the stream so far. */
  readonly lastEventId: string;
}

/** Options of an event parser. */
export interface EventHandlers {
  /** Longest line, and longest `data` of an event, in characters. @default 16_777_216 */
  readonly maxLength?: number;
  /** Called for each event, as soon as its closing blank line arrives. */
  onEvent(event: ServerSentEvent): void;
  /** Called for a valid `id` field, before its event. */
  onId?(id: string): void;
  /** Called for a valid `retry` field: the time before a reconnect, in milliseconds. */
  onRetry?(ms: number): void;
  /** Called for a field that is not in the standard. Some gateways send errors as a line `error: {…}`. */
  onUnknownField?(name: string, value: string): void;
}

/** Parser of an event stream. The bytes may arrive in pieces of any size. */
export interface EventParser {
  /**
   * Reads the next bytes of the stream.
   *
   * @throws {RangeError} for an event longer than `maxLength`. The parser is unusable after that
   */
  push(bytes: Uint8Array): void;
  /**
   * Ends the stream and returns an event without its closing blank line, if there is one. The standard drops such an
   * event. Returning it shows that the stream was truncated.
   */
  end(): ServerSentEvent | undefined;
}

/** Default limit of an event, in characters. */
export const MAX_LENGTH = 16 * 1024 * 1024;

/**
 * Creates a parser that splits bytes into events. It reads each byte once, so an event of many megabytes costs linear
 * time. It holds only the current event, up to `maxLength`.
 *
 * @example
 * ```ts
 * const parser = createEventParser({ onEvent: ({ data }) => console.log(data) });
 * parser.push(new TextEncoder().encode("data: hello\n\n")); // prints "hello"
 * ```
 */
export function createEventParser({
  maxLength = MAX_LENGTH,
  onEvent,
  onId,
  onRetry,
  onUnknownField,
}: EventHandlers): EventParser {
  const decoder = new TextDecoder();
  let unfinishedLine = "";
  let endedWithCR = false;
  let event = "";
  let data: string | undefined;
  let lastEventId = "";

  return {
    push: (bytes) => splitLines(normalizeLineEnds(decoder.decode(bytes, { stream: true }))),
    end() {
      splitLines(normalizeLineEnds(decoder.decode()));
      // the standard drops an unfinished line. Here the caller decides, because the line may be data
      if (unfinishedLine !== "" && !unfinishedLine.startsWith("retry")) readLine(unfinishedLine);
      unfinishedLine = "";
      return takeEvent();
    },
  };

  /**
   * Normalizes line breaks. A CR at the end of a read ends its line, so an LF at the start of the next read belongs to
   * it.
   */
  function normalizeLineEnds(text: string): string {
    if (endedWithCR && text !== "") {
      endedWithCR = false;
      if (text.startsWith("\n")) text = text.slice(1);
    }
    if (!text.includes("\r")) return text;
    endedWithCR = text.endsWith("\r");
    return text.replace(/\r\n?/g, "\n");
  }

  function splitLines(text: string): void {
    let lineEnd = text.indexOf("\n");
    if (lineEnd === -1) {
      // appending neither copies nor searches the line again, so a line of many reads costs linear time
      unfinishedLine = assertBounded(unfinishedLine + text);
      return;
    }
    let lineStart = 0;
    if (unfinishedLine !== "") {
      readLine(unfinishedLine + text.slice(0, lineEnd));
      unfinishedLine = "";
      lineStart = lineEnd + 1;
      lineEnd = text.indexOf("\n", lineStart);
    }
    while (lineEnd !== -1) {
      // fast path for nearly every data line, without a copy
      if (data === undefined && text.startsWith("data: ", lineStart))
        data = text.slice(lineStart + 6, lineEnd);
      else readLine(text.slice(lineStart, lineEnd));
      lineStart = lineEnd + 1;
      lineEnd = text.indexOf("\n", lineStart);
    }
    unfinishedLine = text.slice(lineStart);
  }

  function readLine(line: string): void {
    if (line === "") return dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") data = data === undefined ? value : assertBounded(`${data}\n${value}`);
    else if (name === "event") event = value;
    else if (name === "id") {
      if (value.includes("\0")) return;
      lastEventId = value;
      onId?.(value);
    } else if (name === "retry") {
      if (/^\d+$/.test(value)) onRetry?.(Number(value));
    } else onUnknownField?.(name, value);
  }

  function dispatch(): void {
    const complete = takeEvent();
    if (complete) onEvent(complete);
  }

  function takeEvent(): ServerSentEvent | undefined {
    const complete =
      data === undefined ? undefined : { event: event || "message", data: assertBounded(data), lastEventId };
    event = "";
    data = undefined;
    return complete;
  }
  function assertBounded(text: string): string {
    if (text.length <= maxLength) return text;
    throw new RangeError(`an event of the stream is longer than ${maxLength} characters`);
  }
}
