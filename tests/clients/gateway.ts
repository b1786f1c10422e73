import { createEmulator, type EmulatorRequest } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import {
  adaptJSONSchema,
  adaptOpenAI,
  chat,
  createProxy,
  images,
  type ProxyOptions,
  readStreams,
} from "@sluice/worker-proxy";
import type { Endpoint } from "./endpoints.ts";

/** The models of the chat endpoint, as the specification writes them. */
export const chatModels = ["alpha-v4.1-flash", "gamma-chat-1-6-251015", "delta-5.3"] as const;

const imageModels = ["gamma-image-4-0-250828", "gamma-image-5-0-260128"] as const;

const proxyOptions: Readonly<Record<Endpoint, Pick<ProxyOptions, "plugins">>> = {
  emulator: {},
  proxy: { plugins: [adaptOpenAI()] },
  "adapting proxy": { plugins: [adaptJSONSchema(), adaptOpenAI(), readStreams()] },
};

export interface Gateway {
  /** The address that an OpenAI-style client is given, `http://127.0.0.1:…/v1`. */
  readonly baseURL: string;
  readonly apiKey: string;
  readonly requests: readonly EmulatorRequest[];
  readonly close: () => Promise<void>;
}

const KEY = "sk-gateway";
const USER = "sk-user-1";

/** The emulator on its own port and, on request, a proxy in front of it on another port. */
export async function openGateway(endpoint: Endpoint): Promise<Gateway> {
  const options: { apiKeys: string[]; speed: number; origin?: string } = {
    apiKeys: [KEY],
    speed: Number.POSITIVE_INFINITY,
  };
  const emulator = createEmulator(options);
  const served = await serve(emulator, { port: 0 });
  const { requests } = emulator;
  if (endpoint === "emulator")
    return { baseURL: `${served.url}/v1`, apiKey: KEY, requests, close: served.close };

  const proxy = createProxy({
    baseURL: served.url,
    apiKey: () => KEY,
    authenticate: (request) =>
      request.headers.get("authorization") === `Bearer ${USER}` ? { id: "user-1" } : null,
    origins: [],
    models: [...chatModels, ...imageModels],
    routes: [chat, images],
    ...proxyOptions[endpoint],
  });
  const front = await serve(
    {
      // the gateway's files have a separate address and bypass the proxy
      fetch: (request) =>
        new URL((request as Request).url).pathname.startsWith("/files/")
          ? emulator.fetch(request)
          : proxy.fetch(request as Request, {}),
    },
    { port: 0 },
  );
  options.origin = front.url;
  return {
    baseURL: `${front.url}/v1`,
    apiKey: USER,
    requests,
    close: async () => void (await Promise.all([front.close(), served.close()])),
  };
}
