import type { Authenticate } from "@sluice/worker-proxy";
import { expect, vi } from "vitest";
import { createRequest, type Env, openProxy } from "./in-process.js";

/** Opens a proxy with this sign-in, and sends requests to it. */
export function openSite(authenticate: Authenticate<Env>) {
  /**
   * Returns the status with the user's id, or with the code of the refusal: {@link nobody} for each refusal with status 401. Checks
   * that only a user's request reaches the gateway.
   */
  async function visit(headers: Record<string, string> = {}, path = "/v1/chat/completions") {
    const { reached, events, call } = openProxy({ authenticate });
    const { status, error } = await call(createRequest({ path, headers: { authorization: "", ...headers } }));
    expect(reached.length).toBe(status === 200 ? 1 : 0);
    // a sent token is invalid; without a token there is no user
    const isKey = /^bearer\s+\S/i.test(headers["authorization"] ?? "");
    if (status === 401 && error?.["code"] === (isKey ? "invalid_api_key" : "unauthenticated")) return nobody;
    return [status, error?.["code"] ?? events[0]?.userId];
  }
  return { visit, bearer: (token: string) => visit({ authorization: `Bearer ${token}` }) };
}

/** Result of a visit without a valid sign-in. */
export const nobody = [401, "unauthenticated"];
/** Result of a visit while the sign-in cannot be checked. */
export const unavailable = [503, "authentication_unavailable"];

/** Records the lines of the log, for tests in which the proxy logs a fault. */
export function listenToLog(): string[] {
  const lines: string[] = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => lines.push(line));
  return lines;
}

/** Expects that a text contains no 8 consecutive characters of a secret or a token. */
export function expectNoPart(secret: string, text: string): void {
  for (let at = 0; at + 8 <= secret.length; at += 1) expect(text).not.toContain(secret.slice(at, at + 8));
}
