/** A file as the models of images and videos get it. */
export type MediaFile =
  | { readonly type: "url"; readonly url: string }
  | { readonly type: "file"; readonly mediaType: string; readonly data: string | Uint8Array };

/** Returns the address of a file: its own, or a data URI of its bytes. */
export async function addressOf(file: MediaFile): Promise<string> {
  return file.type === "url" ? file.url : dataURIOf(file.data, file.mediaType);
}

/** Writes bytes, or their Base64, as a data URI. The first bytes decide where `mediaType` names no whole type. */
export async function dataURIOf(data: string | Uint8Array, mediaType: string): Promise<string> {
  const isWhole = /^[\w.+-]+\/[\w.+-]+$/.test(mediaType);
  if (typeof data === "string" && isWhole) return `data:${mediaType};base64,${data}`;
  const { toDataURI } = await import("@sluice/media");
  return toDataURI(new Blob([bytesOf(data)]), isWhole ? { type: mediaType } : {});
}

/** Returns the bytes of a file that may be Base64. */
export function bytesOf(data: string | Uint8Array): Uint8Array<ArrayBuffer> {
  if (typeof data !== "string") return new Uint8Array(data);
  return Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
}
