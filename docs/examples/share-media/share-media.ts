import { type Client, isGatewayError } from "@sluice/core";
import { fetchMedia } from "@sluice/media";

/** Saves a file to the user's disk. */
export function saveFile(file: File): void {
  const href = URL.createObjectURL(file);
  Object.assign(document.createElement("a"), { href, download: file.name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000); // some browsers begin late
}

/** Shares a file with an app of the user's choice, or saves it if the browser shares no such file. */
export async function shareFile(file: File): Promise<"shared" | "cancelled" | "saved"> {
  try {
    if (navigator.canShare?.({ files: [file] })) {
      await navigator.share({ files: [file] });
      return "shared";
    }
  } catch (error) {
    // the user chose no app, or the browser still asks
    if (error instanceof Error && /^(?:Abort|InvalidState)Error$/.test(error.name)) return "cancelled";
  }
  saveFile(file);
  return "saved";
}

/** Reads a result as a file. Returns undefined if its link has expired. */
export async function readResult(client: Client, url: string, name: string): Promise<File | undefined> {
  try {
    const blob = await fetchMedia(client, url);
    return new File([blob], `${name}.${blob.type.split("/")[1]}`, { type: blob.type });
  } catch (error) {
    if (isGatewayError(error) && "status" in error && [403, 404, 410].includes(Number(error.status)))
      return undefined;
    throw error;
  }
}
