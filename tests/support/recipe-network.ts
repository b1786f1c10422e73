import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { vi } from "vitest";

export const GATEWAY_KEY = "sk-recipes";

/** A Worker's entry, as a recipe exports it. */
export interface Worker {
  fetch(request: Request, env: object, context?: object): Promise<Response>;
}

type Host = (request: Request) => Response | Promise<Response>;

/**
 * The network of a recipe: `gateway.example.com` is the emulator, and each other host is one of `hosts`. Restore it with
 * `vi.unstubAllGlobals()`.
 */
export function openNetwork(hosts: Readonly<Record<string, Host>> = {}, options: EmulatorOptions = {}) {
  const emulator = createEmulator({
    apiKeys: [GATEWAY_KEY],
    speed: Number.POSITIVE_INFINITY,
    ...options,
  });
  vi.stubGlobal("fetch", async (input: Request | string, init?: RequestInit) => {
    const request = new Request(input, init);
    const { host } = new URL(request.url);
    const respond = host === "gateway.example.com" ? emulator.fetch : hosts[host];
    if (!respond) throw new TypeError(`No server is at ${host}.`);
    return respond(request);
  });
  return emulator;
}

/** Creates a Worker's context. `settled` waits for everything passed to `waitUntil`. */
export function createContext() {
  const work: unknown[] = [];
  return {
    waitUntil: (promise: unknown) => void work.push(promise),
    settled: async () => void (await Promise.allSettled(work)),
  };
}

/** A chat request, as the page's client sends it. */
export function createChatRequest(text: string, headers: Readonly<Record<string, string>> = {}, path = "") {
  const body = JSON.stringify({ model: "delta-5.3", messages: [{ role: "user", content: text }] });
  return new Request(`https://gateway-proxy.example.workers.dev${path}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
}
