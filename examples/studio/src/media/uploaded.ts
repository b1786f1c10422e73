import type { UploadedMedia } from "@sluice/core/media";
import { client } from "../client.js";
import { createKeptValue } from "../value.js";

/*
 * Links of files that were uploaded, so that a file need not be chosen again after a reload. They are read at once when
 * the page starts: a form is restored with them.
 */

type Link = Pick<UploadedMedia, "url" | "expiresAt">;
type Links = Readonly<Record<string, Link>>;

/** Time that a link has to work on, so that the gateway can fetch the file after it has waited. */
const VALID_MS = 3_600_000;

const links = createKeptValue<Links>("sluice-uploads", {}, isLinks);

/** Returns the link to an uploaded file, by the address that stands for the file; undefined without one that works. */
export function uploadedAt(address: string): string | undefined {
  const link = links.getSnapshot()[address];
  return link && isUsable(link) ? link.url : undefined;
}

/** Keeps the links of files that the client has uploaded. None of them is sent again for it. */
export async function keepLinks(sent: readonly (readonly [address: string, file: File])[]): Promise<void> {
  const { uploadMedia } = await import("@sluice/core/media");
  for (const [address, file] of sent) {
    const { url, expiresAt } = await uploadMedia(client, file);
    const known = Object.entries(links.getSnapshot()).filter(([, link]) => isUsable(link));
    links.set({ ...Object.fromEntries(known), [address]: { url, expiresAt } });
  }
}

function isUsable({ expiresAt }: Link): boolean {
  return expiresAt - Date.now() > VALID_MS;
}

function isLinks(kept: unknown): kept is Links {
  const isLink = (one: Partial<Link> | null) =>
    typeof one?.url === "string" && /^https?:/.test(one.url) && typeof one.expiresAt === "number";
  return typeof kept === "object" && kept !== null && Object.values(kept).every(isLink);
}
