import { parseJSON } from "../../transport/error-response.js";
import { findReportedError, hasErrorName } from "./reported-error.js";

/** Lines of an event stream that are not event fields. Gateways write errors and HTML pages into streams. */
export interface StrayLines {
  /** The first lines that were neither JSON nor an error. */
  readonly words: string | undefined;
  /**
   * Adds a line.
   *
   * @param isCut true for a last line that the stream may have cut
   */
  add(name: string, value: string, isCut?: boolean): void;
  /** Ends a group of adjacent lines. */
  close(): void;
}

/** Longest text to keep, in characters. The rest of a page adds nothing. */
const MAX_LENGTH = 16_384;

/** The fields of an event. A line may be a truncated field. */
const FIELDS = ["data", "event", "error", "id", "retry"];

/**
 * Creates a reader of stray lines. `onError` gets the text of an error or a page as soon as it is complete.
 *
 * @example
 * ```ts
 * const stray = createStrayLines((text) => show(text));
 * const parser = createEventParser({ onEvent: () => stray.close(), onUnknownField: stray.add });
 * ```
 */
export function createStrayLines(onError: (text: string) => void): StrayLines {
  let text = "";
  /** True for text after `error:`. */
  let isNamed = false;
  let wasCut = false;
  const lines = {
    words: undefined as string | undefined,
    add(name: string, value: string, isCut = false) {
      wasCut = isCut;
      if (text.length >= MAX_LENGTH) return;
      const line = value ? `${name}: ${value}\n` : `${name}\n`;
      // JSON after a text is a new group
      if (isBracketed(line) && text !== "" && !isBracketed(text) && !isPage(text)) lines.close();
      if (text === "") begin(name.trim().toLowerCase(), value, line);
      else text += line;
      readWhole();
    },
    close() {
      // runs before each event
      if (text === "") return;
      const rest = text.trim();
      text = "";
      if (isPage(rest)) onError(rest);
      else if (!isBracketed(rest)) lines.words ??= rest || undefined;
      else if (!wasCut && (isNamed || hasErrorName(rest))) onError(rest);
    },
  };
  return lines;

  function begin(field: string, value: string, line: string): void {
    isNamed = field === "error";
    const isField = FIELDS.some((known) => known.startsWith(field));
    // a line with a space before `data` is not a field, but may be an error
    if (isNamed ? value || !wasCut : field === "data") text = value || line;
    else if (!isField) text = line;
  }

  /** Reports the text if it is complete. */
  function readWhole(): void {
    const given = text.trim();
    if (isBracketed(given)) {
      const json = /[}\]]$/.test(given) ? parseJSON(given) : undefined;
      if (json === undefined) return;
      text = "";
      if (isNamed || findReportedError(json)) onError(given);
    } else if (isPage(given) ? /<\/html>$/i.test(given) : isNamed && given) {
      text = "";
      onError(given);
    }
  }
}

function isBracketed(text: string): boolean {
  return /^\s*[{[]/.test(text);
}

function isPage(text: string): boolean {
  return text.startsWith("<");
}
