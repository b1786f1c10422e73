import { ensure } from "@sluice/worker-proxy/plugin";

/** Body of an operator's request, unchecked. */
export type AdminBody = Readonly<Record<string, unknown>>;

/** Returns a field that an operation needs. @throws {TypeError} if it is missing or no text */
export function readText(body: AdminBody, name: string): string {
  const value = body[name];
  ensure(typeof value === "string" && value !== "" && !value.includes("\0"), `${name}: give a text`);
  return value;
}

/** Returns the `cursor` of a part of a list; undefined for the first part. @throws {TypeError} if it is no text */
export function readCursor(body: AdminBody): string | undefined {
  return body["cursor"] === undefined ? undefined : readText(body, "cursor");
}
