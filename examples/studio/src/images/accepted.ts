import { type ChatModel, chatModels } from "@sluice/core/schemas";

/** What models see; the gateway's own list. */
export const acceptedTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** Why the model can't be shown an image; undefined if it can. */
export function blindnessOf(model: ChatModel): string | undefined {
  if (chatModels[model].imageInput) return undefined;
  const seeing = Object.entries(chatModels).filter(([, { imageInput }]) => imageInput);
  return `${model} sees no images; ${seeing.map(([name]) => name).join(", ")} does.`;
}

/** Why a file is no image that a model sees; undefined if it is one. */
export function objectionTo({ name, type }: File): string | undefined {
  return acceptedTypes.includes(type) ? undefined : `“${name}” is not a JPEG, PNG, GIF or WebP image.`;
}
