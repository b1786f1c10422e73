import {
  assertAccepted,
  type CheckOptions,
  type CheckResult,
  checkByModel,
  emitWarnings,
  type RequestsOf,
  type Rules,
  type Warn,
} from "../../base/validate.js";
import { isPublicHTTP } from "../../base/web-address.js";
import { isRecord } from "../../transport/error-response.js";
import type { Connection } from "../../transport/send.js";
import { type VideoModel, videoModels } from "../../types/media-models.js";
import { betaVideoRequest, warnOfBeta } from "./beta.js";
import { gammaVideo10ProFastRequest, gammaVideo15ProRequest, warnOfPro } from "./gamma-1.js";
import { gammaVideo20Request, gammaVideoFastRequest, warnOfGamma2 } from "./gamma-2.js";

declare const process: { readonly env: { readonly NODE_ENV?: string } };

/**
 * Schema of a request to each video model.
 */
export const videoRequests = {
  /** Request to `beta3.0-video` (spec, Family `beta`). */
  "beta3.0-video": betaVideoRequest,
  /** Request to `beta3.0-video-prime` (spec, Family `beta`). */
  "beta3.0-video-prime": betaVideoRequest,
  /** Request to `gamma-video-1-5-pro-251215` (spec, Family `gamma-video-1-5-pro-251215`). */
  "gamma-video-1-5-pro-251215": gammaVideo15ProRequest,
  /** Request to `gamma-video-1-0-pro-fast-251015` (spec, Family `gamma-video-1-0-pro-fast-251015`). */
  "gamma-video-1-0-pro-fast-251015": gammaVideo10ProFastRequest,
  /** Request to `gamma-video-2.0` (spec, Family `gamma-video-2.0`). */
  "gamma-video-2.0": gammaVideo20Request,
  /** Request to `gamma-video-fast` (spec, Family `gamma-video-2.0`). */
  "gamma-video-fast": gammaVideoFastRequest,
} as const;

/** The request of each video model. */
export type VideoRequests = RequestsOf<typeof videoRequests>;

/** Request of `createVideoTask`, discriminated by `model`; the gateway's own field names. */
export type VideoRequest = VideoRequests[VideoModel];

const rules: Rules = { resource: "video", models: videoModels, schemas: videoRequests };

/**
 * Checks a video request by the rules of its model, without sending anything.
 *
 * @returns `issues`: reasons why the gateway would reject the request. `warnings`: parts that it would ignore
 */
export function checkVideoRequest(request: unknown): CheckResult {
  return checkByModel(request, rules, addWarnings);
}

/**
 * Checks a request as `createVideoTask` does, for an add-on that uploads files before it sends the request. Emits the
 * warnings in development. `checks: false` accepts any request.
 *
 * @throws {ValidationError} if the request breaks a rule
 * @example
 * ```ts
 * assertVideoRequest(client, { model: "beta3.0-video", input: { prompt: "A reef at dawn" } });
 * ```
 */
export function assertVideoRequest(
  { baseURL, warn }: Pick<Connection, "baseURL" | "warn">,
  request: unknown,
  options?: CheckOptions,
): void {
  // The schema refuses local URLs. Files of a local proxy have local URLs that its gateway can reach: check them as public
  const isLocal = !isPublicHTTP(baseURL);
  const checked = isLocal ? replacePrefix(request, `${baseURL}/v1/media/`, "https://file.invalid/") : request;
  assertAccepted(checked, rules, options);
  try {
    if (process.env.NODE_ENV !== "production" && options?.checks !== false)
      emitWarnings(checked as VideoRequest, rules, addWarnings, warn);
  } catch {}
}

/** Replaces the start of all texts in a request. */
function replacePrefix(value: unknown, prefix: string, replacement: string): unknown {
  if (typeof value === "string")
    return value.startsWith(prefix) ? replacement + value.slice(prefix.length) : value;
  if (Array.isArray(value)) return value.map((item) => replacePrefix(item, prefix, replacement));
  if (!isRecord(value) || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).map(([name, field]) => [
    name,
    replacePrefix(field, prefix, replacement),
  ]);
  return Object.fromEntries(entries);
}

function addWarnings(request: VideoRequest, warn: Warn): void {
  switch (request.model) {
    case "beta3.0-video":
    case "beta3.0-video-prime":
      return warnOfBeta(request, warn);
    case "gamma-video-1-5-pro-251215":
      return warnOfPro(request, warn);
    case "gamma-video-2.0":
    case "gamma-video-fast":
      return warnOfGamma2(request, warn);
  }
}
