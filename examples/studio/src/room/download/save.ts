import { fileNameOf } from "./file-name.js";

/** What came of saving a file: `unreadable` are those that a server lets no other page read. */
type Saved = "saved" | "gone" | "unreadable";

/** Long enough for any browser to have begun. */
const KEPT_MS = 60_000;

/** Saves the file at `url` under a name made of `title`. A link alone would open what another server has, not save it. */
export async function save(url: string, title: string): Promise<Saved> {
  try {
    const answer = await fetch(url, { credentials: "omit", referrerPolicy: "no-referrer" });
    if (!answer.ok) return "gone";
    const file = await answer.blob();
    const address = URL.createObjectURL(file);
    Object.assign(document.createElement("a"), {
      href: address,
      download: fileNameOf(title, file.type, url),
    }).click();
    setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
    return "saved";
  } catch {
    return "unreadable";
  }
}
