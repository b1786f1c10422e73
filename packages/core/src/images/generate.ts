import type { RequestFor } from "../base/validate.js";
import type { Client } from "../client.js";
import { findErrorFields, findReason, isRecord } from "../transport/error-response.js";
import { readArchiveMs, readField, requestRecord } from "../transport/json-response.js";
import { repeatIfStored } from "../transport/repeat-stored.js";
import type { RequestOptions } from "../transport/send.js";
import type { ImageRequest, ImageRequests } from "./schema.js";
import { assertImageRequest } from "./schema.js";

/** Ten minutes: an image takes minutes, and a sequence several times that. */
const FIRST_CHUNK_MS = 600_000;
/** Assumed lifetime of a link, in milliseconds: the gateway reports none (wire, 3.14). */
const DAY_MS = 86_400_000;

/** A generated image. */
export interface GeneratedImage {
  /**
   * Temporary address of the image. Fetch it without the gateway's headers and store a copy. If the gateway sends the
   * image itself (`b64_json`), this is a `data:` URL, which does not expire.
   */
  readonly url: string;
  /** `<width>x<height>`, in pixels. */
  readonly size?: string;
  /**
   * Time at which `url` expires; Unix milliseconds. An estimate: 24 hours after the response. Absent without an
   * archive.
   */
  readonly expiresAt?: number;
  /**
   * Time until which the proxy's archive stores a copy; Unix milliseconds. Before it, `getArchivedMedia` returns a new
   * link for an expired `url`. Absent without an archive.
   */
  readonly storedUntil?: number;
  /** Absent for a generated image. */
  readonly error?: undefined;
}

/** An image of a sequence that failed. */
export interface FailedImage {
  /** Absent for a failed image. */
  readonly url?: undefined;
  /** Absent for a failed image. */
  readonly size?: undefined;
  /** Reason of the failure. */
  readonly error: {
    /** Message of the gateway. */
    readonly message: string;
    /** `error.code` of the gateway, as text. */
    readonly code?: string;
    /** `error.type` of the gateway. */
    readonly type?: string;
  };
}

/** Counts of the response, in the gateway's own field names. */
export interface ImageUsage {
  /** Generated images. */
  readonly generated_images?: number;
  /** Tokens of the images. */
  readonly output_tokens?: number;
  /** All tokens of the request. */
  readonly total_tokens?: number;
}

/** The response to an image request. */
export interface ImageResult {
  /** Images in the gateway's order. A failed image has an `error` instead of a `url`. */
  readonly images: readonly (GeneratedImage | FailedImage)[];
  /** Counts of the response; absent if the gateway did not report them. */
  readonly usage?: ImageUsage;
  /** Time of the response; Unix seconds. */
  readonly created?: number;
  /** Model that generated the images. The request's model if the response names none. */
  readonly model: string;
  /** The gateway's response, unchanged. */
  readonly raw: unknown;
}

/**
 * Generates images and waits for all of them (spec, `POST /v1/images/generations`). This takes minutes, so
 * `timeout.firstChunkMs` defaults to 10 minutes.
 *
 * The client repeats the request after a 429, which is not billed. It repeats it after other failures only behind a
 * proxy with `idempotency()`. The error's `billing` shows if the request may be billed.
 *
 * @throws {ValidationError} when a rule of the model is broken; nothing was sent
 * @throws {APIError} when the gateway refuses
 * @throws {ConnectionError} when no response came, or the connection broke
 * @throws {TimeoutError} phase `first-chunk`, `chunk` or `total`
 * @throws {ResponseError} when the response lacks a list of images. Other unreadable fields are warnings
 * @example
 * ```ts
 * const { images } = await generateImages(client, {
 *   model: "gamma-image-5-0-260128",
 *   prompt: "A reef at dawn",
 *   size: "2048x2048",
 * });
 * for (const { url, error } of images) console.log(url ?? error.message);
 * ```
 */
export async function generateImages<const Model extends string, Checks extends boolean = true>(
  client: Client,
  request: RequestFor<Model, ImageRequests, Checks>,
  options: RequestOptions<Checks> = {},
): Promise<ImageResult> {
  return requestRecord(
    client,
    {
      method: "post",
      kind: "image",
      path: "/v1/images/generations",
      subject: request,
      body() {
        assertImageRequest(client, request, options);
        return request;
      },
      firstChunkMs: FIRST_CHUNK_MS,
      repeats: repeatIfStored,
      read({ json, mismatch, headers }) {
        if (!Array.isArray(json.data)) throw mismatch("data");
        const result = parseResult(client, { ...json, data: json.data }, request as ImageRequest);
        const storedMs = readArchiveMs(headers);
        if (storedMs === undefined) return result;
        const now = Date.now();
        const times = { expiresAt: now + DAY_MS, storedUntil: now + storedMs };
        return {
          ...result,
          // a data: URL never expires
          images: result.images.map((image) =>
            image.url?.startsWith("http") ? { ...image, ...times } : image,
          ),
        };
      },
      summary: ({ usage, model }: ImageResult) => ({ usage, model }),
    },
    options,
    "data",
  );
}

interface ResponseBody extends Record<string, unknown> {
  readonly data: readonly unknown[];
}

function parseResult(client: Client, raw: ResponseBody, request: ImageRequest): ImageResult {
  const usage = readField(client, "usage", "object", raw.usage);
  const created = readField(client, "created", "number", raw.created);
  return {
    images: raw.data.map((entry, index) => parseImage(client, entry, `data.${index}`, request)),
    ...(usage && { usage: readUsage(client, usage) }),
    ...(created !== undefined && { created }),
    model: readField(client, "model", "string", raw.model) || request.model,
    raw,
  };
}

function parseImage(
  client: Client,
  entry: unknown,
  path: string,
  request: object,
): GeneratedImage | FailedImage {
  const fields: Record<string, unknown> = isRecord(entry) ? entry : { url: entry };
  const readText = (name: string) => readField(client, `${path}.${name}`, "string", fields[name]);
  const url = readText("url") || createDataURL(readText("b64_json"), request);
  const size = readText("size");
  if (url) return size ? { url, size } : { url };
  const { code, type } = findErrorFields(entry) ?? {};
  const message = findReason([entry, fields.fail_reason]) ?? "the gateway gives no reason";
  return { error: { message, ...(code !== undefined && { code }), ...(type !== undefined && { type }) } };
}

/** Formats by the start of their Base64. `files/signatures` has more, but adds 0.7 kB to each page with images. */
const BASE64_PREFIXES: readonly [RegExp, type: string][] = [
  [/^iVBORw0KGg/, "png"],
  [/^\/9j\//, "jpeg"],
  [/^R0lGOD/, "gif"],
  [/^UklGR/, "webp"],
  [/^.{6}Z0eXBhdml/, "avif"],
];

/** Creates a data URL from the Base64 of an image. Its type is that of the first bytes, or else the requested type. */
function createDataURL(
  base64: string | undefined,
  request: { readonly output_format?: unknown },
): string | undefined {
  if (!base64 || /^data:/i.test(base64)) return base64;
  const text = base64.replace(/\s+/g, "");
  const [, detected] = BASE64_PREFIXES.find(([prefix]) => prefix.test(text)) ?? [];
  return `data:image/${detected ?? request.output_format ?? "png"};base64,${text}`;
}

const COUNTS = ["generated_images", "output_tokens", "total_tokens"];

function readUsage(client: Client, usage: object): ImageUsage {
  const isReadable = ([name, value]: [string, unknown]) =>
    !COUNTS.includes(name) || readField(client, `usage.${name}`, "number", value) !== undefined;
  return Object.fromEntries(Object.entries(usage).filter(isReadable));
}
