/**
 * Result of {@link downloadMedia}.
 *
 * - `saved`: the browser saves the file
 * - `opened`: the server does not let the page read the file, so it opened in a new tab. A browser may block the tab, so
 *   show the link, too
 * - `expired`: the link does not work any more (status 403, 404 or 410)
 * - `failed`: the file could not be read now. Try again
 */
export type DownloadResult = "saved" | "opened" | "expired" | "failed";

/** Statuses of a missing file or an expired link. */
const GONE: ReadonlySet<number> = new Set([403, 404, 410]);

/** Time until the address of a saved file is revoked, in milliseconds. Some browsers begin to save late. */
const REVOKE_AFTER_MS = 60_000;

/**
 * Saves an image or a video to the user's disk. Call it in the handler of a click, because it may open a tab.
 *
 * A link alone would open a file of another server instead of saving it. The file is read into memory first.
 *
 * @param name start of the file's name: any text, for example a prompt. The extension follows from the file's type.
 * @example
 * ```tsx
 * function Image({ url, prompt }: { url: string; prompt: string }) {
 *   const [result, setResult] = useState<DownloadResult>();
 *   const download = async () => setResult(await downloadMedia(url, prompt));
 *   if (result === "expired") return <p>This image has expired.</p>;
 *   return <button onClick={() => void download()}>Download</button>;
 * }
 * ```
 */
export async function downloadMedia(url: string, name: string): Promise<DownloadResult> {
  try {
    const response = await fetch(url, { credentials: "omit", referrerPolicy: "no-referrer" });
    if (!response.ok) return GONE.has(response.status) ? "expired" : "failed";
    const blob = await response.blob();
    const { type } = blob;
    saveFile(new File([blob], formatFileName(name, type, url), { type }));
    return "saved";
  } catch {
    // without a network a tab would show an error
    return navigator.onLine === false ? "failed" : openInTab(url);
  }
}

/** Saves a file in the folder of downloads, under its name. */
export function saveFile(file: File): void {
  const href = URL.createObjectURL(file);
  Object.assign(document.createElement("a"), { href, download: file.name }).click();
  setTimeout(() => URL.revokeObjectURL(href), REVOKE_AFTER_MS);
}

function openInTab(url: string): "opened" | "failed" {
  // the URL is not trusted: it must not be `javascript:`
  if (!/^https?:$/.test(new URL(url, location.href).protocol)) return "failed";
  open(url, "_blank", "noopener,noreferrer");
  return "opened";
}

const extensions: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "image/gif": "gif",
  "video/mp4": "mp4",
  "video/quicktime": "mov",
  "video/webm": "webm",
};

/** Maximum number of characters of a file's name, without its extension. */
const MAX_NAME = 60;

/** Creates a name that every system accepts: `a-reef-at-dawn.png`. */
function formatFileName(name: string, type: string, url: string): string {
  const words = name.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const stem = [...words.join("-")].slice(0, MAX_NAME).join("").replace(/-$/, "") || "untitled";
  const extension =
    extensions[type.replace(/;.*/, "")] ?? /\.(\w{1,5})$/.exec(new URL(url, location.href).pathname)?.[1];
  return extension ? `${stem}.${extension}` : stem;
}
