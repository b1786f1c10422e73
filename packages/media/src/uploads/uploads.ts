import type { MediaUploader, VideoRequest } from "@sluice/core";
import type { MediaParser } from "../checks/container.js";

/** Options of {@link uploads}. */
export interface UploadsOptions {
  /**
   * Final check of a video request before it is stored or sent, in place of the built-in check: `checkRequestMedia`
   * with options, or a function of the app. Issues and errors of the check refuse the request. `false` disables it.
   *
   * @default the limits of each readable file and data URI. `parser` measures videos and audio files
   */
  readonly check?: MediaUploader["check"] | false;
  /** Measures videos and audio files for the built-in check: `mediabunny` of `@sluice/media/mediabunny`. @default none */
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
export function uploads({ check, parser }: UploadsOptions = {}): MediaUploader {
  return Object.freeze<MediaUploader>({
    async upload(client, file, options) {
      const { uploadMedia } = await import("./upload-lazy.js");
      return uploadMedia(client, file, options);
    },
    check: check === false ? undefined : (check ?? checkFiles),
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
