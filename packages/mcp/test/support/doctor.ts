import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { expect } from "vitest";
import { run } from "../../src/command/run.js";
import type { AssumptionName } from "../../src/doctor/assumptions.js";
import type { Report } from "../../src/doctor/diagnose.js";
import { breakAssumptions, type GatewayAssumption } from "./differing-gateway.js";

export const KEY = "sk-canary-0123456789abcdef";
export const ADDRESS = "https://gateway.example.com";

export type Fetch = (request: Request) => Promise<Response>;

/** A clock that advances only by its own waits, at once. */
export function createClock() {
  let now = Date.UTC(2026, 0, 1);
  const sleep = async (ms: number) => {
    now += ms;
  };
  return { now: () => now, sleep };
}

/** Opens the doctor of an emulator. `differs` names the assumptions that its gateway breaks. */
export function openEmulator({
  differs = [],
  ...options
}: EmulatorOptions & { readonly differs?: readonly GatewayAssumption[] } = {}) {
  const clock = createClock();
  const emulator = createEmulator({ apiKeys: [KEY], clock, ...options });
  const fetch = breakAssumptions(emulator.fetch, differs);
  return { emulator, fetch, doctor: openDoctor(fetch, clock) };
}

/** Runs `sluice doctor` as a terminal does. */
export function openDoctor(fetch: Fetch, clock = createClock()) {
  return async (
    args: readonly string[],
    { columns = 80, env = {} as Record<string, string>, signal = new AbortController().signal } = {},
  ) => {
    let out = "";
    let err = "";
    const code = await run({
      args: ["doctor", ADDRESS, ...args],
      env: { GATEWAY_API_KEY: KEY, ...env },
      client: { fetch, clock },
      signal,
      input: async () => "",
      out: { columns, write: (text) => (out += text) },
      err: { write: (text) => (err += text) },
    });
    expect(out + err).not.toContain(KEY);
    return { code, out, err };
  };
}

/** Lists the names of the rows with a verdict. */
export function listNames(verdict: string, { rows }: Report): AssumptionName[] {
  return rows.filter((row) => row.verdict === verdict).map(({ name }) => name);
}
