import type { MediaUploader, VideoRequest } from "@sluice/core";

/** Options of {@link uploads}. */
export interface UploadsOptions {
  /**
   * Last check of a video request before it is stored or sent, in place of the built-in one: `checkVideoMedia` with options,
   * or the app's own. Issues, and errors that it throws, refuse the request. `false` switches the check off.
   *
   * @default the limits of each file and data URI that can be read. Videos and audio files are measured only after
   * `measureWith`
   */
  readonly check?: MediaUploader["check"] | false;
}

/**
 * Lets the stores of a client take files: `createClient({ uploads: uploads() })`. A `File` or `Blob` in the place of an
 * address is checked, and uploaded with `uploadMedia` before the request is sent. The code is loaded with the first file.
 * Needs a proxy with `mediaStore` of `@sluice/durable`.
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
export function uploads({ check = checkFiles }: UploadsOptions = {}): MediaUploader {
  return Object.freeze<MediaUploader>({
    async upload(client, file, options) {
      const { uploadMedia } = await import("./upload-later.js");
      return uploadMedia(client, file, options);
    },
    check: check || undefined,
  });
}

/** Checks the media of a request, whose code a request of text alone does not load. */
const checkFiles: MediaUploader["check"] = async (request, options) => {
  if (!hasMedia(request)) return [];
  const { checkWherePossible } = await import("../checks/check-later.js");
  return checkWherePossible(request, options);
};

function hasMedia(request: VideoRequest): boolean {
  const { input, content } = request as {
    readonly input?: { readonly media?: readonly unknown[] } | undefined;
    readonly content?: readonly { readonly type: string }[] | undefined;
  };
  return (input?.media?.length ?? 0) > 0 || !!content?.some(({ type }) => type !== "text");
}
