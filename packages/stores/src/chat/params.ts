import type { ChatModel } from "@sluice/core";
import type { ModelRequest } from "@sluice/core/schemas";

/** The parameters of each chat model: its request without the conversation. */
export type ChatParams = { readonly [Model in ChatModel]: ParamsOf<ModelRequest<Model>> };

type ParamsOf<Request> = Omit<Request, "model" | "messages" | "stream">;
type KeyOfEach<Union> = Union extends unknown ? keyof Union : never;
type SharedName = "max_tokens" | "temperature" | "top_p" | "stop" | "stream_options";

/**
 * The parameters that all chat models share, within the bounds of every model. For a `model` that may be any of them.
 */
export interface SharedChatParams
  extends Pick<ModelRequest<"gamma-chat-1-6-251015">, "top_p" | "stop" | "stream_options">,
    Readonly<Partial<Record<Exclude<KeyOfEach<ChatParams[ChatModel]>, SharedName>, undefined>>> {
  /** Most tokens of the response. Whole number from 1 to 8,192, which every model accepts. */
  readonly max_tokens?: number | undefined;
  /** Randomness of the response: low values are more deterministic. From 0 to 1, which every model accepts. */
  readonly temperature?: number | undefined;
}
