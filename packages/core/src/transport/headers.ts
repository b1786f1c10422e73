import { addAdvice } from "../base/advice.js";
import { ConfigurationError } from "../types/errors.js";

/** Headers in every form that `Headers` accepts: an object, pairs, or `Headers`. */
export type HeadersInput = NonNullable<ConstructorParameters<typeof Headers>[0]>;

/**
 * Creates `Headers` from `init`.
 *
 * @throws {ConfigurationError} that names the header without its value, which may be a key. The platform's error would
 *   quote it
 */
export function readHeaders(init: HeadersInput = {}): Headers {
  const headers = new Headers();
  const entries = Symbol.iterator in init ? init : Object.entries(init);
  for (const [name, value] of entries as Iterable<[string, string]>)
    try {
      // workerd would send and print such a header
      if (/[\u0100-\uffff]/.test(value)) throw new TypeError();
      headers.append(name, value);
    } catch {
      const error = new ConfigurationError(`headers: ${JSON.stringify(name)} can't be sent`);
      addAdvice(error, ": it has a line break or a forbidden character");
      throw error;
    }
  return headers;
}
