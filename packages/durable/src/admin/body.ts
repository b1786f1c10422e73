import { ensure } from "@sluice/worker-proxy/plugin";

/** Body of an operator's request, unchecked. */
export type AdminBody = Readonly<Record<string, unknown>>;

/** Returns a required text field. @throws {TypeError} if it is missing, empty, not a string, or contains NUL */
export function readText(body: AdminBody, name: string): string {
  const value = body[name];
  ensure(typeof value === "string" && value !== "" && !value.includes("\0"), `${name}: give a text`);
  return value;
}

/** Returns the `cursor` of a page; undefined for the first page. @throws {TypeError} as {@link readText} */
export function readCursor(body: AdminBody): string | undefined {
  return body["cursor"] === undefined ? undefined : readText(body, "cursor");
}
