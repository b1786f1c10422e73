import type { Client } from "./client.js";
import type { Issue } from "./types/errors.js";
import type { VideoRequest } from "./videos/schema/request.js";

/** Checks and stores the files of requests: the client's option `uploads`. `uploads()` of `@sluice/media` returns one. */
export interface MediaUploader {
  /**
   * Stores a file and returns an address that the gateway can fetch. Called once for each file of a request. If it
   * throws, the request is not sent.
   */
  readonly upload: (
    client: Client,
    file: Blob,
    options?: {
      /** Aborts when the app stops the request. */
      readonly signal?: AbortSignal | undefined;
      /** Called after each stored part. */
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
    /** Time at which the address expires; Unix milliseconds. */
    readonly expiresAt?: number;
  }>;
  /**
   * Last check of a video request before it is stored or sent. If it returns issues or throws, the request is not sent.
   * Not called for requests with `checks: false`.
   *
   * @default no check
   */
  readonly check?:
    | ((
        request: VideoRequest,
        options: {
          /** Aborts when the store discards the request. */
          readonly signal: AbortSignal;
        },
      ) => readonly Issue[] | Promise<readonly Issue[]>)
    | undefined;
}
