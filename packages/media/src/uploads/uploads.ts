import type { MediaUploader, VideoRequest } from "@sluice/core";
import type { MediaParser } from "../checks/container.js";

/** Options of {@link uploads}. */
export interface UploadsOptions {
  /**
   * Checks the files and data URIs of a video request with `checkRequestMedia` before it is stored or sent.
   * @default true
   */
  readonly check?: boolean;
  /** Measures videos and audio files for the check: `mediabunny` of `@sluice/media/mediabunny`. @default none */
  readonly parser?: MediaParser | undefined;
}

/**
 * Checks and uploads the files of requests: `createClient({ uploads: uploads() })`. A request may contain a `File` or
 * `Blob` in place of a URL. `uploadMedia` stores it before the request is sent. The code is loaded with the first file.
 * Needs a proxy with `fileStore()` of `@sluice/durable`.
 *
 * @example
 * ```ts
 * const client = createClient({ baseURL: "/api", uploads: uploads() });
 * const video = createVideoTaskStore(client);
 * await video.create({
 *   model: "beta3.0-video",
 *   input: { prompt: "A reef at dawn", media: [{ type: "first_frame", url: input.files[0] }] },
 * });
 * ```
 */
export function uploads({ check = true, parser }: UploadsOptions = {}): MediaUploader {
  return Object.freeze<MediaUploader>({
    async upload(client, file, options) {
      const { uploadMedia } = await import("./upload-lazy.js");
      return uploadMedia(client, file, options);
    },
    check: check ? checkFiles : undefined,
  });

  // a request without media does not load the code of the check
  async function checkFiles(request: VideoRequest, { signal }: { readonly signal: AbortSignal }) {
    if (!hasMedia(request)) return [];
    const { checkWherePossible } = await import("../checks/check-lazy.js");
    return checkWherePossible(request, { signal, parser });
  }
}

function hasMedia(request: VideoRequest): boolean {
  const { input, content } = request as {
    readonly input?: { readonly media?: readonly unknown[] } | undefined;
    readonly content?: readonly { readonly type: string }[] | undefined;
  };
  return (input?.media?.length ?? 0) > 0 || !!content?.some(({ type }) => type !== "text");
}
