import type { SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { BetaVideoParameters } from "@sluice/core/internal";
import type {
  ChatModel,
  ChatParams,
  ImageModel,
  ImageRequests,
  VideoModel,
  VideoRequests,
} from "@sluice/core/schemas";

/** Name of this provider: the key of its `providerOptions` and `providerMetadata`. */
export const NAME = "sluice";

/** The same fields without the names of their types, which the SDK does not take for JSON. */
type Plain<Fields> = Fields extends object ? { [Key in keyof Fields]: Plain<Fields[Key]> } : Fields;

/**
 * Fields of a chat model that the AI SDK has no setting for, such as `thinking` and `user_id`: `providerOptions.sluice`.
 * They go into the request as they are, and win over the SDK's settings. Tools are the SDK's own.
 *
 * @example
 * ```ts
 * const options: SluiceChatOptions<"alpha-v4.1-flash"> = { thinking: { type: "disabled" }, user_id: "user-1" };
 * ```
 */
export type SluiceChatOptions<Model extends ChatModel = ChatModel> = Model extends ChatModel
  ? Plain<Omit<ChatParams[Model], "tools" | "tool_choice">>
  : never;

/**
 * Fields of an image model that the AI SDK has no setting for, such as `watermark` and `logo_info`:
 * `providerOptions.sluice`. They go into the request as they are, and win over the SDK's settings.
 *
 * @example
 * ```ts
 * const options: SluiceImageOptions = { watermark: true };
 * ```
 */
export type SluiceImageOptions<Model extends ImageModel = ImageModel> = Model extends ImageModel
  ? Plain<Omit<Partial<ImageRequests[Model]>, "model" | "prompt">>
  : never;

/**
 * Fields of a video model that the AI SDK has no setting for, such as `watermark`: `providerOptions.sluice`. Of a `beta`
 * model they are its `parameters`. They go into the request as they are, and win over the SDK's settings.
 *
 * @example
 * ```ts
 * const options: SluiceVideoOptions<"beta3.0-video"> = { prompt_extend: false, resolution: "720P" };
 * ```
 */
export type SluiceVideoOptions<Model extends VideoModel = VideoModel> = Model extends `beta${string}`
  ? Plain<BetaVideoParameters>
  : Model extends VideoModel
    ? Plain<Omit<Partial<VideoRequests[Model]>, "model" | "content" | "input" | "parameters">>
    : never;

/** Returns the fields that a call has under this provider's name. */
export function fieldsOf(options: SharedV4ProviderOptions | undefined): object {
  return options?.[NAME] ?? {};
}
