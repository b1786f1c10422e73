import type { SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { ChatModel, ImageModel, VideoModel } from "@sluice/core";
import type { ModelRequest } from "@sluice/core/schemas";

/** Name of this provider: the key of its `providerOptions` and `providerMetadata`. */
export const NAME = "sluice";

/** The same fields without named types, which the SDK does not accept as JSON. */
type Plain<Fields> = Fields extends object ? { [Key in keyof Fields]: Plain<Fields[Key]> } : Fields;

/**
 * Fields of a model that the AI SDK does not know, such as `thinking`, `user_id` and `watermark`:
 * `providerOptions.sluice`. For a `beta` video model they are its `parameters`. They are sent unchanged, and override
 * the SDK's settings. Tools are always the SDK's.
 *
 * @example
 * ```ts
 * const options: SluiceModelOptions<"alpha-v4.1-flash"> = { thinking: { type: "disabled" }, user_id: "user-1" };
 * ```
 */
export type SluiceModelOptions<Model extends ChatModel | ImageModel | VideoModel> = Model extends ChatModel
  ? Plain<Omit<ModelRequest<Model>, "model" | "messages" | "stream" | "tools" | "tool_choice">>
  : Model extends ImageModel
    ? Plain<Omit<Partial<ModelRequest<Model>>, "model" | "prompt">>
    : Model extends `beta${string}`
      ? Plain<NonNullable<ModelRequest<"beta3.0-video">["parameters"]>>
      : Model extends VideoModel
        ? Plain<Omit<Partial<ModelRequest<Model>>, "model" | "content" | "input" | "parameters">>
        : never;

/** Returns the fields of a call under this provider's name. */
export function readFields(options: SharedV4ProviderOptions | undefined): object {
  return options?.[NAME] ?? {};
}
