import { ensure } from "@sluice/worker-proxy/internal";

/** Body of an operator's request, unchecked. */
export type OperatorBody = Readonly<Record<string, unknown>>;

/** Returns a field that an operation needs. @throws {TypeError} where it is missing or no text */
export function textIn(body: OperatorBody, name: string): string {
  const value = body[name];
  ensure(typeof value === "string" && value !== "", `${name}: give a text`);
  return value;
}

/** Returns the `cursor` of a part of a list; undefined for the first part. @throws {TypeError} where it is no text */
export function cursorIn(body: OperatorBody): string | undefined {
  return body["cursor"] === undefined ? undefined : textIn(body, "cursor");
}
