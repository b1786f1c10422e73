import { parseJSON } from "../../transport/error-response.js";
import { findReportedError, hasErrorName } from "./reported-error.js";

/** Lines of an event stream that are no field of an event. Gateways write errors and pages in place of one. */
export interface StrayLines {
  /** The first lines that were no JSON and no error; undefined where there are none. */
  readonly words: string | undefined;
  /**
   * Adds a line.
   *
   * @param isCut true for a line that the end of the stream may have cut
   */
  add(name: string, value: string, isCut?: boolean): void;
  /** Ends the lines that stand together. */
  close(): void;
}

/** Longest text that is kept, in characters. The rest of a page says nothing more. */
const MAX_LENGTH = 16_384;

/** The fields of an event. A line may be the cut beginning of one. */
const FIELDS = ["data", "event", "error", "id", "retry"];

/** Creates a reader of stray lines. `onError` gets the text of an error or a page, as soon as it is whole. */
export function createStrayLines(onError: (text: string) => void): StrayLines {
  let text = "";
  /** True for text behind `error:`. */
  let isNamed = false;
  let wasCut = false;
  const lines = {
    words: undefined as string | undefined,
    add(name: string, value: string, isCut = false) {
      wasCut = isCut;
      if (text.length >= MAX_LENGTH) return;
      const line = value ? `${name}: ${value}\n` : `${name}\n`;
      // JSON behind a text is read for itself
      if (isBracketed(line) && text !== "" && !isBracketed(text) && !isPage(text)) lines.close();
      if (text === "") begin(name.trim().toLowerCase(), value, line);
      else text += line;
      readWhole();
    },
    close() {
      // before each event
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
    // behind a space, `data` is no field, and an error all the same
    if (isNamed ? value || !wasCut : field === "data") text = value || line;
    else if (!isField) text = line;
  }

  /** Takes the text if it is whole. */
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
