import {
  describePage,
  type ErrorFields,
  excerpt,
  findErrorFields,
  isRecord,
  parseJSON,
} from "../../transport/error-response.js";
import type { ServerSentEvent } from "../../transport/event-stream.js";

/**
 * Finds an error under a status of success: in a frame of a stream, or in a whole response. Many services send an empty
 * `error`, such as null, in each frame.
 */
export function findReportedError(json: unknown): ErrorFields | undefined {
  const body: unknown = Array.isArray(json) ? json[0] : json;
  if (!isRecord(body)) return undefined;
  const inner = findInnerError(body);
  if (inner !== undefined) return findErrorFields({ ...body, error: unwrapError(inner) });
  const { choices, usage } = body;
  const isEmpty = choices == null || (Array.isArray(choices) && choices.length === 0 && !isRecord(usage));
  if (!isEmpty && body.object !== "error") return undefined;
  const fields = findErrorFields(body);
  return fields?.message !== undefined || body.error || body.object === "error" ? fields : undefined;
}

/**
 * Returns true if an event of a chat stream is an error in any form.
 *
 * @param json the parsed data; undefined if the data is not JSON
 * @example
 * ```ts
 * const hasFailed = isErrorEvent({ event: "message", data: "{}" }, {});
 * ```
 */
export function isErrorEvent(
  { event, data }: Pick<ServerSentEvent, "event" | "data">,
  json: unknown,
): boolean {
  // true of nearly all frames, and a text search costs less than a walk through the frame
  if (event === "message" && hasChoices(json) && !data.includes("error")) return false;
  if (/error/i.test(event) || findReportedError(json)) return true;
  return json === undefined && hasErrorName(data);
}

function hasChoices(json: unknown): boolean {
  return isRecord(json) && Array.isArray(json.choices) && json.choices.length > 0;
}

/** Returns true if incomplete JSON, or the notation of another language, has an error field. */
export function hasErrorName(text: string): boolean {
  return /["']errors?["']\s*(?:$|:\s*(?!null|None|false|""|''|\{\s*\}|\[\s*\]))/.test(text);
}

/** Parses the error in a text: JSON of any known form, broken JSON, an HTML page, or plain text. */
export function parseErrorText(text: string): ErrorFields {
  const json = parseJSON(text);
  if (json !== undefined) return findReportedError(json) ?? findErrorFields(json) ?? {};
  if (text.startsWith("<")) return { message: describePage(text) };
  if (!/^[{[]/.test(text)) return { message: text || undefined };
  const [, message] = /["'](?:message|msg|detail|errors?)["']\s*:\s*["']([^"'\\]+)/.exec(excerpt(text)) ?? [];
  return { message };
}

/** Finds the error field of a body, of one of its choices or of an extension (`x_groq`). */
function findInnerError(body: Record<string, unknown>): unknown {
  const own = findOwnError(body);
  if (own !== undefined) return own;
  for (const name of Object.keys(body)) {
    const value = body[name];
    if (name.startsWith("x_") && isRecord(value) && isMeaningful(value.error)) return value.error;
  }
  for (const choice of Array.isArray(body.choices) ? body.choices : [])
    for (const source of [choice, choice?.delta, choice?.message]) {
      const found = isRecord(source) ? findOwnError(source) : undefined;
      if (found !== undefined) return found;
    }
  return undefined;
}

function findOwnError({ error, errors }: Record<string, unknown>): unknown {
  if (isMeaningful(error)) return error;
  return Array.isArray(errors)
    ? errors.find((entry) => isMeaningful(entry))
    : isMeaningful(errors)
      ? errors
      : undefined;
}

/**
 * Returns false for null, false, 0, "", {} and for values that contain nothing else. Limits the depth, because the JSON
 * may be arbitrary.
 */
function isMeaningful(value: unknown, levels = 4): boolean {
  if (typeof value === "string") return value.trim() !== "";
  if (typeof value !== "object" || value === null || levels === 0) return Boolean(value);
  return Object.values(value).some((entry) => isMeaningful(entry, levels - 1));
}

/** Unwraps an error that a relay has wrapped in another error. */
function unwrapError(error: unknown): unknown {
  if (!isRecord(error) || !isMeaningful(error.error) || isMeaningful(error.message)) return error;
  return isRecord(error.error) ? { ...error, ...error.error } : { ...error, message: error.error };
}
