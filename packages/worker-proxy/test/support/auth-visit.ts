import type { Authenticate } from "@sluice/worker-proxy";
import { expect, vi } from "vitest";
import { createRequest, type Env, openProxy } from "./in-process.js";

/** Opens a proxy with this sign-in, and visits it. The log has a line for each refused token. */
export function openSite(authenticate: Authenticate<Env>) {
  /** The status, and the user's id or the refusal's code, {@link nobody} for both codes of 401; nothing reaches the gateway but for a user. */
  async function visit(headers: Record<string, string> = {}, path = "/v1/chat/completions") {
    const { reached, events, call } = openProxy({ authenticate });
    const { status, error } = await call(createRequest({ path, headers: { authorization: "", ...headers } }));
    expect(reached.length).toBe(status === 200 ? 1 : 0);
    // a token that was sent is not valid; without a token there is no user
    const isKey = /^bearer\s+\S/i.test(headers["authorization"] ?? "");
    if (status === 401 && error?.["code"] === (isKey ? "invalid_api_key" : "unauthenticated")) return nobody;
    return [status, error?.["code"] ?? events[0]?.userId];
  }
  return { visit, bearer: (token: string) => visit({ authorization: `Bearer ${token}` }) };
}

export const nobody = [401, "unauthenticated"];
export const unknowable = [503, "authentication_unavailable"];

/** Records the lines of the log, for tests whose host fails. */
export function listenToLog(): string[] {
  const lines: string[] = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => lines.push(line));
  return lines;
}

/** No 8 characters of a secret or a token are in a text. */
export function expectNoPart(secret: string, text: string): void {
  for (let at = 0; at + 8 <= secret.length; at += 1) expect(text).not.toContain(secret.slice(at, at + 8));
}
