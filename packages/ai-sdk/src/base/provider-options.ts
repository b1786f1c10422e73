import type { SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { ChatModel, ImageModel, VideoModel } from "@sluice/core";
import type { ChatParams } from "@sluice/core/internal";
import type { ModelRequest } from "@sluice/core/schemas";

/** Name of this provider: the key of its `providerOptions` and `providerMetadata`. */
export const NAME = "sluice";

/** The same fields without the names of their types, which the SDK does not take for JSON. */
type Plain<Fields> = Fields extends object ? { [Key in keyof Fields]: Plain<Fields[Key]> } : Fields;

/**
 * Fields of a model that the AI SDK has no setting for, such as `thinking`, `user_id` and `watermark`:
 * `providerOptions.sluice`. Of a `beta` model for videos they are its `parameters`. They go into the request unchanged, and
 * win over the SDK's settings. Tools are the SDK's own.
 *
 * @example
 * ```ts
 * const options: SluiceModelOptions<"alpha-v4.1-flash"> = { thinking: { type: "disabled" }, user_id: "user-1" };
 * ```
 */
export type SluiceModelOptions<Model extends ChatModel | ImageModel | VideoModel> = Model extends ChatModel
  ? Plain<Omit<ChatParams[Model], "tools" | "tool_choice">>
  : Model extends ImageModel
    ? Plain<Omit<Partial<ModelRequest<Model>>, "model" | "prompt">>
    : Model extends `beta${string}`
      ? Plain<NonNullable<ModelRequest<"beta3.0-video">["parameters"]>>
      : Model extends VideoModel
        ? Plain<Omit<Partial<ModelRequest<Model>>, "model" | "content" | "input" | "parameters">>
        : never;

/** Returns the fields that a call has under this provider's name. */
export function fieldsOf(options: SharedV4ProviderOptions | undefined): object {
  return options?.[NAME] ?? {};
}
