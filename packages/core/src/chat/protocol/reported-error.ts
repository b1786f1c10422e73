import {
  type ErrorFields,
  errorFieldsOf,
  excerpt,
  isRecord,
  pageOf,
  parseJSON,
} from "../../transport/error-response.js";
import type { ServerSentEvent } from "../../transport/event-stream.js";

/**
 * Finds the error that a status of success hides: in a frame of a stream, or in a whole answer. Undefined where there is
 * none. Many services send an `error` that says nothing, such as null, in each frame.
 */
export function reportedErrorOf(json: unknown): ErrorFields | undefined {
  const body: unknown = Array.isArray(json) ? json[0] : json;
  if (!isRecord(body)) return undefined;
  const inner = innerErrorOf(body);
  if (inner !== undefined) return errorFieldsOf({ ...body, error: unwrapped(inner) });
  const { choices, usage } = body;
  const isEmpty = choices == null || (Array.isArray(choices) && choices.length === 0 && !isRecord(usage));
  if (!isEmpty && body.object !== "error") return undefined;
  const fields = errorFieldsOf(body);
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
  if (/error/i.test(event) || reportedErrorOf(json)) return true;
  return json === undefined && namesError(data);
}

function hasChoices(json: unknown): boolean {
  return isRecord(json) && Array.isArray(json.choices) && json.choices.length > 0;
}

/** Returns true if JSON that is not whole, or the notation of another language, has an error. */
export function namesError(text: string): boolean {
  return /["']errors?["']\s*(?:$|:\s*(?!null|None|false|""|''|\{\s*\}|\[\s*\]))/.test(text);
}

/** Reads the error in a text: JSON of any known form, JSON that is broken, a page, or plain words. */
export function errorFieldsOfText(text: string): ErrorFields {
  const json = parseJSON(text);
  if (json !== undefined) return reportedErrorOf(json) ?? errorFieldsOf(json) ?? {};
  if (text.startsWith("<")) return { message: pageOf(text) };
  if (!/^[{[]/.test(text)) return { message: text || undefined };
  const [, message] = /["'](?:message|msg|detail|errors?)["']\s*:\s*["']([^"'\\]+)/.exec(excerpt(text)) ?? [];
  return { message };
}

/** Finds the error that a body or one of its choices or extensions (`x_groq`) has as a field of its own. */
function innerErrorOf(body: Record<string, unknown>): unknown {
  const own = errorIn(body);
  if (own !== undefined) return own;
  for (const name of Object.keys(body)) {
    const value = body[name];
    if (name.startsWith("x_") && isRecord(value) && isSaid(value.error)) return value.error;
  }
  for (const choice of Array.isArray(body.choices) ? body.choices : [])
    for (const place of [choice, choice?.delta, choice?.message]) {
      const found = isRecord(place) ? errorIn(place) : undefined;
      if (found !== undefined) return found;
    }
  return undefined;
}

function errorIn({ error, errors }: Record<string, unknown>): unknown {
  if (isSaid(error)) return error;
  return Array.isArray(errors) ? errors.find((entry) => isSaid(entry)) : isSaid(errors) ? errors : undefined;
}

/** Returns false for null, false, 0, "", {} and what holds nothing else. The levels are limited, as any JSON may come. */
function isSaid(value: unknown, levels = 4): boolean {
  if (typeof value === "string") return value.trim() !== "";
  if (typeof value !== "object" || value === null || levels === 0) return Boolean(value);
  return Object.values(value).some((entry) => isSaid(entry, levels - 1));
}

/** Takes an error out of another one that a relay has put around it. */
function unwrapped(error: unknown): unknown {
  if (!isRecord(error) || !isSaid(error.error) || isSaid(error.message)) return error;
  return isRecord(error.error) ? { ...error, ...error.error } : { ...error, message: error.error };
}
