import { type ChatRequest, ConfigurationError, type ImageRequest, type VideoRequest } from "@sluice/core";
import type { AnyRequest } from "@sluice/core/internal";

interface Named {
  /**
   * Name of the request within its batch: any text but an empty one, each once. The ledger finds the request by it, so it
   * must be the same in the next run. With ids of your own, a list may be sorted anew, and grow anywhere.
   *
   * @default the place in the list, "0", "1", …
   */
  readonly id?: string;
  /** False sends the request as it is, with any model and fields. @default true */
  readonly checks?: false;
}

/** A request of a batch. Its one field beside `id` says its kind. Plain JSON: upload files first. */
export type BatchRequest =
  | (Named & {
      /** Request of `generateImages`. */
      readonly image: ImageRequest;
      /** Absent: the request is of another kind. */
      readonly video?: undefined;
      /** Absent: the request is of another kind. */
      readonly chat?: undefined;
    })
  | (Named & {
      /** Request of `createVideoTask`. The batch waits for the video, too. */
      readonly video: VideoRequest;
      /** Absent: the request is of another kind. */
      readonly image?: undefined;
      /** Absent: the request is of another kind. */
      readonly chat?: undefined;
    })
  | (Named & {
      /** Request of `streamChat`. */
      readonly chat: ChatRequest;
      /** Absent: the request is of another kind. */
      readonly image?: undefined;
      /** Absent: the request is of another kind. */
      readonly video?: undefined;
    })
  | (Named & {
      readonly checks: false;
      /** Request of `generateImages`. */
      readonly image?: AnyRequest;
      /** Request of `createVideoTask`. */
      readonly video?: AnyRequest;
      /** Request of `streamChat`. */
      readonly chat?: AnyRequest;
    });

/** Kind of a request. */
export type BatchKind = "image" | "video" | "chat";

/** A request with its id and its kind. */
export interface Listed {
  readonly id: string;
  readonly kind: BatchKind;
  readonly request: { readonly model: string };
  readonly checks?: false | undefined;
}

const KINDS = ["image", "video", "chat"] as const;

/**
 * Reads the list of a batch.
 *
 * @throws {ConfigurationError} for an id that is empty or there twice, and for a request of no kind or of two
 */
export function listedOf(requests: readonly BatchRequest[]): Listed[] {
  if (!Array.isArray(requests))
    throw new ConfigurationError("requests: must be a list, [{ image: { model: … } }, …]");
  const seen = new Set<string>();
  return requests.map((given: BatchRequest, index) => {
    const [kind, another] = KINDS.filter((name) => given?.[name] !== undefined);
    if (!kind || another)
      throw new ConfigurationError(`requests.${index}: must have one of the fields image, video or chat`);
    const id = given.id ?? String(index);
    if (typeof id !== "string" || id === "")
      throw new ConfigurationError(`requests.${index}.id: must be a text, got ${JSON.stringify(id)}`);
    if (seen.has(id))
      throw new ConfigurationError(
        `requests.${index}.id: ${JSON.stringify(id)} is there twice; give each its own`,
      );
    seen.add(id);
    return { id, kind, request: given[kind] as Listed["request"], checks: given.checks };
  });
}
