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
 * Finds the error that a status of success hides: in a frame of a stream, or in a whole answer. Undefined where there is
 * none. Many services send an `error` that says nothing, such as null, in each frame.
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
 * Returns true if an event of a chat stream is an error, whatever its form.
 *
 * @param json its data, parsed; undefined where it is no JSON
 */
export function isErrorEvent(
  { event, data }: Pick<ServerSentEvent, "event" | "data">,
  json: unknown,
): boolean {
  // nearly all frames, and a search costs less than a walk through the frame
  if (event === "message" && hasChoices(json) && !data.includes("error")) return false;
  if (/error/i.test(event) || findReportedError(json)) return true;
  return json === undefined && hasErrorName(data);
}

function hasChoices(json: unknown): boolean {
  return isRecord(json) && Array.isArray(json.choices) && json.choices.length > 0;
}

/** Returns true if JSON that is not whole, or the notation of another language, has an error. */
export function hasErrorName(text: string): boolean {
  return /["']errors?["']\s*(?:$|:\s*(?!null|None|false|""|''|\{\s*\}|\[\s*\]))/.test(text);
}

/** Reads the error in a text: JSON of any known form, JSON that is broken, a page, or plain words. */
export function parseErrorText(text: string): ErrorFields {
  const json = parseJSON(text);
  if (json !== undefined) return findReportedError(json) ?? findErrorFields(json) ?? {};
  if (text.startsWith("<")) return { message: describePage(text) };
  if (!/^[{[]/.test(text)) return { message: text || undefined };
  const [, message] = /["'](?:message|msg|detail|errors?)["']\s*:\s*["']([^"'\\]+)/.exec(excerpt(text)) ?? [];
  return { message };
}

/** Finds the error that a body or one of its choices or extensions (`x_groq`) has as a field of its own. */
function findInnerError(body: Record<string, unknown>): unknown {
  const own = findOwnError(body);
  if (own !== undefined) return own;
  for (const name of Object.keys(body)) {
    const value = body[name];
    if (name.startsWith("x_") && isRecord(value) && isMeaningful(value.error)) return value.error;
  }
  for (const choice of Array.isArray(body.choices) ? body.choices : [])
    for (const place of [choice, choice?.delta, choice?.message]) {
      const found = isRecord(place) ? findOwnError(place) : undefined;
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

/** Returns false for null, false, 0, "", {} and what holds nothing else. The levels are limited, as any JSON may come. */
function isMeaningful(value: unknown, levels = 4): boolean {
  if (typeof value === "string") return value.trim() !== "";
  if (typeof value !== "object" || value === null || levels === 0) return Boolean(value);
  return Object.values(value).some((entry) => isMeaningful(entry, levels - 1));
}

/** Takes an error out of another one that a relay has put around it. */
function unwrapError(error: unknown): unknown {
  if (!isRecord(error) || !isMeaningful(error.error) || isMeaningful(error.message)) return error;
  return isRecord(error.error) ? { ...error, ...error.error } : { ...error, message: error.error };
}
