import { createSluice } from "@sluice/ai-sdk";
import { type ClientOptions, createClient } from "@sluice/core";
import { systemClock } from "@sluice/core/extend";
import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { chat, createProxy, images, videos } from "@sluice/worker-proxy";
import { expect, onTestFinished, vi } from "vitest";

/** Maximum wait that a test skips: a proxy asks for up to three seconds before a retry. */
const SHORT_MS = 3000;
const KEY = "sk-gateway-0123456789";
export const chatModels = ["alpha-v4.1-flash", "gamma-chat-1-6-251015", "delta-5.3"] as const;

/** Rule of the warning of a model that may ignore tools. */
export const TOOLS_UNLISTED = "chat.delta.tools-unlisted";

/** Routes to the gateway: with its key, as in a server, or through the Worker proxy, as in a page. */
export const routes = ["gateway", "proxy"] as const;

interface Opened {
  readonly emulator?: EmulatorOptions;
  readonly client?: Partial<ClientOptions>;
  /** The network between the client and its route. @default a network without losses */
  readonly network?: (request: Request, send: (request: Request) => Promise<Response>) => Promise<Response>;
  /** Rules of the client's warnings during the test. @default none */
  readonly warnings?: readonly string[];
}

/** Creates an emulator, and an AI SDK provider whose client reaches the emulator through `route`. */
export function open(
  route: (typeof routes)[number] = "gateway",
  { emulator, client, network = (request, send) => send(request), warnings = [] }: Opened = {},
) {
  const warned = new Set<string>();
  onTestFinished(() => expect([...warned]).toEqual(warnings));
  const gateway = createEmulator({
    speed: Infinity,
    apiKeys: [KEY],
    origin: "https://files.test",
    ...emulator,
  });
  const proxy = createProxy({
    baseURL: "https://gateway.test",
    apiKey: () => KEY,
    fetch: (request) => gateway.fetch(request),
    authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "nobody" }),
    origins: [],
    models: [
      ...chatModels,
      "gamma-image-5-0-260128",
      "gamma-image-4-0-250828",
      "beta3.0-video",
      "gamma-video-2.0",
    ],
    routes: [chat, images, videos],
    secret: () => "a secret of the proxy's own, of more than 32 letters",
  });
  const used = createClient({
    ...(route === "gateway"
      ? {
          baseURL: "https://gateway.test",
          apiKey: KEY,
          fetch: (request: Request) => network(request, (forwarded) => gateway.fetch(forwarded)),
        }
      : {
          baseURL: "https://proxy.test",
          headers: { authorization: "user-1" },
          fetch: (request: Request) =>
            request.url.startsWith("https://files.test/")
              ? gateway.fetch(request)
              : network(request, async (forwarded) => proxy.fetch(forwarded)),
        }),
    clock: {
      now: systemClock.now,
      sleep: async (ms, signal) => (ms > SHORT_MS ? systemClock.sleep(ms, signal) : undefined),
    },
    onEvent: (event) => event.type === "warning" && warned.add(event.issue.rule),
    ...client,
  });
  const listPaid = (path: string) =>
    gateway.requests.filter(
      ({ method, path: own, status = 500 }) => method === "POST" && own === path && status < 400,
    );
  return { gateway, client: used, sluice: createSluice(used), listPaid };
}

/** Keeps the log of a proxy out of the output, and returns its lines. */
export function watchLog(): () => string[] {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => log.mockRestore());
  return () => log.mock.calls.map(([line]) => String(line));
}
