import type { Client } from "./client.js";
import type { VideoRequest } from "./videos/schema/request.js";
import type { Issue } from "./vocabulary/errors.js";

/** Checks and stores the files of requests: the client's option `uploads`. `uploads()` of `@sluice/media` returns one. */
export interface MediaUploader {
  /**
   * Stores a file, and returns an address that the gateway can fetch. Called once for each file of a request. An error
   * refuses the request, and nothing is sent.
   */
  readonly upload: (
    client: Client,
    file: Blob,
    options?: {
      /** Aborts when the request is stopped. */
      readonly signal?: AbortSignal | undefined;
      /** Called after each part that is stored. */
      readonly onProgress?:
        | ((progress: {
            /** Bytes of the file that are stored. */
            readonly loadedBytes: number;
          }) => void)
        | undefined;
    },
  ) => Promise<{
    /** Address of the file. */
    readonly url: string;
    /** End of the address; Unix milliseconds. */
    readonly expiresAt?: number;
  }>;
  /**
   * Last check of a video request before it is stored or sent. Issues, and errors that it throws, refuse the request. It
   * is not called for requests with `checks: false`.
   *
   * @default no check
   */
  readonly check?:
    | ((
        request: VideoRequest,
        options: {
          /** Aborts when the store forgets the request. */
          readonly signal: AbortSignal;
        },
      ) => readonly Issue[] | Promise<readonly Issue[]>)
    | undefined;
}
