import { ConfigurationError } from "../errors.js";

/** Headers, as the `Headers` of any platform takes them: an object, pairs, or `Headers`. */
export type HeadersInput = NonNullable<ConstructorParameters<typeof Headers>[0]>;

/**
 * `init` as `Headers`.
 *
 * @throws {ConfigurationError} that names the header which can't be sent, and keeps its value to itself: the platform's
 * own error quotes it, and it may be a key
 */
export function readHeaders(init: HeadersInput = {}): Headers {
  const headers = new Headers();
  const entries = Symbol.iterator in init ? init : Object.entries(init);
  for (const [name, value] of entries as Iterable<[string, string]>)
    try {
      // checked here, because workerd sends it all the same, and prints it
      if (/[\u0100-\uffff]/.test(value)) throw new TypeError();
      headers.append(name, value);
    } catch {
      throw new ConfigurationError(
        `headers: ${JSON.stringify(name)} can't be sent: it has a line break or another character that no header may have`,
      );
    }
  return headers;
}
