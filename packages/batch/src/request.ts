import { type ChatRequest, ConfigurationError, type ImageRequest, type VideoRequest } from "@sluice/core";

/** A request with `checks: false`: it may have any model and fields. */
export interface AnyRequest {
  /** Id of the model. */
  readonly model: string;
  /** A field of the model. */
  readonly [field: string]: unknown;
}

interface Named {
  /**
   * Unique name of the request within its batch: any text except an empty one. The ledger finds the request by its id,
   * so the id must be the same in the next run. With explicit ids, you may reorder the list and insert requests
   * anywhere.
   *
   * @default the index in the list, "0", "1", …
   */
  readonly id?: string;
  /** False sends the request unchecked, with any model and fields. @default true */
  readonly checks?: false;
}

/** A request of a batch. The field `image`, `video` or `chat` decides its kind. Plain JSON: upload files first. */
export type BatchRequest =
  | (Named & {
      /** Request of `generateImages`. */
      readonly image: ImageRequest;
      /** Absent for another kind of request. */
      readonly video?: undefined;
      /** Absent for another kind of request. */
      readonly chat?: undefined;
    })
  | (Named & {
      /** Request of `createVideoTask`. The batch also waits for the video. */
      readonly video: VideoRequest;
      /** Absent for another kind of request. */
      readonly image?: undefined;
      /** Absent for another kind of request. */
      readonly chat?: undefined;
    })
  | (Named & {
      /** Request of `streamChat`. */
      readonly chat: ChatRequest;
      /** Absent for another kind of request. */
      readonly image?: undefined;
      /** Absent for another kind of request. */
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
export interface ListedRequest {
  readonly id: string;
  readonly kind: BatchKind;
  readonly request: { readonly model: string };
  readonly checks?: false | undefined;
}

const KINDS = ["image", "video", "chat"] as const;

/**
 * Parses the list of a batch.
 *
 * @throws {ConfigurationError} for an empty or duplicate id, and for a request without exactly one kind
 */
export function parseList(requests: readonly BatchRequest[]): ListedRequest[] {
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
        `requests.${index}.id: ${JSON.stringify(id)} is used twice; give each request its own id`,
      );
    seen.add(id);
    return { id, kind, request: given[kind] as ListedRequest["request"], checks: given.checks };
  });
}
