import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import type { assumptions } from "@sluice/emulator/assumptions";
import { expect } from "vitest";
import { run } from "../../src/command/run.js";
import type { Report } from "../../src/doctor/diagnose.js";

export const KEY = "sk-canary-0123456789abcdef";
export const ADDRESS = "https://gateway.example.com";

export type Fetch = (request: Request) => Promise<Response>;

/** A clock that moves when someone waits. */
export function createClock() {
  let now = Date.UTC(2026, 0, 1);
  const sleep = async (ms: number) => {
    now += ms;
  };
  return { now: () => now, sleep };
}

export function openEmulator(options: EmulatorOptions = {}) {
  const clock = createClock();
  const emulator = createEmulator({ apiKeys: [KEY], clock, ...options });
  return { emulator, doctor: openDoctor(emulator.fetch, clock) };
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

/** Names of the rows with a verdict. */
export function listNames(verdict: string, { rows }: Report): (keyof typeof assumptions)[] {
  return rows.filter((row) => row.verdict === verdict).map(({ name }) => name);
}
