import type { ImageModelV4, ImageModelV4CallOptions, ImageModelV4Result, JSONObject } from "@ai-sdk/provider";
import {
  type Client,
  type GeneratedImage,
  generateImages,
  type ImageResult,
  isGatewayError,
} from "@sluice/core";
import { describeThrown } from "@sluice/core/extend";
import { type Call, toCallError } from "../base/call-error.js";
import { toRequestOptions } from "../base/call-options.js";
import { NAME } from "../base/provider-options.js";
import { readRequestId, type WatchedCall, watchCall } from "../base/watch-call.js";
import { toRequest } from "./request.js";

/** Path of image requests (spec, Endpoints). */
const PATH = "/v1/images/generations";
/**
 * Maximum number of images in one call. The SDK loses all images of several calls if one call fails. In one call, the
 * other images stay.
 */
const MAX_IMAGES = 100;

/** Creates the image model with this id. */
export function createImageModel(client: Client, modelId: string): ImageModelV4 {
  return {
    specificationVersion: "v4",
    provider: `${NAME}.image`,
    modelId,
    maxImagesPerCall: MAX_IMAGES,
    supportsFileInputs: true,
    supportsMaskInputs: false,
    async doGenerate(options) {
      const { body, checks, warnings } = await toRequest(modelId, options);
      const call: Call = { client, path: PATH, body };
      const { results, problems } = await generateAll(call, options.n, async () => {
        const watched = watchCall(client);
        const requestOptions = { ...toRequestOptions(options), checks };
        const result = await generateImages(watched.client, body, requestOptions);
        return { ...result, watched };
      });
      const [first] = results;
      const downloaded = await downloadAll(call, results, options);
      return {
        images: downloaded.images,
        // images were paid: a retry would create and bill them again
        isRetryable: false,
        warnings: [
          ...warnings,
          // all requests are equal, so one set of warnings is enough
          ...(first?.watched.warnings ?? []),
          ...[...problems, ...downloaded.problems].map((message) => ({ type: "other" as const, message })),
        ],
        providerMetadata: { [NAME]: { images: downloaded.metadata } },
        response: {
          timestamp: first?.created ? new Date(first.created * 1000) : new Date(),
          modelId: first?.model ?? modelId,
          headers: first?.watched.headers,
        },
        usage: sumUsage(results),
      };
    },
  };
}

/** The result of one request, with its client. */
type SentResult = ImageResult & { readonly watched: WatchedCall };

/**
 * Sends one request for each image.
 *
 * @throws the first error of a request that may be billed, else the first error, if all requests failed
 */
async function generateAll(call: Call, n: number, generate: () => Promise<SentResult>) {
  const outcomes = await Promise.allSettled(Array.from({ length: n }, generate));
  const results = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  const errors: unknown[] = outcomes.flatMap((outcome) =>
    outcome.status === "rejected" ? [outcome.reason] : [],
  );
  // the SDK reads one error to decide if it may send all requests again
  if (results.length === 0) throw toCallError(call, errors.find(mayBeBilled) ?? errors[0]);
  return { results, problems: errors.map((error) => `1 of ${n} requests failed: ${describeThrown(error)}`) };
}

interface DownloadedImages {
  readonly images: Uint8Array[];
  /** Metadata of each image in the same order, then of the images that could not be downloaded. */
  readonly metadata: JSONObject[];
  readonly problems: readonly string[];
}

/**
 * Downloads the files of all images.
 *
 * @throws an error with the links, if no image could be read
 */
async function downloadAll(
  call: Call,
  results: readonly SentResult[],
  { abortSignal }: ImageModelV4CallOptions,
): Promise<DownloadedImages> {
  const all = results.flatMap(({ images, watched }) =>
    images.map((image) => ({ ...image, ...readRequestId(watched) })),
  );
  const generated = all.filter((image): image is GeneratedImage => image.url !== undefined);
  const { fetchMedia } = await import("@sluice/media");
  const download = async (url: string) => {
    const file = await fetchMedia(call.client, url, { signal: abortSignal });
    return new Uint8Array(await file.arrayBuffer());
  };
  const outcomes = await Promise.allSettled(generated.map(({ url }) => download(url)));
  const images = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  const failures = outcomes.flatMap((outcome, index) =>
    outcome.status === "rejected" ? [{ url: generated[index]?.url, error: outcome.reason as unknown }] : [],
  );
  if (images.length === 0 && failures.length > 0)
    // only the download failed, but another call would be paid again
    throw toCallError({ ...call, hasResult: true }, failures[0]?.error, {
      billing: "maybe",
      urls: generated.map(({ url }) => url),
    });
  const listMetadata = (status: string) =>
    generated
      .filter((_, index) => outcomes[index]?.status === status)
      .map((image): JSONObject => ({ ...image }));
  return {
    images,
    metadata: [...listMetadata("fulfilled"), ...listMetadata("rejected")],
    problems: [
      ...all.flatMap(({ error }) => (error ? [`an image was not made: ${error.message}`] : [])),
      ...failures.map(
        ({ url, error }) => `an image was made, and could not be read from ${url}: ${describeThrown(error)}`,
      ),
    ],
  };
}

function sumUsage(results: readonly ImageResult[]): NonNullable<ImageModelV4Result["usage"]> {
  const sum = (name: "output_tokens" | "total_tokens") => {
    const counts = results.flatMap(({ usage }) => usage?.[name] ?? []);
    return counts.length > 0 ? counts.reduce((all, count) => all + count) : undefined;
  };
  return { inputTokens: undefined, outputTokens: sum("output_tokens"), totalTokens: sum("total_tokens") };
}

function mayBeBilled(error: unknown): boolean {
  return isGatewayError(error) && error.billing === "maybe";
}
