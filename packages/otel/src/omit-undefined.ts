import type { Attributes } from "@opentelemetry/api";

/** Removes undefined attributes. */
export function omitUndefined(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}
