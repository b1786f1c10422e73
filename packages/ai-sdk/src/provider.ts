import {
  type ImageModelV4,
  type LanguageModelV4,
  NoSuchModelError,
  type ProviderV4,
  type Experimental_VideoModelV4 as VideoModelV4,
} from "@ai-sdk/provider";
import type { Client } from "@sluice/core";
import { createChatModel } from "./chat/model.js";
import { createImageModel } from "./images/model.js";
import { createVideoModel } from "./videos/model.js";

/** Provider for the AI SDK. Call it like `languageModel`. */
export interface SluiceProvider extends ProviderV4 {
  /** Returns the chat model with this id, as `languageModel` does. */
  (modelId: string): LanguageModelV4;
  /** Returns the chat model with this id, for `generateText`, `streamText` and agents. */
  languageModel(modelId: string): LanguageModelV4;
  /** Returns the image model with this id, for `generateImage`. */
  imageModel(modelId: string): ImageModelV4;
  /**
   * Returns the video model with this id, for `experimental_startVideo`, `experimental_getVideoStatus` and
   * `experimental_generateVideo`.
   */
  videoModel(modelId: string): VideoModelV4;
  /** The gateway lacks embedding models. @throws {NoSuchModelError} always */
  embeddingModel(modelId: string): never;
}

/**
 * Creates the provider for a client: in a server with its key, or in a page through the Worker proxy.
 *
 * Requests are checked by the rules of their model before they are sent. An unknown model is sent without checks.
 * Errors are `APICallError`s. Their `cause` is the client's error, and their `data.billing` says if the request may be
 * billed.
 *
 * One call is billed once. The client retries a 429 (`retry` of `createClient`). It retries what may be billed only if
 * it sends idempotency keys and the proxy stores the request. `isRetryable` is true if nothing was sent, for queries of
 * a video, and for a refusal if the client's `retry.limit` is 0.
 *
 * @example
 * ```ts
 * import { createSluice } from "@sluice/ai-sdk";
 * import { streamText } from "ai";
 *
 * const sluice = createSluice(client);
 * const { textStream } = streamText({ model: sluice("delta-5.3"), prompt: "Hello" });
 * for await (const text of textStream) show(text);
 * ```
 */
export function createSluice(client: Client): SluiceProvider {
  const languageModel = (modelId: string) => createChatModel(client, modelId);
  return Object.assign((modelId: string) => languageModel(modelId), {
    specificationVersion: "v4" as const,
    languageModel,
    imageModel: (modelId: string) => createImageModel(client, modelId),
    videoModel: (modelId: string) => createVideoModel(client, modelId),
    embeddingModel(modelId: string): never {
      throw new NoSuchModelError({ modelId, modelType: "embeddingModel" });
    },
  });
}
