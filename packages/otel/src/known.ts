import type { Attributes } from "@opentelemetry/api";

/** Leaves out what is not known. */
export function known(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}
