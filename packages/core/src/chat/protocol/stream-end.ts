import { type ErrorFields, excerpt, isRecord, parseJSON, wordsOf } from "../../transport/error-response.js";
import { jsonOf } from "../../vocabulary/errors.js";
import { errorFieldsOfText } from "./reported-error.js";

/** End of the bytes of a stream, by the content before it. */
export type StreamEnd =
  /** `[DONE]`, or a whole JSON answer in place of a stream. */
  | { readonly type: "done"; readonly words?: undefined; readonly cause?: undefined }
  /** The bytes ended without a sign that the answer has ended. `words`: a text that came in place of the rest. */
  | { readonly type: "cut"; readonly words?: string | undefined; readonly cause?: unknown }
  /** An error came in the stream: in a frame, as an `error` event, or as a line. */
  | { readonly type: "error"; readonly fields: SaidError }
  /** No part of an answer came, with any HTTP status. The body was an error, a page, a text, or other JSON. */
  | { readonly type: "refusal"; readonly body: string; readonly fields?: ErrorFields | undefined }
  /** A part of the stream could not be read. */
  | { readonly type: "malformed"; readonly problem: string; readonly cause?: unknown };

/** An error with its words. */
export type SaidError = ErrorFields & { readonly message: string };

/** Progress of an answer, and the receiver of its end. */
export interface EndHandlers {
  /** Returns true once a part of an answer has come. */
  hasBegun(): boolean;
  /** Returns true once a `finish_reason` has come. */
  hasFinished(): boolean;
  /** Called once for each connection. */
  onEnd(end: StreamEnd): void;
}

/** Decides how the bytes of one connection have ended. Only its first end counts. */
export interface Ending {
  readonly isOver: boolean;
  /** The first text that belongs to no answer. */
  foreign: string | undefined;
  /** The first text between the events of this connection. */
  words: string | undefined;
  end(end: StreamEnd): void;
  /** Ends with an error, which is a refusal where no part of an answer has come. */
  fail(text: string): void;
  /** Ends with a body that has no part of an answer. */
  refuse(body: string): void;
  /** Begins another connection. */
  restart(): void;
}

/** Creates the end of an answer. */
export function createEnding({ hasBegun, hasFinished, onEnd }: EndHandlers): Ending {
  const ending = {
    isOver: false,
    foreign: undefined as string | undefined,
    words: undefined as string | undefined,
    end(how: StreamEnd) {
      if (ending.isOver) return;
      ending.isOver = true;
      onEnd(endOf(how));
    },
    fail(text: string) {
      const json = parseJSON(text);
      // the choices beside an error may have the model's text
      const rest = isRecord(json) && excerpt(jsonOf({ ...json, choices: undefined }) ?? "", 500);
      const given = errorFieldsOfText(text);
      const message =
        given.message ?? `the gateway reported an error without a message${rest ? `: ${rest}` : ""}`;
      const fields = { ...given, message };
      if (!hasBegun() && isRecord(json)) ending.end({ type: "refusal", body: text, fields });
      else ending.end({ type: "error", fields });
    },
    refuse(body: string) {
      const isJSON = /^\s*[{[]/.test(body);
      ending.end({ type: "refusal", body, fields: isJSON ? errorFieldsOfText(body.trim()) : undefined });
    },
    restart() {
      ending.isOver = false;
      ending.words = undefined;
    },
  };
  return ending;

  /** Corrects an end that looks like that of an answer. */
  function endOf(how: StreamEnd): StreamEnd {
    const { foreign, words } = ending;
    const isEmpty = !hasBegun() && (how.type === "done" || (how.type === "cut" && foreign !== undefined));
    if (isEmpty) return { type: "refusal", body: foreign ?? "" };
    // a text came in place of the rest
    if (how.type === "done" && words && !hasFinished())
      return { type: "error", fields: { message: wordsOf(words) || "a text came in place of the rest" } };
    return how;
  }
}
