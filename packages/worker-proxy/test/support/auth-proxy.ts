import type { Authenticate } from "@sluice/worker-proxy";
import { expect, vi } from "vitest";
import { createRequest, type Env, openProxy } from "./in-process.js";

/** Opens a proxy with an `authenticate` function, and sends requests to it. */
export function openAuthProxy(authenticate: Authenticate<Env>) {
  /**
   * Returns the status, and the user's id or the code of the refusal. Returns {@link rejected} for each status 401. Expects
   * that only a user's request reaches the gateway.
   */
  async function sendRequest(headers: Record<string, string> = {}, path = "/v1/chat/completions") {
    const { reached, events, call } = openProxy({ authenticate });
    const { status, error } = await call(createRequest({ path, headers: { authorization: "", ...headers } }));
    expect(reached.length).toBe(status === 200 ? 1 : 0);
    // a sent token is invalid; without a token there is no user
    const isKey = /^bearer\s+\S/i.test(headers["authorization"] ?? "");
    if (status === 401 && error?.["code"] === (isKey ? "invalid_api_key" : "unauthenticated"))
      return rejected;
    return [status, error?.["code"] ?? events[0]?.userId];
  }
  return { sendRequest, sendToken: (token: string) => sendRequest({ authorization: `Bearer ${token}` }) };
}

/** Result of a request without a valid token. */
export const rejected = [401, "unauthenticated"];
/** Result of a request whose token can't be checked. */
export const checkFailed = [503, "authentication_unavailable"];

/** Records the lines of the log, for tests in which the proxy logs a fault. */
export function recordLog(): string[] {
  const lines: string[] = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => lines.push(line));
  return lines;
}

/** Expects that a text contains no 8 consecutive characters of a secret or a token. */
export function expectNoPart(secret: string, text: string): void {
  for (let at = 0; at + 8 <= secret.length; at += 1) expect(text).not.toContain(secret.slice(at, at + 8));
}
