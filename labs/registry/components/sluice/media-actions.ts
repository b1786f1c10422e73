import {
  type DownloadResult,
  downloadMedia,
  type ShareResult,
  shareMedia,
} from "@/components/sluice/download";
import { downloadWords, shareWords } from "@/components/sluice/media-words";
import { toast } from "@/components/sluice/toasts";

/** Downloads a file. A message says so if the browser saved nothing. `onGone` runs if the link has expired. */
export async function download(url: string, name: string, onGone?: () => void): Promise<void> {
  report(await downloadMedia(url, name), downloadWords, onGone);
}

/** Shares a file. A message says so if no other app got it. `onGone` runs if the link has expired. */
export async function share(url: string, name: string, onGone?: () => void): Promise<void> {
  report(await shareMedia(url, name), shareWords, onGone);
}

function report(result: DownloadResult | ShareResult, words: typeof shareWords, onGone?: () => void): void {
  if (result === "expired") onGone?.();
  const text = words[result];
  if (text) toast(text);
}
