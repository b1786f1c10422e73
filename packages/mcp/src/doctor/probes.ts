import type { Exchange, Probe } from "./send.js";

/** The requests that no server charges: without a key, without a required field, or for an unknown id. */
const free = {
  root: { method: "GET", path: "/", key: "none" },
  health: { method: "GET", path: "/health", key: "none" },
  unknownGet: { method: "GET", path: "/sluice-doctor/unknown", key: "own" },
  unknownPost: { method: "POST", path: "/sluice-doctor/unknown", key: "own", body: {} },
  unknownInV1: { method: "POST", path: "/v1/sluice-doctor/unknown", key: "own", body: {} },
  chatNoKey: { method: "POST", path: "/v1/chat/completions", key: "none", body: {} },
  chat: { method: "POST", path: "/v1/chat/completions", key: "own", body: {} },
  chatWrongKey: { method: "POST", path: "/v1/chat/completions", key: "wrong", body: {} },
  image: { method: "POST", path: "/v1/images/generations", key: "own", body: {} },
  video: { method: "POST", path: "/v1/video/generations", key: "own", body: {} },
  task: { method: "GET", path: "/v1/video/generations/sluice-doctor-unknown", key: "own" },
  taskDelete: { method: "DELETE", path: "/v1/video/generations/sluice-doctor-unknown", key: "own" },
  asset: { method: "POST", path: "/gamma/asset/CreateAsset", key: "own", body: {} },
  assetForm: {
    method: "POST",
    path: "/gamma/asset/CreateAsset",
    key: "own",
    body: { Doctor: "1" },
    isForm: true,
  },
  assetLookup: {
    method: "POST",
    path: "/gamma/asset/GetAsset",
    key: "own",
    body: { Id: "sluice-doctor-unknown" },
  },
  epsilon: { method: "GET", path: "/epsilon/v1/videos/sluice-doctor-unknown", key: "own" },
} as const satisfies Readonly<Record<string, Probe>>;

/** Probes that are skipped for a server that accepts an empty chat: it may bill an empty image or video. */
export const emptyMedia: readonly string[] = ["image", "video", "asset", "assetForm"] satisfies FreeName[];

/** Requests for a Worker. Even if the Worker does not refuse them, no gateway charges a request without a message. */
const worker = {
  foreignPage: {
    method: "POST",
    path: "/v1/chat/completions",
    key: "own",
    headers: { origin: "https://sluice-doctor.invalid" },
    body: {},
  },
  unlistedModel: {
    method: "POST",
    path: "/v1/chat/completions",
    key: "own",
    body: { model: "sluice-doctor-unknown", messages: [] },
  },
} as const satisfies Readonly<Record<string, Probe>>;

type FreeName = keyof typeof free;

/** Name of a request. */
export type ProbeName = FreeName | keyof typeof worker | `preflight ${string}` | `limit ${string}`;

/** Responses by the name of their request. */
export type Exchanges = Readonly<Partial<Record<ProbeName, Exchange>>> & Readonly<Record<FreeName, Exchange>>;

export const freeProbes: Readonly<Record<FreeName, Probe>> = free;

/** Chat models. A Worker that lists one of them shows its limit of tokens. */
const CHAT_MODELS = ["alpha-v4.1-flash", "gamma-chat-1-6-251015", "delta-5.3"];

/** Lists the requests for a Worker. `origins` are the user's own pages. */
export function listWorkerProbes(origins: readonly string[]): readonly (readonly [ProbeName, Probe])[] {
  const path = "/v1/chat/completions";
  return [
    ...(Object.entries(worker) as [ProbeName, Probe][]),
    ...origins.map((origin): [ProbeName, Probe] => [
      `preflight ${origin}`,
      {
        method: "OPTIONS",
        path,
        key: "none",
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization, content-type, idempotency-key",
        },
      },
    ]),
    ...CHAT_MODELS.map((model): [ProbeName, Probe] => [
      `limit ${model}`,
      { method: "POST", path, key: "own", body: { model, messages: [], max_tokens: 1_000_000_000 } },
    ]),
  ];
}
