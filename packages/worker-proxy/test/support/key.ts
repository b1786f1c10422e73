import { expect } from "vitest";

/** The gateway's key in all tests. No response contains a part of it by chance. */
export const KEY = "sk-7Qx2LmZp9Rt4Vw8YbN3cKd6Fg";

/** The invariant of every case: no 8 characters of the key leave. */
export function expectNoKey(text: string): void {
  for (let at = 0; at + 8 <= KEY.length; at += 1) expect(text).not.toContain(KEY.slice(at, at + 8));
}

/** Reads the status, headers and body of a response. Expects no part of the key in them. */
export async function read(response: Response) {
  const text = await response.text();
  expectNoKey([...response.headers].join("\n") + text);
  return {
    status: response.status,
    headers: response.headers,
    text,
    error: text.startsWith("{") ? (JSON.parse(text).error as Record<string, string> | undefined) : undefined,
  };
}
