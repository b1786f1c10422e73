import { checkMedia, fitImage, mediaLimits } from "@sluice/core/media";

/** Checks a file by its bytes, and makes it smaller where that is wanted. Returns the image, or why it is not taken. */
export async function prepareImage(
  file: File,
  { maxBytes, maxSide, downscale }: { maxBytes: number; maxSide: number; downscale: boolean },
): Promise<Blob | "type" | "size" | "unreadable"> {
  const [issue] = await checkMedia(file, "chat_image");
  if (issue) return issue.rule.endsWith(".format") ? "type" : "unreadable";
  if (!downscale || !hasCanvas()) return file.size > maxBytes ? "size" : file;
  const limits = { ...mediaLimits.chat_image, side: { min: 1, max: maxSide }, bytes: maxBytes };
  return (await fitImage(file, limits)).blob;
}

function hasCanvas(): boolean {
  return typeof createImageBitmap === "function";
}
