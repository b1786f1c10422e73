import {
  type ImageModelV4,
  type LanguageModelV4,
  NoSuchModelError,
  type ProviderV4,
  type Experimental_VideoModelV4 as VideoModelV4,
} from "@ai-sdk/provider";
import type { Client } from "@sluice/core";
import { chatModelFor } from "./chat/model.js";
import { imageModelFor } from "./images/model.js";
import { videoModelFor } from "./videos/model.js";

/** Provider for the AI SDK. It can be called like `languageModel`. */
export interface SluiceProvider extends ProviderV4 {
  /** Returns the chat model with an id, as `languageModel` does. */
  (modelId: string): LanguageModelV4;
  /** Returns the chat model with an id: for `generateText`, `streamText` and agents. */
  languageModel(modelId: string): LanguageModelV4;
  /** Returns the image model with an id: for `generateImage`. */
  imageModel(modelId: string): ImageModelV4;
  /** Returns the video model with an id: for `experimental_startVideo`, `experimental_getVideoStatus` and `experimental_generateVideo`. */
  videoModel(modelId: string): VideoModelV4;
  /** The gateway has no embedding models. @throws {NoSuchModelError} always */
  embeddingModel(modelId: string): never;
}

/**
 * Creates the provider over a client: in a server with its key, in a page by way of the Worker proxy.
 *
 * Requests are checked by the rules of their model before they are sent. A model that this version does not know is sent
 * without a check. Errors are `APICallError`s whose `cause` is the client's own error and whose `data.billing` says if
 * the request may be billed.
 *
 * One call is billed once. The client retries a 429 (`retry` of `createClient`). It sends again what may be billed only
 * if it sends idempotency keys and the proxy remembers the request. `isRetryable` is true if nothing was sent, for
 * queries of a video, and for a refusal if the client's `retry.limit` is 0.
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
  const languageModel = (modelId: string) => chatModelFor(client, modelId);
  return Object.assign((modelId: string) => languageModel(modelId), {
    specificationVersion: "v4" as const,
    languageModel,
    imageModel: (modelId: string) => imageModelFor(client, modelId),
    videoModel: (modelId: string) => videoModelFor(client, modelId),
    embeddingModel(modelId: string): never {
      throw new NoSuchModelError({ modelId, modelType: "embeddingModel" });
    },
  });
}
