/**
 * Names that examples use without a declaration: the source of a module that declares them for all but the first block
 * of a page.
 */
export const imagined = `
import type { Asset, AssetHandle, ChatDelta, ChatRequestMessage, Client, StandardSchema, VideoTaskHandle } from "@sluice/core";
import type { ChatStorage, ImageStore, VideoTaskStore } from "@sluice/stores";
import type { toDataURI } from "@sluice/media";
import type { Emulator } from "@sluice/emulator";
import type { ProxyPlugin, GatewayProxy, ProxyOptions, RateLimitBinding, User } from "@sluice/worker-proxy";
import type { Bucket } from "@sluice/durable";
import type { DurableObjectNamespace } from "@sluice/durable/cloudflare";
import type { SluiceProvider } from "@sluice/ai-sdk";
import type { FunctionComponent, ReactNode } from "react";
declare global {
  interface Env {
    GATEWAY_API_KEY: string; PROXY_SECRET: string; RATE_LIMITER: RateLimitBinding; POLL_LIMITER: RateLimitBinding;
    AI_GATEWAY_TOKEN: string; SETTINGS: { get<T>(name: string, options: object): Promise<T | null> };
    SLUICE: DurableObjectNamespace;
    MEDIA: Bucket;
    WEBHOOK_URL: string; WEBHOOK_SECRET: string;
    PAUSED?: string;
  }
  const options: ProxyOptions<Env>;
  const proxy: GatewayProxy<Env>;
  const isCustomer: (user: string, env: Env) => Promise<boolean>;
  const env: Env;
  const plugins: readonly ProxyPlugin<Env>[];
  const userOfSession: (request: Request, env: Env) => Promise<User | null>;
  const isOperator: (request: Request, env: Env) => Promise<boolean>;

  const client: Client;
  const emulator: Emulator;
  const sluice: SluiceProvider;
  const storage: ChatStorage;
  const zodSchema: StandardSchema<{ city: string }>;
  const handle: VideoTaskHandle & AssetHandle;
  const request: never;
  const images: ImageStore;
  const video: VideoTaskStore;
  const deltas: readonly ChatDelta[];
  const saved: readonly ChatRequestMessage[];
  const uploads: Map<string, Blob>;
  const file: File, clip: File, song: File;
  const signal: AbortSignal;
  const input: { readonly files: FileList };
  const user: { readonly name: string };

  const lookUp: (city: string, signal: AbortSignal) => Promise<object>;
  const onProgress: NonNullable<NonNullable<Parameters<typeof toDataURI>[1]>["onProgress"]>;
  const show: (...shown: unknown[]) => void;
  const render: (...shown: unknown[]) => void;
  const wait: (ms: number | undefined) => void;
  const unwrapOurs: (raw: unknown) => unknown;
  const useQuery: (options: object) => { data: unknown };
  const App: FunctionComponent;
  const root: { render(node: ReactNode): void };
}
`;

/** Globals of the hosts that examples are for: the source of a module that declares them. */
export const hosts = `
import type { ProxyContext } from "@sluice/worker-proxy";
declare global {
  type ExecutionContext = ProxyContext;
  const Deno: { serve(handler: (request: Request) => Promise<Response>): void };
  const Bun: { serve(options: { fetch: (request: Request) => Promise<Response> }): void };
  interface Event { readonly request: Request; respondWith(response: Promise<Response>): void }
}
`;

/** Files that readers have besides the files of a page. */
export const imaginedFiles: Readonly<Record<string, string>> = {
  "sign-in.ts": `export const findUser = (_: Request) => ({ id: "ada" });\n`,
  "options.ts": `import type { ProxyOptions } from "@sluice/worker-proxy";
export interface Env { GATEWAY_API_KEY: string; PROXY_SECRET: string; JWT_SECRET: string }
export const options: ProxyOptions<Env> = {
  baseURL: "https://gateway.example.com",
  apiKey: (env) => env.GATEWAY_API_KEY,
  authenticate: () => ({ id: "ada" }),
  origins: ["https://app.example.com"],
  models: { "delta-5.3": { max_tokens: 8192 } },
};
`,
  "env.ts": `export const env = {
  get GATEWAY_API_KEY() { return process.env["GATEWAY_API_KEY"] ?? ""; },
  get PROXY_SECRET() { return process.env["PROXY_SECRET"] ?? ""; },
  get JWT_SECRET() { return process.env["JWT_SECRET"] ?? ""; },
};
`,
  "my-host.ts": `import type { Host } from "@sluice/worker-proxy";\nexport declare const openMyHost: (store: string) => Promise<Host & { close(): Promise<void> }>;\n`,
  "my-storage.ts": `import type { RecordStorage } from "@sluice/core";\nexport declare const openMyStorage: () => RecordStorage;\n`,
  "recorded.ts": `import type { RecordStorage } from "@sluice/core";\nexport declare const recorded: (calls: string[]) => RecordStorage;\n`,
  "auth.ts": `export const auth = async (): Promise<{ user?: { id?: string } } | null> => ({ user: { id: "ada" } });\n`,
};
