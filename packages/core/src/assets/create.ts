import type { RequestFor } from "../base/validate.js";
import type { Client } from "../client.js";
import { findId, requestRecord } from "../transport/json-response.js";
import { repeatIfStored } from "../transport/repeat-stored.js";
import type { RequestOptions } from "../transport/send.js";
import type { AssetHandle } from "../types/asset.js";
import type { AssetRequest } from "./schema.js";
import { assertAssetRequest } from "./schema.js";
import { createAssetHandle } from "./watch.js";

/** Five minutes: the image is part of the request's body. */
const FIRST_CHUNK_MS = 300_000;

/** Options of `createAsset`. */
export interface CreateAssetOptions<Checks extends boolean = boolean> extends RequestOptions<Checks> {
  /**
   * Encoding of a `File` or `Blob`. `"data-uri"`: text in JSON, a third larger than the file. `"multipart"`:
   * `multipart/form-data` with the same field names. The spec names both encodings, but does not show the layout of
   * `multipart`: ours is an assumption.
   *
   * @default "data-uri"
   */
  readonly encoding?: "data-uri" | "multipart" | undefined;
}

/**
 * Registers an image in an asset group (spec, POST /gamma/asset/CreateAsset). Requests may use the asset once it is
 * active: see `watchAsset`.
 *
 * The client repeats the request after a 429, which means that nothing was registered. It repeats it after other
 * failures only behind a proxy with `idempotency()`. The error's `billing` shows if the asset may exist.
 *
 * @throws {ValidationError} when a rule is broken; nothing was sent
 * @throws {APIError} when the gateway refuses
 * @throws {ConnectionError} when no response came, or the connection broke
 * @throws {TimeoutError} phase `first-chunk`, `chunk` or `total`
 * @throws {ResponseError} when the response lacks an `Id`
 * @example
 * ```ts
 * const { uri } = await createAsset(client, {
 *   model: "gamma-asset",
 *   GroupId: "group-1",
 *   Name: "hero",
 *   AssetType: "Image",
 *   URL: input.files[0],
 * });
 * ```
 */
export async function createAsset<const Model extends string, Checks extends boolean = true>(
  client: Client,
  request: RequestFor<Model, { readonly "gamma-asset": AssetRequest }, Checks>,
  { encoding = "data-uri", ...options }: CreateAssetOptions<Checks> = {},
): Promise<AssetHandle> {
  return requestRecord(
    client,
    {
      method: "post",
      kind: "asset",
      path: "/gamma/asset/CreateAsset",
      subject: request,
      body() {
        assertAssetRequest(client, request, options);
        return createBody(request as Partial<AssetRequest>, encoding, options);
      },
      firstChunkMs: FIRST_CHUNK_MS,
      repeats: repeatIfStored,
      read(response) {
        const id = findId(response, "Id", "id");
        if (id === undefined) throw response.mismatch("Id");
        return createAssetHandle(id);
      },
    },
    options,
    "Id",
    "id",
  );
}

async function createBody(
  request: Partial<AssetRequest>,
  encoding: "data-uri" | "multipart",
  { signal }: RequestOptions,
): Promise<unknown> {
  const { URL: image, ...fields } = request;
  if (!(image instanceof Blob)) return request;
  if (encoding === "data-uri") return { ...fields, URL: await encodeImage(image, signal) };
  // assumed layout (wire, 1.71)
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value));
  form.append("URL", image);
  return form;
}

/** Creates a data URI. A file without a type becomes plain Base64, which the spec also allows. */
async function encodeImage(image: Blob, signal: AbortSignal | undefined): Promise<string> {
  const { toDataURI } = await import("../files/data-uri-later.js");
  const uri = await toDataURI(image, signal && { signal });
  return image.type ? uri : uri.slice(uri.indexOf(",") + 1);
}
