import { errorFieldsOf, isRecord } from "../error-body.js";
import type { Client, RequestOptions } from "../http.js";
import { requestRecord } from "../json.js";
import { assertAccepted, type UncheckedRequest } from "../validate.js";
import { checkImageRequest, type ImageRequest } from "./schema.js";

/** An image takes minutes, and a sequence takes several times that. */
const HEADERS_MS = 600_000;

/** An image that was made. */
export interface GeneratedImage {
  /** Its temporary address. Fetch it without the gateway's headers, and keep a copy. */
  readonly url: string;
  /** `<width>x<height>`, in pixels. */
  readonly size?: string;
  readonly error?: undefined;
}

/** An image of a sequence that was not made. */
export interface FailedImage {
  readonly url?: undefined;
  readonly size?: undefined;
  readonly error: { readonly message: string; readonly code?: string; readonly type?: string };
}

/** What was generated, in the gateway's own field names. */
export interface ImageUsage {
  /** Images that were made. */
  readonly generated_images?: number;
  readonly output_tokens?: number;
  readonly total_tokens?: number;
}

/** The answer to an image request. */
export interface ImageResult {
  /** One entry per image, in the gateway's order; what failed stands where its image would: look at `error`. */
  readonly images: readonly (GeneratedImage | FailedImage)[];
  readonly usage?: ImageUsage;
  /** Unix seconds. */
  readonly created?: number;
  readonly model: string;
  /** The answer as it came. */
  readonly raw: unknown;
}

/**
 * Generates images and waits for all of them (spec, `POST /v1/images/generations`). Takes minutes: the default of
 * `timeouts.headersMs` is 10 min.
 *
 * A request that was refused with 429 is repeated. After any other failure it is not, because it may be billed: the
 * error's `outcome` says whether it may.
 *
 * @throws {ValidationError} when a rule of the model is broken; nothing was sent
 * @throws {APIError} when the gateway refuses
 * @throws {ConnectionError} when there was no answer, or it broke off
 * @throws {TimeoutError} phase `headers`, `chunk` or `total`
 * @throws {ResponseError} when the answer does not fit the spec; `path` names the field
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
export async function generateImages(
  client: Client,
  request: ImageRequest | UncheckedRequest,
  options: RequestOptions = {},
): Promise<ImageResult> {
  assertAccepted(request, checkImageRequest, client.warn, "generateImages(client, unchecked({ … }))");
  const { model } = request as ImageRequest;
  return requestRecord(
    client,
    {
      method: "post",
      path: "/v1/images/generations",
      model,
      body: request,
      headersMs: HEADERS_MS,
      repeat: "refused-only",
      read({ json, misfit }) {
        const path = misfitOf(json);
        if (path !== undefined) throw misfit(path);
        return resultOf(json as unknown as Wire, model);
      },
      summary: ({ usage }: ImageResult) => ({ ...(usage && { usage }) }),
    },
    options,
    "data",
  );
}

function resultOf(wire: Wire, asked: string): ImageResult {
  const { data, usage, created, model } = wire;
  return {
    images: data.map(imageOf),
    ...(usage && { usage }),
    ...(created != null && { created }),
    model: model || asked,
    raw: wire,
  };
}

interface Wire {
  readonly data: readonly { readonly url?: string | null; readonly size?: string | null }[];
  readonly usage?: ImageUsage | null;
  readonly created?: number | null;
  readonly model?: string | null;
}

function imageOf(entry: Wire["data"][number]): GeneratedImage | FailedImage {
  const { url, size } = entry;
  if (url) return size ? { url, size } : { url };
  const { message = "the gateway gave no image and no reason", code, type } = errorFieldsOf(entry) ?? {};
  return { error: { message, ...(code !== undefined && { code }), ...(type !== undefined && { type }) } };
}

/** The path of the first documented field that has another type than the spec gives it. */
function misfitOf({ data, usage, created, model }: Record<string, unknown>): string | undefined {
  if (!Array.isArray(data)) return "data";
  for (const [index, entry] of data.entries()) {
    if (!isRecord(entry)) return `data.${index}`;
    for (const name of ["url", "size"]) if (!isOf("string", entry[name])) return `data.${index}.${name}`;
  }
  if (!isOf("number", created)) return "created";
  if (!isOf("string", model)) return "model";
  if (usage == null) return undefined;
  if (!isRecord(usage)) return "usage";
  return ["generated_images", "output_tokens", "total_tokens"]
    .filter((name) => !isOf("number", usage[name]))
    .map((name) => `usage.${name}`)[0];
}

function isOf(type: "string" | "number", value: unknown): boolean {
  return value == null || typeof value === type;
}
