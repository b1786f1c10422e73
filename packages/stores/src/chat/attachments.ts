import { type ChatModel, ValidationError } from "@sluice/core";
import { chatModels, isImageURL } from "@sluice/core/extend";
import { readSignedType, toDataURI } from "@sluice/core/files";

/** An image of a message: a file, an http(s) URL or a data URL. */
export type ImageInput = Blob | URL | string;

const accepted: readonly (string | undefined)[] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/**
 * Returns the URLs of image parts. A file becomes a data URL; its bytes decide the type, not its name.
 *
 * @throws {ValidationError} if the model accepts no images, or does not accept one of these
 */
export async function readImageURLs(
  images: readonly ImageInput[],
  model: string,
  signal: AbortSignal,
): Promise<string[]> {
  if (!Array.isArray(images)) refuse("images", "must be a list of files or URLs");
  if (chatModels[model as ChatModel]?.seesImages === false) {
    const others = Object.entries(chatModels).flatMap(([name, row]) => (row.seesImages ? name : []));
    refuse("images", `${model} sees no images; choose ${others.join(" or ")}`);
  }
  return Promise.all(
    images.map((image, index) => {
      const path = `images.${index}`;
      if (typeof image === "object" && !(image instanceof URL)) return toDataURL(image, path, signal);
      const url = String(image);
      return isImageURL(url)
        ? url
        : refuse(path, "must be an http(s) URL, or a data URL of a JPEG, PNG, GIF or WebP");
    }),
  );
}

async function toDataURL(blob: Blob, path: string, signal: AbortSignal): Promise<string> {
  const type = await readSignedType(blob, signal);
  if (type === undefined || !accepted.includes(type))
    refuse(
      path,
      `must be a JPEG, PNG, GIF or WebP image; its bytes are ${type ?? "of no kind that we know"}`,
    );
  return toDataURI(blob, { signal, type });
}

function refuse(path: string, message: string): never {
  throw new ValidationError([{ path, message, rule: "chat.images" }]);
}
